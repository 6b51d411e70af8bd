// A piece of memory shared by the processes of one node, and locks in it that survive the death of their holder.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <memory>
#include <string>

#include "base/status.h"

namespace suiro {

/// A mapped file in a node-local directory (a tmpfs such as /dev/shm). Its name goes away with remove_name(), usually as
/// soon as every process has attached, so that nothing is left behind by a crash; the memory goes with the last mapping.
class SharedRegion {
 public:
  /// Creates `directory`/`name`, mode 0600, `bytes` bytes of reserved zeros. kFileExists if it is there already.
  static Result<std::unique_ptr<SharedRegion>> Create(const std::string& directory, const std::string& name,
                                                      size_t bytes);
  /// Attaches to a region made by Create. kNoSuchFile from a process on another node. A region that belongs to another
  /// user or has another size is refused.
  static Result<std::unique_ptr<SharedRegion>> Attach(const std::string& directory, const std::string& name,
                                                      size_t bytes);
  ~SharedRegion();
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  void* data() const { return data_; }
  /// Removes the name; processes attached keep the memory. Harmless when it is gone.
  void remove_name();

 private:
  SharedRegion(std::string path, void* data, size_t bytes) : path_(std::move(path)), data_(data), bytes_(bytes) {}
  static Result<std::unique_ptr<SharedRegion>> Map(const std::string& path, int descriptor, size_t bytes);
  std::string path_;
  void* data_;
  size_t bytes_;
};

/// A mutex in shared memory. When a process dies holding it, the next one gets it and the state it guards must be
/// correct at every instruction of the holder (single-word updates).
class RobustMutex {
 public:
  /// Once, by the process that creates the region.
  Status initialize();
  void lock();
  void unlock();

 private:
  pthread_mutex_t mutex_;
};

}  // namespace suiro
