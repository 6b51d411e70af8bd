// What the ranks of one collective open share on a node: the shared file pointer and the lock of atomic mode. It lives
// in shared memory, so an operation of one rank never waits for another rank to call MPI.
//
// The shared file pointer belongs to a view, and setting a view does not communicate. Each rank therefore counts its
// views (its epoch), and the pointer of epoch e lives in slot e mod kSlots: a rank that is ahead by some views uses its
// own slot and does not disturb those still at the earlier view.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "os/shared_region.h"

namespace suiro {

class SharedState {
 public:
  /// For a file opened by one process: no shared memory needed.
  static Result<std::unique_ptr<SharedState>> Private();
  /// The first process makes it, under a name that is its secret; the others attach. See SharedRegion for the errors.
  static Result<std::unique_ptr<SharedState>> Create(const std::string& directory, const std::string& name);
  static Result<std::unique_ptr<SharedState>> Attach(const std::string& directory, const std::string& name);
  ~SharedState();
  /// Once all have attached: the memory then lives exactly as long as the processes that use it.
  void remove_name();

  /// Moves the shared pointer of view number `epoch` on by `etypes` and returns where it stood.
  /// kOther when this rank is more than kSlots views behind a rank that used the pointer.
  Result<int64_t> advance_pointer(int64_t epoch, int64_t etypes);
  Status set_pointer(int64_t epoch, int64_t position);
  Result<int64_t> pointer(int64_t epoch);

  /// Held around every data access in atomic mode.
  void lock_atomic();
  void unlock_atomic();

  static constexpr int kSlots = 256;

 private:
  struct Layout;
  SharedState(std::unique_ptr<SharedRegion> region, Layout* layout);
  template <class Change>
  Result<int64_t> change_pointer(int64_t epoch, Change change);

  std::unique_ptr<SharedRegion> region_;  // null when private
  Layout* layout_;
};

/// Holds the atomic-mode lock while it lives, if there is a state to lock.
class AtomicSection {
 public:
  explicit AtomicSection(SharedState* state) : state_(state) {
    if (state_ != nullptr) state_->lock_atomic();
  }
  ~AtomicSection() {
    if (state_ != nullptr) state_->unlock_atomic();
  }
  AtomicSection(const AtomicSection&) = delete;
  AtomicSection& operator=(const AtomicSection&) = delete;

 private:
  SharedState* state_;
};

}  // namespace suiro
