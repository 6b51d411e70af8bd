// Reusable staging buffers of one open file, so that a call does not pay for fresh pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace suiro {

/// Hands out buffers of one size and keeps up to kKept of them for the next call. Threads: any.
class BufferPool {
 public:
  explicit BufferPool(size_t bytes) : bytes_(bytes) {}

  /// A buffer on loan; returns to the pool when destroyed. data() is null when memory ran out.
  class Loan {
   public:
    Loan(BufferPool* pool, std::byte* data) : pool_(pool), data_(data) {}
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    ~Loan() { pool_->give_back(data_); }
    std::byte* data() const { return data_; }

   private:
    BufferPool* pool_;
    std::byte* data_;
  };

  Loan borrow();
  size_t bytes() const { return bytes_; }
  ~BufferPool();

 private:
  void give_back(std::byte* data);
  static constexpr size_t kKept = 4;
  size_t bytes_;
  std::mutex mutex_;
  std::vector<std::byte*> free_;
};

}  // namespace suiro
