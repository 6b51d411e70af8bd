// From MPI datatypes to patterns. A derived type is taken apart once (MPI_Type_get_envelope / get_contents, MPI-4.0
// section 5.1.13) and the result is kept on the type itself as an attribute, so that it lives as long as the type.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "access/tiling.h"
#include "base/status.h"

namespace suiro::mpi {

/// What data access needs to know of a datatype. Units: bytes.
struct TypeLayout {
  Tiling tiles;          // the type's pattern, repeated at its extent
  int64_t size = 0;      // data bytes of one item
  int64_t lower = 0;     // MPI's lower bound
  int64_t extent = 0;    // MPI's extent
  bool absolute = false; // contains displacements in bytes, so it is not portable (MPI-4.0 section 2.4)
};

/// The layout of `type` in memory. The pointer is good as long as the type is. kType for MPI_DATATYPE_NULL, a type that
/// is not committed (asked of `comm`, which returns errors), or one that cannot be taken apart.
Result<const TypeLayout*> layout_of(MPI_Datatype type, MPI_Comm comm);

/// Bytes that one item of a predefined type takes in a file.
using BasicBytes = std::function<Result<int64_t>(MPI_Datatype)>;

/// The layout that `type` has in a file whose predefined types have other sizes. Not kept.
Result<TypeLayout> layout_in_file(MPI_Datatype type, const BasicBytes& basic_bytes);

/// The constructor of a type with its arguments, in one order whatever the size of its integers (MPI-4.0 tables 5.1-5.3):
/// `numbers` holds counts, block lengths, displacements as the constructor lists them. For subarray: ndims, sizes,
/// subsizes, starts, order; for darray: size, rank, ndims, gsizes, distribs, dargs, psizes, order.
struct TypeContents {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<int64_t> numbers;
  std::vector<MPI_Datatype> children;

  TypeContents() = default;
  TypeContents(TypeContents&&) = default;
  TypeContents& operator=(TypeContents&&) = default;
  ~TypeContents();  // frees the children that get_contents made

  /// Predefined: not to be taken apart further (named types and those of MPI_Type_create_f90_*).
  bool is_predefined() const;
};
Result<TypeContents> contents_of(MPI_Datatype type);

/// Predefined and therefore never freed.
bool is_predefined(MPI_Datatype type);

}  // namespace suiro::mpi
