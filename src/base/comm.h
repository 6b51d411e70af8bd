// What the rooms below src/mpi may ask of a group of ranks. src/mpi implements it over PMPI for real programs; tests
// implement it over threads, and a single-rank version serves programs without MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"

namespace suiro {

/// A group of processes that agree with each other. Every member function but rank(), size() is collective: all ranks
/// of the group must call it, in the same order. A local failure must therefore travel as data (see agree()), never as
/// an early return between two collective calls.
class Comm {
 public:
  virtual ~Comm() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  virtual void barrier() = 0;
  /// Copies `bytes` bytes from `root` to every rank's `data`.
  virtual void broadcast(void* data, size_t bytes, int root) = 0;
  /// Element-wise maximum over all ranks, in place.
  virtual void max(int64_t* values, int count) = 0;
  /// Element-wise minimum over all ranks, in place.
  virtual void min(int64_t* values, int count) = 0;
  /// Sum over ranks 0..rank-1 (0 on rank 0).
  virtual int64_t exclusive_sum(int64_t value) = 0;

  /// Agreement: every rank brings its local status; all return the same kind. A rank that was fine itself gets a
  /// status that names the lowest failing rank. Result: ok on all ranks, or not ok on all ranks.
  Status agree(Status local);
};

}  // namespace suiro
