// A File that fails on purpose, for tests: a decorator over any other File.
#pragma once

#include <atomic>
#include <memory>

#include "os/file.h"

namespace suiro {

/// Which calls fail and how. Shared by the test and the file; may be changed while the file is in use.
struct FaultPlan {
  /// Counts every call of the wrapped file; call number `fail_at` (1 is the first) and, if `sticky`, all later ones fail.
  std::atomic<int64_t> calls{0};
  std::atomic<int64_t> fail_at{0};  // 0: never
  std::atomic<bool> sticky{false};
  std::atomic<int> error{5};  // errno, EIO by default
  /// Bytes the file system still has room for; a write beyond them stores what fits and fails with ENOSPC. < 0: no limit.
  std::atomic<int64_t> room{-1};
};

std::unique_ptr<File> make_faulty_file(std::unique_ptr<File> inner, std::shared_ptr<FaultPlan> plan);

}  // namespace suiro
