// The seam to the file system: one open file, addressed by explicit offsets. PosixFile is the real one; FaultyFile
// (os/faulty_file.h) wraps any File and fails chosen calls for tests.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"

namespace suiro {

/// A shared mapping of part of a file; unmapped when destroyed. Touch it only inside access_mapped() (os/mapped_access.h):
/// when another process truncates the file, touching it raises SIGBUS.
class Mapping {
 public:
  Mapping() = default;
  Mapping(void* address, size_t mapped_bytes, size_t lead) : address_(address), bytes_(mapped_bytes), lead_(lead) {}
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();
  /// Address of the file offset that was asked for.
  std::byte* data() const { return static_cast<std::byte*>(address_) + lead_; }
  const std::byte* begin() const { return static_cast<std::byte*>(address_); }
  const std::byte* end() const { return begin() + bytes_; }

 private:
  void* address_ = nullptr;
  size_t bytes_ = 0;
  size_t lead_ = 0;  // bytes between the page start and the offset asked for
};

/// An open file. Offsets and sizes are bytes. Every function may be called from several threads at once.
class File {
 public:
  virtual ~File() = default;

  /// Reads up to `size` bytes at `offset`; fewer only at the end of the file. Interrupted and short calls are resumed.
  virtual Result<int64_t> pread(void* data, int64_t size, int64_t offset) = 0;
  virtual Result<int64_t> preadv(std::span<const iovec> parts, int64_t offset) = 0;
  /// Writes everything, or reports an error; after an error an unknown part has been written.
  virtual Status pwrite(const void* data, int64_t size, int64_t offset) = 0;
  virtual Status pwritev(std::span<const iovec> parts, int64_t offset) = 0;

  /// Puts data (and the metadata needed to read it back) on the storage device.
  virtual Status sync() = 0;
  virtual Result<int64_t> size() = 0;
  virtual Status truncate(int64_t size) = 0;
  /// Reserves storage for [offset, offset + length) and extends the file to cover it; never changes a byte of data.
  /// kUnsupportedOperation where the file system cannot.
  virtual Status allocate(int64_t offset, int64_t length) = 0;
  /// Maps [offset, offset + length), which must lie inside the file, for reading or for reading and writing.
  virtual Result<Mapping> map(int64_t offset, int64_t length, bool writable) = 0;
  /// The byte at `offset` is in the page cache, as far as can be told without waiting for storage.
  virtual bool is_cached(int64_t offset) = 0;
  /// [offset, offset + length) lies inside the file and has storage everywhere: touching it allocates nothing.
  virtual bool is_dense(int64_t offset, int64_t length) = 0;
  /// Opens the path again, to see what other clients wrote on a file system whose client cache is not coherent.
  virtual Status reopen() = 0;
  /// Releases the descriptor and reports what the file system had kept back (EIO, ENOSPC, EDQUOT at close). Call once.
  virtual Status close() = 0;
};

/// The system calls PosixFile makes, exchangeable so that tests can interrupt and shorten them.
struct IoCalls {
  ssize_t (*pread)(int, void*, size_t, off_t);
  ssize_t (*pwrite)(int, const void*, size_t, off_t);
  ssize_t (*preadv)(int, const iovec*, int, off_t);
  ssize_t (*pwritev)(int, const iovec*, int, off_t);
};
extern const IoCalls kSystemIoCalls;

/// Opens `path` with open(2) flags (O_CLOEXEC is added) and, for O_CREAT, `permissions` (less the umask).
/// The calling process owns the descriptor; it is not inherited over exec.
Result<std::unique_ptr<File>> open_posix_file(const std::string& path, int flags, mode_t permissions,
                                              const IoCalls& calls = kSystemIoCalls);

}  // namespace suiro
