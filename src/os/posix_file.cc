#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>
#include <vector>

#include "os/file.h"

namespace suiro {

// The kernel's calls without libc around them. libc's are cancellation points: a thread cancelled inside would leave locks
// behind. And every function between the program and the kernel costs: on processors that clear their return predictions
// at a system call, each return after it is mispredicted.
namespace {

long call_kernel(long number, long fd, long data, long size, long offset) {
#if defined(__x86_64__)
  register long fourth asm("r10") = offset;
  register long fifth asm("r8") = 0;  // preadv, pwritev: the upper half of the offset, ignored where a word has 64 bits
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(fd), "S"(data), "d"(size), "r"(fourth), "r"(fifth)
               : "rcx", "r11", "memory");
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
#else
  return ::syscall(number, fd, data, size, offset, 0L);
#endif
}
static_assert(sizeof(long) == 8 && sizeof(off_t) == 8, "offsets are passed to system calls in one register");

ssize_t raw_pread(int fd, void* data, size_t size, off_t offset) {
  return call_kernel(SYS_pread64, fd, reinterpret_cast<long>(data), static_cast<long>(size), offset);
}
ssize_t raw_pwrite(int fd, const void* data, size_t size, off_t offset) {
  return call_kernel(SYS_pwrite64, fd, reinterpret_cast<long>(data), static_cast<long>(size), offset);
}
ssize_t raw_preadv(int fd, const iovec* parts, int count, off_t offset) {
  return call_kernel(SYS_preadv, fd, reinterpret_cast<long>(parts), count, offset);
}
ssize_t raw_pwritev(int fd, const iovec* parts, int count, off_t offset) {
  return call_kernel(SYS_pwritev, fd, reinterpret_cast<long>(parts), count, offset);
}

}  // namespace

const IoCalls kSystemIoCalls = {raw_pread, raw_pwrite, raw_preadv, raw_pwritev};

Mapping::Mapping(Mapping&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)), bytes_(other.bytes_), lead_(other.lead_) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  std::swap(lead_, other.lead_);
  return *this;
}

Mapping::~Mapping() {
  if (address_ != nullptr) ::munmap(address_, bytes_);
}

namespace {

// Linux moves at most this much per call (see read(2)); asking for more only shortens the call.
constexpr int64_t kMostPerCall = 0x7ffff000;

class PosixFile final : public File {
 public:
  PosixFile(std::string path, int flags, int descriptor, const IoCalls& calls)
      : path_(std::move(path)), flags_(flags), descriptor_(descriptor), calls_(calls) {}
  ~PosixFile() override {
    if (descriptor_.load() >= 0) ::close(descriptor_.load());
  }

  Result<int64_t> pread(void* data, int64_t size, int64_t offset) override {
    int64_t done = 0;
    while (done < size) {
      size_t want = static_cast<size_t>(std::min(size - done, kMostPerCall));
      ssize_t got = calls_.pread(fd(), static_cast<char*>(data) + done, want, offset + done);
      if (got < 0) {
        if (errno == EINTR) continue;
        return failed("read", offset + done);
      }
      if (got == 0) break;
      done += got;
    }
    return done;
  }

  Status pwrite(const void* data, int64_t size, int64_t offset) override {
    int64_t done = 0;
    while (done < size) {
      size_t want = static_cast<size_t>(std::min(size - done, kMostPerCall));
      ssize_t put = calls_.pwrite(fd(), static_cast<const char*>(data) + done, want, offset + done);
      if (put < 0) {
        if (errno == EINTR) continue;
        return failed("write", offset + done);
      }
      if (put == 0) return Status(ErrorKind::kIo, "write " + path_ + ": the file system takes no more bytes");
      done += put;
    }
    return Status();
  }

  Result<int64_t> preadv(std::span<const iovec> parts, int64_t offset) override {
    VectorProgress progress(parts);
    int64_t done = 0;
    while (!progress.finished()) {
      ssize_t got = calls_.preadv(fd(), progress.parts(), progress.count(), offset + done);
      if (got < 0) {
        if (errno == EINTR) continue;
        return failed("read", offset + done);
      }
      if (got == 0) break;
      done += got;
      progress.advance(got);
    }
    return done;
  }

  Status pwritev(std::span<const iovec> parts, int64_t offset) override {
    VectorProgress progress(parts);
    int64_t done = 0;
    while (!progress.finished()) {
      ssize_t put = calls_.pwritev(fd(), progress.parts(), progress.count(), offset + done);
      if (put < 0) {
        if (errno == EINTR) continue;
        return failed("write", offset + done);
      }
      if (put == 0) return Status(ErrorKind::kIo, "write " + path_ + ": the file system takes no more bytes");
      done += put;
      progress.advance(put);
    }
    return Status();
  }

  Status sync() override {
    while (::fdatasync(fd()) != 0) {
      if (errno == EINTR) continue;
      if (errno == EINVAL || errno == EROFS) return Status();  // not something that has a storage device behind it
      return Status::FromErrno(errno, "sync " + path_);
    }
    return Status();
  }

  Result<int64_t> size() override {
    struct stat info;
    if (::fstat(fd(), &info) != 0) return Status::FromErrno(errno, "get the size of " + path_);
    return static_cast<int64_t>(info.st_size);
  }

  Status truncate(int64_t size) override {
    while (::ftruncate(fd(), size) != 0) {
      if (errno == EINTR) continue;
      return Status::FromErrno(errno, "set the size of " + path_ + " to " + std::to_string(size));
    }
    return Status();
  }

  Status allocate(int64_t offset, int64_t length) override {
    while (::fallocate(fd(), 0, offset, length) != 0) {
      if (errno == EINTR) continue;
      int error = errno == ENOSYS || errno == EOPNOTSUPP ? ENOTSUP : errno;
      return Status::FromErrno(error, "reserve " + std::to_string(length) + " bytes of " + path_);
    }
    return Status();
  }

  Result<Mapping> map(int64_t offset, int64_t length, bool writable) override {
    // From a huge-page boundary on, so that the kernel can map large folios whole: one fault for 2 MiB instead of 512.
    constexpr int64_t kHugePage = int64_t{2} << 20;
    int64_t lead = offset % kHugePage;
    size_t bytes = static_cast<size_t>((lead + length + kHugePage - 1) / kHugePage * kHugePage);
    int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void* address = ::mmap(nullptr, bytes, protection, MAP_SHARED, fd(), offset - lead);
    if (address == MAP_FAILED) return Status::FromErrno(errno, "map " + path_);
    return Mapping(address, bytes, static_cast<size_t>(lead));
  }

  bool is_cached(int64_t offset) override {
    char byte;
    iovec part{&byte, 1};
    return ::preadv2(fd(), &part, 1, offset, RWF_NOWAIT) == 1;
  }

  bool is_dense(int64_t offset, int64_t length) override {
    // This moves the descriptor's position, which nobody uses.
    off_t hole = ::lseek(fd(), offset, SEEK_HOLE);
    return hole >= 0 && hole - offset >= length;
  }

  Status reopen() override {
    int fresh = ::open(path_.c_str(), (flags_ & ~(O_CREAT | O_EXCL | O_TRUNC)) | O_CLOEXEC);
    if (fresh < 0) return Status::FromErrno(errno, "reopen " + path_);
    // dup3 keeps the descriptor's number, so that calls under way in other threads stay on an open file.
    int moved = ::dup3(fresh, fd(), O_CLOEXEC);
    int error = errno;
    ::close(fresh);
    if (moved < 0) return Status::FromErrno(error, "reopen " + path_);
    return Status();
  }

  Status close() override {
    int descriptor = descriptor_.exchange(-1);
    // EINTR from close(2) on Linux means closed; only errors about data matter.
    if (descriptor >= 0 && ::close(descriptor) != 0 && errno != EINTR) return Status::FromErrno(errno, "close " + path_);
    return Status();
  }

 private:
  /// The part of an iovec list that is still to be done. Copies the list only after a short call.
  class VectorProgress {
   public:
    explicit VectorProgress(std::span<const iovec> parts) : rest_(parts) { skip_empty(); }
    bool finished() const { return rest_.empty(); }
    const iovec* parts() const { return rest_.data(); }
    int count() const { return static_cast<int>(std::min<size_t>(rest_.size(), IOV_MAX)); }
    void advance(ssize_t bytes) {
      size_t left = static_cast<size_t>(bytes);
      while (!rest_.empty() && left >= rest_.front().iov_len) {
        left -= rest_.front().iov_len;
        rest_ = rest_.subspan(1);
      }
      if (left > 0) {
        if (copy_.empty()) {
          copy_.assign(rest_.begin(), rest_.end());
          rest_ = copy_;
        }
        iovec& first = copy_[copy_.size() - rest_.size()];
        first.iov_base = static_cast<char*>(first.iov_base) + left;
        first.iov_len -= left;
      }
      skip_empty();
    }

   private:
    void skip_empty() {
      while (!rest_.empty() && rest_.front().iov_len == 0) rest_ = rest_.subspan(1);
    }
    std::span<const iovec> rest_;
    std::vector<iovec> copy_;
  };

  int fd() const { return descriptor_.load(std::memory_order_relaxed); }
  Status failed(const char* what, int64_t offset) const {
    int error = errno;
    return Status::FromErrno(error, std::string(what) + " " + path_ + " at offset " + std::to_string(offset));
  }

  std::string path_;
  int flags_;
  std::atomic<int> descriptor_;
  IoCalls calls_;
};

}  // namespace

Result<std::unique_ptr<File>> open_posix_file(const std::string& path, int flags, mode_t permissions,
                                              const IoCalls& calls) {
  int descriptor;
  do {
    descriptor = ::open(path.c_str(), flags | O_CLOEXEC, permissions);
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) return Status::FromErrno(errno, "open " + path);
  // open(2) of a directory read-only succeeds; a file of MPI it is not.
  struct stat info;
  if (::fstat(descriptor, &info) == 0 && S_ISDIR(info.st_mode)) {
    ::close(descriptor);
    return Status::FromErrno(EISDIR, "open " + path);
  }
  return std::unique_ptr<File>(new PosixFile(path, flags, descriptor, calls));
}

}  // namespace suiro
