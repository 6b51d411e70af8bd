// Plans the system calls for a non-contiguous access: groups the pieces that a cursor yields into batches which lie close
// enough together to be moved through one window of the file, and leaves the others as single pieces. Pure: no system
// call here; direct_route.cc carries the plan out.
#pragma once

#include <array>
#include <cstdint>

#include "access/tiling.h"
#include "base/extent.h"

namespace suiro {

/// Limits of a batch, in bytes.
struct BatchLimits {
  int64_t window = 0;     // a batch spans at most this much of the file; 0: every piece alone
  // A hole wider than this and wider than the pieces beside it ends a batch: it would cost more than another call.
  int64_t largest_gap = 0;
  int64_t longest_piece = 0;  // a piece of this length or more goes alone, straight from or to its place in memory
};

/// Pieces of ascending offset, in data order, that fit one window; or a run of pieces to be moved one by one.
struct PieceBatch {
  static constexpr int kMostRuns = 256;
  std::array<Run, kMostRuns> runs;
  int count = 0;
  bool one_by_one = false;  // runs[0] alone; not worth or not fit for a window
  int64_t start = 0;        // the window is [start, end)
  int64_t end = 0;
  int64_t bytes = 0;   // data bytes
  int64_t pieces = 0;
};

/// Walks the data bytes [begin, begin + size) of a tiling, a batch at a time.
class BatchPlanner {
 public:
  BatchPlanner(const Tiling& tiling, int64_t begin, int64_t size, const BatchLimits& limits)
      : cursor_(tiling, begin, begin + size), limits_(limits) {}
  /// False at the end. Every byte is in exactly one batch; batches come in data order.
  bool next(PieceBatch* batch);

 private:
  bool fetch();
  bool fits_window(const Run& run) const;
  void take(int64_t pieces, PieceBatch* batch);

  Cursor cursor_;
  BatchLimits limits_;
  Run pending_;  // count 0: none
};

}  // namespace suiro
