// A Comm whose ranks are threads of the test program. Unlike an MPI library it notices misuse: ranks that are in
// different collective calls, and a rank that never comes, end the program with a message instead of a hang.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/comm.h"

namespace suiro::test {

/// What the ranks of a group share.
class ThreadGroup {
 public:
  explicit ThreadGroup(int size) : size_(size), values_(static_cast<size_t>(size)) {}
  int size() const { return size_; }

  /// Every rank brings `bytes` and the name of its call; returns when all have come, with what each has brought. The
  /// result stays valid until this rank's next call.
  std::vector<std::vector<char>> exchange(int rank, const char* call, std::vector<char> bytes) {
    std::unique_lock lock(mutex_);
    if (arrived_ == 0) call_ = call;
    if (std::strcmp(call_, call) != 0) give_up(rank, call, "while others are in", call_);
    values_[static_cast<size_t>(rank)] = std::move(bytes);
    int64_t round = round_;
    if (++arrived_ == size_) {
      arrived_ = 0;
      round_++;
      results_ = values_;
      all_here_.notify_all();
    } else if (!all_here_.wait_for(lock, kPatience, [&] { return round_ != round; })) {
      give_up(rank, call, "waits in vain for the others:", "not all came");
    }
    return results_;
  }

 private:
  static constexpr std::chrono::seconds kPatience{30};

  [[noreturn]] static void give_up(int rank, const char* call, const char* how, const char* what) {
    std::fprintf(stderr, "ThreadComm: rank %d in %s %s %s\n", rank, call, how, what);
    std::abort();
  }

  const int size_;
  std::mutex mutex_;
  std::condition_variable all_here_;
  const char* call_ = "";
  int arrived_ = 0;
  int64_t round_ = 0;
  // Nobody can start the next round's exchange before leaving this one, so results_ is not overwritten while it is
  // copied: the last to arrive in the next round comes after every rank has copied under the lock.
  std::vector<std::vector<char>> values_, results_;
};

class ThreadComm final : public Comm {
 public:
  ThreadComm(std::shared_ptr<ThreadGroup> group, int rank) : group_(std::move(group)), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return group_->size(); }

  void barrier() override { (void)group_->exchange(rank_, "barrier", {}); }
  void broadcast(void* data, size_t bytes, int root) override {
    auto* at = static_cast<char*>(data);
    auto all =
        group_->exchange(rank_, "broadcast", rank_ == root ? std::vector<char>(at, at + bytes) : std::vector<char>());
    if (all[static_cast<size_t>(root)].size() != bytes) {
      std::fprintf(stderr, "ThreadComm: rank %d expects a broadcast of another size\n", rank_);
      std::abort();
    }
    if (bytes > 0) std::memcpy(data, all[static_cast<size_t>(root)].data(), bytes);
  }
  void max(int64_t* values, int count) override {
    reduce("max", values, count, [](int64_t a, int64_t b) { return std::max(a, b); });
  }
  void min(int64_t* values, int count) override {
    reduce("min", values, count, [](int64_t a, int64_t b) { return std::min(a, b); });
  }
  int64_t exclusive_sum(int64_t value) override {
    auto all = group_->exchange(rank_, "exclusive_sum", bytes_of(&value, 1));
    int64_t sum = 0;
    for (int other = 0; other < rank_; other++) sum += numbers_of(all[static_cast<size_t>(other)])[0];
    return sum;
  }

 private:
  static std::vector<char> bytes_of(const int64_t* values, int count) {
    const char* at = reinterpret_cast<const char*>(values);
    return std::vector<char>(at, at + static_cast<size_t>(count) * sizeof *values);
  }
  static std::vector<int64_t> numbers_of(const std::vector<char>& bytes) {
    std::vector<int64_t> numbers(bytes.size() / sizeof(int64_t));
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
  }
  template <class Combine>
  void reduce(const char* call, int64_t* values, int count, Combine combine) {
    auto all = group_->exchange(rank_, call, bytes_of(values, count));
    for (const auto& bytes : all) {
      auto theirs = numbers_of(bytes);
      if (theirs.size() != static_cast<size_t>(count)) {
        std::fprintf(stderr, "ThreadComm: rank %d reduces another number of values\n", rank_);
        std::abort();
      }
      for (int i = 0; i < count; i++) values[i] = combine(values[i], theirs[static_cast<size_t>(i)]);
    }
  }

  std::shared_ptr<ThreadGroup> group_;
  int rank_;
};

/// Runs body(comm) on `ranks` threads at once, `comm` being a std::unique_ptr<Comm>, and returns when all have ended.
template <class Body>
void run_ranks(int ranks, Body body) {
  auto group = std::make_shared<ThreadGroup>(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; rank++)
    threads.emplace_back(
        [&body, group, rank] { body(std::unique_ptr<Comm>(std::make_unique<ThreadComm>(group, rank))); });
  for (auto& thread : threads) thread.join();
}

}  // namespace suiro::test
