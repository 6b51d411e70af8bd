// The table of entry points: for every function of functions.def the code that serves it. An entry looks the handle up
// and goes to our body, or, for a file that is not ours, straight to the host library's function.
#include <mpi.h>

#include <cstring>

#include "base/message.h"
#include "mpi/data_functions.h"
#include "mpi/errors.h"
#include "mpi/file_functions.h"
#include "mpi/handle_table.h"
#include "mpi/native.h"
#include "preload/host.h"

namespace suiro::mpi {
namespace {

Native native_functions;

int refuse_closed() {
  log_error("an MPI-IO call was given a file that is closed already");
  return MPI_ERR_FILE;
}

/// Entry<&Native::MPI_File_x, body>::call has the type of MPI_File_x and serves it with body(RoutedFile&, arguments...).
template <auto Member, auto Body>
struct Entry;
template <class... Arguments, int (*Native::*Member)(MPI_File, Arguments...), auto Body>
struct Entry<Member, Body> {
  static int call(MPI_File handle, Arguments... arguments) {
    RoutedFile* file = HandleTable::instance().find(handle);
    if (file == nullptr) [[likely]] return (native_functions.*Member)(handle, arguments...);
    if (file == HandleTable::closed()) return refuse_closed();
    return Body(*file, arguments...);
  }
};

// The shapes of the data access functions; one body each, whatever the direction and the type of the count.

template <Access kAccess, class Buffer, class Count>
int explicit_blocking(RoutedFile& file, MPI_Offset offset, Buffer* buffer, Count count, MPI_Datatype type,
                      MPI_Status* status) {
  return blocking(file, kAccess, offset, const_cast<void*>(static_cast<const void*>(buffer)), count, type, status);
}
template <Access kAccess, class Buffer, class Count>
int pointer_blocking(RoutedFile& file, Buffer* buffer, Count count, MPI_Datatype type, MPI_Status* status) {
  return blocking(file, kAccess, 0, const_cast<void*>(static_cast<const void*>(buffer)), count, type, status);
}
template <Access kAccess, class Buffer, class Count>
int explicit_nonblocking(RoutedFile& file, MPI_Offset offset, Buffer* buffer, Count count, MPI_Datatype type,
                         MPI_Request* request) {
  return nonblocking(file, kAccess, offset, const_cast<void*>(static_cast<const void*>(buffer)), count, type, request);
}
template <Access kAccess, class Buffer, class Count>
int pointer_nonblocking(RoutedFile& file, Buffer* buffer, Count count, MPI_Datatype type, MPI_Request* request) {
  return nonblocking(file, kAccess, 0, const_cast<void*>(static_cast<const void*>(buffer)), count, type, request);
}
template <Access kAccess, class Buffer, class Count>
int explicit_begin(RoutedFile& file, MPI_Offset offset, Buffer* buffer, Count count, MPI_Datatype type) {
  return split_begin(file, kAccess, offset, const_cast<void*>(static_cast<const void*>(buffer)), count, type);
}
template <Access kAccess, class Buffer, class Count>
int pointer_begin(RoutedFile& file, Buffer* buffer, Count count, MPI_Datatype type) {
  return split_begin(file, kAccess, 0, const_cast<void*>(static_cast<const void*>(buffer)), count, type);
}
template <Access kAccess, class Buffer>
int any_end(RoutedFile& file, Buffer*, MPI_Status* status) {
  return split_end(file, kAccess, status);
}

template <class Extent>
int get_type_extent(RoutedFile& file, MPI_Datatype type, Extent* extent) {
  auto result = type_extent(file, type);
  if (!result.ok()) return raise(file.identity, result.status());
  *extent = static_cast<Extent>(*result);
  return MPI_SUCCESS;
}

int register_datarep(const char* name, MPI_Datarep_conversion_function* read, MPI_Datarep_conversion_function* write,
                     MPI_Datarep_extent_function* extent, void* extra_state) {
  UserConversions conversions;
  conversions.read = read == MPI_CONVERSION_FN_NULL ? nullptr : read;
  conversions.write = write == MPI_CONVERSION_FN_NULL ? nullptr : write;
  conversions.extent = extent;
  conversions.extra_state = extra_state;
  Status status = register_representation(name, conversions);
  return status.ok() ? MPI_SUCCESS : raise_without_file(status);
}
#if MPI_VERSION >= 4
int register_datarep_c(const char* name, MPI_Datarep_conversion_function_c* read,
                       MPI_Datarep_conversion_function_c* write, MPI_Datarep_extent_function* extent,
                       void* extra_state) {
  UserConversions conversions;
  conversions.read_c = read == MPI_CONVERSION_FN_NULL_C ? nullptr : read;
  conversions.write_c = write == MPI_CONVERSION_FN_NULL_C ? nullptr : write;
  conversions.extent = extent;
  conversions.extra_state = extra_state;
  Status status = register_representation(name, conversions);
  return status.ok() ? MPI_SUCCESS : raise_without_file(status);
}
#endif

struct Row {
  const char* name;
  void* code;
};

template <auto Member, auto Body>
void* entry() {
  return reinterpret_cast<void*>(&Entry<Member, Body>::call);
}

constexpr Access kReadAt{false, PointerKind::kExplicit}, kWriteAt{true, PointerKind::kExplicit};
constexpr Access kRead{false, PointerKind::kIndividual}, kWrite{true, PointerKind::kIndividual};
constexpr Access kReadShared{false, PointerKind::kShared}, kWriteShared{true, PointerKind::kShared};
constexpr Access kReadOrdered{false, PointerKind::kOrdered}, kWriteOrdered{true, PointerKind::kOrdered};

// SERVED: a function whose body is named. MOVES: a data access function in its int and its MPI_Count form.
#define SERVED(name, body) {#name, entry<&Native::name, body>()}
#define MOVES_INT(name, shape, access, buffer) {#name, entry<&Native::name, shape<access, buffer, int>>()}
#if MPI_VERSION >= 4
#define MOVES(name, shape, access, buffer) \
  MOVES_INT(name, shape, access, buffer), {#name "_c", entry<&Native::name##_c, shape<access, buffer, MPI_Count>>()}
#else
#define MOVES(name, shape, access, buffer) MOVES_INT(name, shape, access, buffer)
#endif

const Row kRows[] = {
    {"MPI_File_open", reinterpret_cast<void*>(&file_open)},
    {"MPI_File_close", reinterpret_cast<void*>(&file_close)},
    {"MPI_File_delete", reinterpret_cast<void*>(&file_delete)},
    {"MPI_Register_datarep", reinterpret_cast<void*>(&register_datarep)},
#if MPI_VERSION >= 4
    {"MPI_Register_datarep_c", reinterpret_cast<void*>(&register_datarep_c)},
    SERVED(MPI_File_get_type_extent_c, get_type_extent<MPI_Count>),
#endif
    SERVED(MPI_File_get_type_extent, get_type_extent<MPI_Aint>),
    SERVED(MPI_File_set_size, set_size),
    SERVED(MPI_File_preallocate, preallocate),
    SERVED(MPI_File_get_size, get_size),
    SERVED(MPI_File_get_group, get_group),
    SERVED(MPI_File_get_amode, get_amode),
    SERVED(MPI_File_set_info, set_info),
    SERVED(MPI_File_get_info, get_info),
    SERVED(MPI_File_set_view, set_view),
    SERVED(MPI_File_get_view, get_view),
    SERVED(MPI_File_seek, seek),
    SERVED(MPI_File_get_position, get_position),
    SERVED(MPI_File_get_byte_offset, get_byte_offset),
    SERVED(MPI_File_seek_shared, seek_shared),
    SERVED(MPI_File_get_position_shared, get_position_shared),
    SERVED(MPI_File_set_atomicity, set_atomicity),
    SERVED(MPI_File_get_atomicity, get_atomicity),
    SERVED(MPI_File_sync, sync),

    MOVES(MPI_File_read_at, explicit_blocking, kReadAt, void),
    MOVES(MPI_File_read_at_all, explicit_blocking, kReadAt, void),
    MOVES(MPI_File_write_at, explicit_blocking, kWriteAt, const void),
    MOVES(MPI_File_write_at_all, explicit_blocking, kWriteAt, const void),
    MOVES(MPI_File_iread_at, explicit_nonblocking, kReadAt, void),
    MOVES(MPI_File_iread_at_all, explicit_nonblocking, kReadAt, void),
    MOVES(MPI_File_iwrite_at, explicit_nonblocking, kWriteAt, const void),
    MOVES(MPI_File_iwrite_at_all, explicit_nonblocking, kWriteAt, const void),
    MOVES(MPI_File_read, pointer_blocking, kRead, void),
    MOVES(MPI_File_read_all, pointer_blocking, kRead, void),
    MOVES(MPI_File_write, pointer_blocking, kWrite, const void),
    MOVES(MPI_File_write_all, pointer_blocking, kWrite, const void),
    MOVES(MPI_File_iread, pointer_nonblocking, kRead, void),
    MOVES(MPI_File_iread_all, pointer_nonblocking, kRead, void),
    MOVES(MPI_File_iwrite, pointer_nonblocking, kWrite, const void),
    MOVES(MPI_File_iwrite_all, pointer_nonblocking, kWrite, const void),
    MOVES(MPI_File_read_shared, pointer_blocking, kReadShared, void),
    MOVES(MPI_File_write_shared, pointer_blocking, kWriteShared, const void),
    MOVES(MPI_File_iread_shared, pointer_nonblocking, kReadShared, void),
    MOVES(MPI_File_iwrite_shared, pointer_nonblocking, kWriteShared, const void),
    MOVES(MPI_File_read_ordered, pointer_blocking, kReadOrdered, void),
    MOVES(MPI_File_write_ordered, pointer_blocking, kWriteOrdered, const void),

    MOVES(MPI_File_read_at_all_begin, explicit_begin, kReadAt, void),
    MOVES(MPI_File_write_at_all_begin, explicit_begin, kWriteAt, const void),
    MOVES(MPI_File_read_all_begin, pointer_begin, kRead, void),
    MOVES(MPI_File_write_all_begin, pointer_begin, kWrite, const void),
    MOVES(MPI_File_read_ordered_begin, pointer_begin, kReadOrdered, void),
    MOVES(MPI_File_write_ordered_begin, pointer_begin, kWriteOrdered, const void),
    SERVED(MPI_File_read_at_all_end, (any_end<kReadAt, void>)),
    SERVED(MPI_File_write_at_all_end, (any_end<kWriteAt, const void>)),
    SERVED(MPI_File_read_all_end, (any_end<kRead, void>)),
    SERVED(MPI_File_write_all_end, (any_end<kWrite, const void>)),
    SERVED(MPI_File_read_ordered_end, (any_end<kReadOrdered, void>)),
    SERVED(MPI_File_write_ordered_end, (any_end<kWriteOrdered, const void>)),
};

template <class Function>
void look_up(const suiro_host& host, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(host.native(name));
}

}  // namespace

thread_local int NativeSection::depth_ = 0;

const Native& native() { return native_functions; }

}  // namespace suiro::mpi

extern "C" __attribute__((visibility("default"))) int suiro_shim_start(const suiro_host* host, int count,
                                                                       const char* const* names, void** table) {
  using suiro::mpi::native_functions;
  if (host == nullptr || host->version != SUIRO_HOST_VERSION) return -1;
#define SUIRO_NATIVE(name)
#define SUIRO_FN(name) suiro::mpi::look_up(*host, "P" #name, &native_functions.name);
#if MPI_VERSION >= 4
#define SUIRO_FN_C(name) SUIRO_FN(name)
#else
#define SUIRO_FN_C(name)
#endif
#include "preload/functions.def"
  if (native_functions.MPI_File_open == nullptr) return -2;
  suiro::mpi::HandleTable::make_instance();
  for (int i = 0; i < count; i++)
    for (const suiro::mpi::Row& row : suiro::mpi::kRows)
      if (std::strcmp(row.name, names[i]) == 0) table[i] = row.code;
  return 0;
}
