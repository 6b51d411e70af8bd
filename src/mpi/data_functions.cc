#include "mpi/data_functions.h"

#include <memory>
#include <new>
#include <vector>

#include "mpi/datatype.h"
#include "mpi/errors.h"

namespace suiro::mpi {
namespace {

// Inlined, as is move(): see call_kernel in os/posix_file.cc for what a function on this path costs.
[[gnu::always_inline]] inline Result<int64_t> move_bytes(OpenFile& file, Access access, MPI_Offset offset, int64_t size, const MemoryBytes& memory,
                           Status broken = {}) {
  if (!access.writing) return file.read(access.pointer, offset, size, memory, std::move(broken));
  Status written = file.write(access.pointer, offset, size, memory, std::move(broken));
  if (!written.ok()) return written;
  return size;
}

/// Through a representation that is not native: by way of a buffer that holds the data as it is in the file.
[[gnu::noinline]] Result<int64_t> move_converted(RoutedFile& file, const Representation& representation, Access access, MPI_Offset offset,
                               void* buffer, int64_t count, MPI_Datatype type, int64_t memory_bytes) {
  std::vector<std::byte> converted;
  Status broken;
  auto item = layout_in_file(type, [&](MPI_Datatype basic) { return representation.basic_bytes(basic); });
  auto file_bytes = item.ok() ? checked_mul(count, item->size) : std::nullopt;
  if (!item.ok()) {
    broken = item.take_status();
  } else if (!file_bytes) {
    broken = Status(ErrorKind::kCount, "the request is too large");
  } else {
    try {
      converted.resize(static_cast<size_t>(*file_bytes));
    } catch (const std::bad_alloc&) {
      broken = Status(ErrorKind::kNoMemory, "no memory to convert " + std::to_string(*file_bytes) + " bytes");
    }
  }
  if (broken.ok() && access.writing)
    broken = representation.to_file(buffer, type, count, converted.data(), *file_bytes, file.comm);
  Tiling plain{Pattern::Bytes(1), 0, 1};
  int64_t size = broken.ok() ? *file_bytes : 0;
  auto moved = move_bytes(*file.file, access, offset, size, MemoryBytes{plain, converted.data()}, std::move(broken));
  if (!moved.ok()) return moved;
  if (access.writing) return memory_bytes;
  return representation.from_file(converted.data(), *moved, buffer, type, count, file.comm);
}

/// A call that moves nothing because of a wrong argument.
[[gnu::noinline]] Result<int64_t> refuse(RoutedFile& file, Access access, MPI_Offset offset, Status status) {
  return move_bytes(*file.file, access, offset, 0, MemoryBytes{file.file->view()->file, nullptr}, std::move(status));
}

/// Bytes of memory moved.
[[gnu::always_inline]] inline Result<int64_t> move(RoutedFile& file, Access access, MPI_Offset offset, void* buffer, int64_t count,
                     MPI_Datatype type) {
  // A wrong argument must not keep this rank out of an ordered call, in which the others wait for it.
  auto wrong = [&](Status status) { return refuse(file, access, offset, std::move(status)); };
  if (count < 0) return wrong(Status(ErrorKind::kCount, file.file->path() + ": negative count"));
  auto layout = layout_of(type, file.comm);
  if (!layout.ok())
    return wrong(Status(layout.status().kind(), file.file->path() + ": " + std::string(layout.status().message())));
  auto size = checked_mul(count, (*layout)->size);
  if (!size) return wrong(Status(ErrorKind::kCount, file.file->path() + ": the request is too large"));
  const Representation* representation = file.representation.load(std::memory_order_acquire);
  if (!representation->is_native())
    return move_converted(file, *representation, access, offset, buffer, count, type, *size);
  return move_bytes(*file.file, access, offset, *size, MemoryBytes{(*layout)->tiles, buffer});
}

void set_status(MPI_Status* status, int64_t bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  PMPI_Status_set_elements_x(status, MPI_BYTE, bytes);
  PMPI_Status_set_cancelled(status, 0);
}

// --- nonblocking: a generalized request, complete from the start --------------------------------------------------

int query_request(void* bytes, MPI_Status* status) {
  // Always a real status here. MPI_ERROR stays the library's to set.
  set_status(status, *static_cast<int64_t*>(bytes));
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
int free_request(void* bytes) {
  delete static_cast<int64_t*>(bytes);
  return MPI_SUCCESS;
}
int cancel_request(void*, int) { return MPI_SUCCESS; }  // too late: it is done

}  // namespace

int blocking(RoutedFile& file, Access access, MPI_Offset offset, void* buffer, int64_t count, MPI_Datatype type,
             MPI_Status* status) {
  auto moved = move(file, access, offset, buffer, count, type);
  if (!moved.ok()) {
    set_status(status, 0);
    return raise(file.identity, moved.status());
  }
  set_status(status, *moved);
  return MPI_SUCCESS;
}

int nonblocking(RoutedFile& file, Access access, MPI_Offset offset, void* buffer, int64_t count, MPI_Datatype type,
                MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  auto moved = move(file, access, offset, buffer, count, type);
  if (!moved.ok()) return raise(file.identity, moved.status());
  auto bytes = std::make_unique<int64_t>(*moved);
  int code = PMPI_Grequest_start(query_request, free_request, cancel_request, bytes.get(), request);
  if (code != MPI_SUCCESS) return code;
  bytes.release();  // free_request deletes it
  return PMPI_Grequest_complete(*request);
}

int split_begin(RoutedFile& file, Access access, MPI_Offset offset, void* buffer, int64_t count, MPI_Datatype type) {
  bool busy;
  {
    std::lock_guard lock(file.mutex);
    busy = file.split.has_value();
    if (!busy) file.split = SplitOperation{access, 0};
  }
  if (busy)
    return raise(file.identity, Status(ErrorKind::kIo, file.file->path() +
                                                           ": a split collective is already active on this handle"));
  auto moved = move(file, access, offset, buffer, count, type);
  std::lock_guard lock(file.mutex);
  if (!moved.ok()) {
    file.split.reset();
    return raise(file.identity, moved.status());
  }
  file.split->bytes = *moved;
  return MPI_SUCCESS;
}

int split_end(RoutedFile& file, Access access, MPI_Status* status) {
  int64_t bytes = 0;
  bool matches;
  {
    std::lock_guard lock(file.mutex);
    matches = file.split && file.split->access == access;
    if (matches) {
      bytes = file.split->bytes;
      file.split.reset();
    }
  }
  if (!matches)
    return raise(file.identity,
                 Status(ErrorKind::kIo, file.file->path() + ": the end of a split collective without its begin"));
  set_status(status, bytes);
  return MPI_SUCCESS;
}

}  // namespace suiro::mpi
