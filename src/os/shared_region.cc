#include "os/shared_region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/message.h"

namespace suiro {

Result<std::unique_ptr<SharedRegion>> SharedRegion::Map(const std::string& path, int descriptor, size_t bytes) {
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  int error = errno;
  ::close(descriptor);
  if (data == MAP_FAILED) return Status::FromErrno(error, "map shared memory " + path);
  return std::unique_ptr<SharedRegion>(new SharedRegion(path, data, bytes));
}

Result<std::unique_ptr<SharedRegion>> SharedRegion::Create(const std::string& directory, const std::string& name,
                                                           size_t bytes) {
  std::string path = directory + "/" + name;
  int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return Status::FromErrno(errno, "create shared memory " + path);
  // posix_fallocate reserves the memory now: a full /dev/shm is an error here instead of a SIGBUS at the first store.
  int error = ::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
  if (error != 0) {
    ::close(descriptor);
    ::unlink(path.c_str());
    return Status::FromErrno(error, "reserve " + std::to_string(bytes) + " bytes of shared memory " + path);
  }
  auto region = Map(path, descriptor, bytes);
  if (!region.ok()) ::unlink(path.c_str());
  return region;
}

Result<std::unique_ptr<SharedRegion>> SharedRegion::Attach(const std::string& directory, const std::string& name,
                                                           size_t bytes) {
  std::string path = directory + "/" + name;
  int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return Status::FromErrno(errno, "attach to shared memory " + path);
  struct stat info;
  if (::fstat(descriptor, &info) != 0 || info.st_uid != ::geteuid() || info.st_size != static_cast<off_t>(bytes)) {
    ::close(descriptor);
    return Status(ErrorKind::kAccess, "attach to shared memory " + path + ": it is not this job's");
  }
  return Map(path, descriptor, bytes);
}

SharedRegion::~SharedRegion() { ::munmap(data_, bytes_); }

void SharedRegion::remove_name() { ::unlink(path_.c_str()); }

Status RobustMutex::initialize() {
  pthread_mutexattr_t attributes;
  int error = pthread_mutexattr_init(&attributes);
  if (error == 0) error = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  if (error == 0) error = pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  if (error == 0) error = pthread_mutex_init(&mutex_, &attributes);
  pthread_mutexattr_destroy(&attributes);
  return error == 0 ? Status() : Status::FromErrno(error, "make a lock in shared memory");
}

void RobustMutex::lock() {
  int error = pthread_mutex_lock(&mutex_);
  if (error == EOWNERDEAD) {
    error = pthread_mutex_consistent(&mutex_);
    log_info("a rank died while it held a lock of a shared file; the lock was taken over");
  }
  if (error != 0) {
    // Only memory corruption leads here; going on without the lock would corrupt the file too.
    log_error("a lock in shared memory is unusable; stopping");
    std::abort();
  }
}

void RobustMutex::unlock() { pthread_mutex_unlock(&mutex_); }

}  // namespace suiro
