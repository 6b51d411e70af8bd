#include "routes/direct/buffer_pool.h"

#include <cstdlib>

namespace suiro {

BufferPool::Loan BufferPool::borrow() {
  {
    std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::byte* data = free_.back();
      free_.pop_back();
      return Loan(this, data);
    }
  }
  return Loan(this, static_cast<std::byte*>(std::malloc(bytes_)));
}

void BufferPool::give_back(std::byte* data) {
  if (data == nullptr) return;
  {
    std::lock_guard lock(mutex_);
    if (free_.size() < kKept) {
      free_.push_back(data);
      return;
    }
  }
  std::free(data);
}

BufferPool::~BufferPool() {
  for (std::byte* data : free_) std::free(data);
}

}  // namespace suiro
