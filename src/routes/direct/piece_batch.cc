#include "routes/direct/piece_batch.h"

#include <algorithm>

namespace suiro {

bool BatchPlanner::fetch() { return pending_.count > 0 || cursor_.next(&pending_); }

bool BatchPlanner::fits_window(const Run& run) const {
  if (run.length > limits_.window || run.length >= limits_.longest_piece) return false;
  return run.count == 1 ||
         (run.stride >= run.length && run.stride - run.length <= std::max(limits_.largest_gap, run.length));
}

/// Moves the first `pieces` pieces of the pending run to the end of the batch.
void BatchPlanner::take(int64_t pieces, PieceBatch* batch) {
  Run taken = pending_;
  taken.count = pieces;
  if (pieces == 1) taken.stride = 0;
  batch->runs[static_cast<size_t>(batch->count++)] = taken;
  batch->bytes += taken.bytes();
  batch->pieces += pieces;
  batch->end = taken.offset + (pieces - 1) * taken.stride + taken.length;
  pending_.offset += pieces * pending_.stride;
  pending_.count -= pieces;
}

bool BatchPlanner::next(PieceBatch* batch) {
  if (!fetch()) return false;
  batch->count = 0;
  batch->bytes = 0;
  batch->pieces = 0;
  batch->start = pending_.offset;
  batch->one_by_one = !fits_window(pending_);
  if (batch->one_by_one) {
    take(pending_.count, batch);
    return true;
  }
  while (batch->count < PieceBatch::kMostRuns && fetch() && fits_window(pending_)) {
    if (batch->count > 0 &&
        (pending_.offset < batch->end || pending_.offset - batch->end > limits_.largest_gap))
      break;
    int64_t room = batch->start + limits_.window - pending_.offset - pending_.length;
    if (room < 0) break;
    int64_t pieces = pending_.count == 1 ? 1 : std::min(pending_.count, room / pending_.stride + 1);
    take(pieces, batch);
    if (pending_.count > 0) break;  // the window is full
  }
  return true;
}

}  // namespace suiro
