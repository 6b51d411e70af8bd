#include "access/tiling.h"

#include <algorithm>
#include <cassert>
#include <new>

#include "access/walker.h"

namespace suiro {
namespace {

__extension__ typedef __int128 Wide;

bool fits(Wide value) { return value >= INT64_MIN && value <= INT64_MAX; }

/// Parts that next() looks at to lengthen a run, before it hands out what it has.
constexpr int kMaxPartsPerRun = 4096;

Status position_error() { return Status(ErrorKind::kArgument, "a position of the data does not fit in 64 bits"); }

}  // namespace

bool Tiling::is_monotonic() const {
  if (pattern.size() == 0) return true;
  return pattern.is_monotonic() && extent >= pattern.upper() - pattern.lower();
}

Result<int64_t> Tiling::offset_of(int64_t data_offset) const {
  if (data_offset < 0) return Status(ErrorKind::kArgument, "negative position in the data");
  if (pattern.size() == 0) return Status(ErrorKind::kArgument, "a tiling without data has no positions");
  Wide tile = data_offset / pattern.size();
  Wide position = origin + tile * extent + pattern.offset_of(data_offset % pattern.size());
  if (!fits(position)) return position_error();
  return static_cast<int64_t>(position);
}

int64_t Tiling::data_below(int64_t limit) const {
  assert(is_monotonic());
  if (pattern.size() == 0) return 0;
  assert(extent > 0);
  Wide distance = static_cast<Wide>(limit) - origin - pattern.lower();
  if (distance <= 0) return 0;
  Wide tiles = distance / extent;
  int64_t in_last = pattern.data_below(pattern.lower() + static_cast<int64_t>(distance % extent));
  return static_cast<int64_t>(std::min<Wide>(tiles * pattern.size() + in_last, INT64_MAX));
}

Result<Extent> Tiling::bounds(int64_t begin, int64_t end) const {
  assert(0 <= begin && begin <= end);
  if (begin == end || pattern.size() == 0) return Extent{};
  int64_t size = pattern.size();
  Wide first = origin + static_cast<Wide>(begin / size) * extent;
  Wide last = origin + static_cast<Wide>((end - 1) / size) * extent;
  Wide lower = std::min(first, last) + pattern.lower();
  Wide upper = std::max(first, last) + pattern.upper();
  if (is_monotonic()) {
    lower = first + pattern.offset_of(begin % size);
    upper = last + pattern.offset_of((end - 1) % size) + 1;
  }
  if (!fits(lower) || !fits(upper) || !fits(upper - lower)) return position_error();
  return Extent{static_cast<int64_t>(lower), static_cast<int64_t>(upper - lower)};
}

// Between the walker and the caller there are two steps. take_joined() turns the walker's parts into runs of maximal
// pieces; next() cuts them to size and strings equal ones together.
struct Cursor::Impl {
  Impl(const Tiling& tiling, int64_t begin, int64_t end)
      : walker(tiling, begin, end), remaining(tiling.pattern.size() == 0 ? 0 : end - begin) {}

  access_internal::Walker walker;
  int64_t remaining;  // data bytes not handed out
  Run ahead;          // the walker's next part, when its count is not 0
  Run open;           // a single piece that what follows may touch
  Run current;        // joined pieces being handed out
  int64_t skip = 0;   // bytes of current's first piece that are out already (only when current.count > 1)

  bool look_ahead() { return ahead.count != 0 || walker.fetch(&ahead); }

  static int64_t end_of_last(const Run& run) { return run.offset + (run.count - 1) * run.stride + run.length; }

  static void drop_pieces(Run& run, int64_t count) {
    run.count -= count;
    if (run.count > 0) run.offset += count * run.stride;
    if (run.count == 1) run.stride = 0;
  }

  /// The next run whose pieces touch nothing before or after them; a single piece may end early, at `enough` bytes or
  /// more. A count of 0 at the end.
  Run take_joined(int64_t enough) {
    Run run = open;
    open.count = 0;
    if (run.count == 0) {
      if (!look_ahead()) return run;
      run = ahead;
      ahead.count = 0;
    }
    if (run.count > 1) {
      if (look_ahead() && end_of_last(run) == ahead.offset) {
        open = {run.offset + (run.count - 1) * run.stride, run.length, 0, 1};
        if (--run.count == 1) run.stride = 0;
      }
      return run;
    }
    while (run.length < enough && look_ahead() && run.offset + run.length == ahead.offset) {
      run.length += ahead.length;
      drop_pieces(ahead, 1);
    }
    return run;
  }

  /// Whether the pieces of `next` continue `run`: as long, and at the same distance.
  static bool continues(const Run& run, const Run& next) {
    if (next.length != run.length) return false;
    int64_t distance = next.offset - run.offset;
    if (next.count > 1 && next.stride != (run.count == 1 ? distance : run.stride)) return false;
    return run.count == 1 || distance == run.count * run.stride;
  }
};

Cursor::Cursor(const Tiling& tiling, int64_t begin, int64_t end) {
  static_assert(sizeof(Impl) <= sizeof(storage_) && alignof(Impl) <= 16);
  impl_ = new (storage_) Impl(tiling, begin, end);
}

Cursor::~Cursor() { impl_->~Impl(); }

int64_t Cursor::remaining() const { return impl_->remaining; }

bool Cursor::next(int64_t max_bytes, Run* run) {
  assert(max_bytes > 0);
  Impl& at = *impl_;
  Run& current = at.current;
  if (current.count == 1 && at.open.count == 0) {
    // What is left of a piece: what follows may touch it.
    at.open = current;
    current.count = 0;
  }
  if (current.count == 0) current = at.take_joined(max_bytes);
  if (current.count == 0) return false;

  if (at.skip > 0 || current.length > max_bytes) {
    int64_t length = std::min(current.length - at.skip, max_bytes);
    *run = {current.offset + at.skip, length, 0, 1};
    at.remaining -= length;
    if (current.count == 1) {
      current.offset += length;
      current.length -= length;
      return true;
    }
    at.skip += length;
    if (at.skip == current.length) {
      at.skip = 0;
      Impl::drop_pieces(current, 1);
    }
    return true;
  }

  int64_t pieces = std::min(current.count, max_bytes / current.length);
  *run = {current.offset, current.length, pieces == 1 ? 0 : current.stride, pieces};
  Impl::drop_pieces(current, pieces);
  int64_t budget = max_bytes - run->bytes();
  for (int parts = 0; parts < kMaxPartsPerRun && current.count == 0 && budget >= run->length; ++parts) {
    current = at.take_joined(budget + 1);
    if (current.count == 0 || !Impl::continues(*run, current)) break;
    pieces = std::min(current.count, budget / run->length);
    if (run->count == 1) run->stride = current.offset - run->offset;
    run->count += pieces;
    budget -= pieces * run->length;
    Impl::drop_pieces(current, pieces);
  }
  at.remaining -= run->bytes();
  return true;
}

}  // namespace suiro
