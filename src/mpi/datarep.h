// Data representations (MPI-4.0 section 14.5): "native" and "internal" (bytes as in memory), "external32", and those the
// program registers.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace suiro::mpi {

class Representation {
 public:
  virtual ~Representation() = default;
  /// File bytes are memory bytes: nothing to convert.
  virtual bool is_native() const { return false; }
  /// Bytes of one item of a predefined type in the file. kType for a type the representation does not know.
  virtual Result<int64_t> basic_bytes(MPI_Datatype type) const = 0;

  /// Converts `count` items at `user` to exactly `bytes` contiguous file bytes. kConversion when a value has no form in
  /// the file.
  virtual Status to_file(const void* user, MPI_Datatype type, int64_t count, void* file, int64_t bytes,
                         MPI_Comm comm) const = 0;
  /// Converts the first `bytes` file bytes, which may end within the `count` items, to memory. Returns the memory
  /// bytes filled in.
  virtual Result<int64_t> from_file(const void* file, int64_t bytes, void* user, MPI_Datatype type, int64_t count,
                                    MPI_Comm comm) const = 0;
};

/// Null when no such representation exists (MPI_ERR_UNSUPPORTED_DATAREP). Never freed: MPI has no way to unregister.
const Representation* find_representation(std::string_view name);
const Representation& native_representation();

/// The conversion functions of MPI_Register_datarep or MPI_Register_datarep_c; null functions mean "as in memory".
struct UserConversions {
  MPI_Datarep_conversion_function* read = nullptr;
  MPI_Datarep_conversion_function* write = nullptr;
#if MPI_VERSION >= 4
  MPI_Datarep_conversion_function_c* read_c = nullptr;
  MPI_Datarep_conversion_function_c* write_c = nullptr;
#endif
  MPI_Datarep_extent_function* extent = nullptr;
  void* extra_state = nullptr;
};
/// kDupDatarep when the name is taken, kArgument when it is empty, too long or has no extent function.
Status register_representation(const char* name, const UserConversions& conversions);

}  // namespace suiro::mpi
