// Enumerates the regular parts of a tiling in data order: the raw material of Cursor, pack and unpack. It cuts parts at
// the ends of the range but joins nothing.
#pragma once

#include <cstdint>

#include "access/shape.h"
#include "access/tiling.h"

namespace suiro::access_internal {

/// Several blocks of `length` bytes at base + displacements[i].
struct ListRun {
  const int64_t* displacements = nullptr;
  int64_t count = 0;
  int64_t base = 0;
  int64_t length = 0;
};

class Walker {
 public:
  /// As for Cursor. Keeps a reference to the pattern's shape.
  Walker(const Tiling& tiling, int64_t begin, int64_t end);

  /// The next part; false at the end. A piece cut by an end of the range is a run of its own. Pieces of a run with
  /// count > 1 never touch each other in data order (stride != length).
  bool fetch(Run* run) {
    if (remaining_ == 0) return false;
    if (part_.count == 0) advance();
    if (skip_ == 0 && part_.bytes_fit(remaining_)) {
      *run = {part_.offset, part_.length, part_.count == 1 ? 0 : part_.stride, part_.count};
      remaining_ -= run->bytes();
      part_.count = 0;
    } else {
      cut(run);
    }
    return true;
  }

  /// What comes next, if that is several whole blocks out of an irregular list; otherwise false, and fetch() goes on.
  /// Saves the callers that only copy a call per block.
  bool fetch_list(ListRun* list);

 private:
  struct Part {
    int64_t offset = 0;
    int64_t length = 0;
    int64_t stride = 0;
    int64_t count = 0;
    bool bytes_fit(int64_t limit) const {
      int64_t bytes;
      return !__builtin_mul_overflow(length, count, &bytes) && bytes <= limit;
    }
  };

  /// Where the walk stands in a shape that is not a part by itself.
  struct Frame {
    const Shape* shape;
    int64_t base;  // position of the shape's first byte
    int64_t element;  // copy or list element
    int64_t copy;  // kVariedList: copy inside the element
    int64_t element_copies;  // kVariedList: copies in the element
  };
  static constexpr int kFrames = 8;

  void cut(Run* run);
  void advance();
  bool advance_innermost();
  void descend(const Shape* shape, int64_t base, int64_t skip);
  void push(const Shape* shape, int64_t base, int64_t element, int64_t copy = 0, int64_t element_copies = 1) {
    if (top_ < kFrames) frames_[top_] = {shape, base, element, copy, element_copies};
    ++top_;
  }
  void set_part(int64_t offset, int64_t length, int64_t stride, int64_t count, int64_t skip) {
    part_ = {offset, length, stride, count};
    skip_ = skip;
  }

  ShapePtr owner_;
  const Shape* tile_ = nullptr;  // what is repeated without end: the pattern's shape, or that shape's own unit
  int64_t tile_stride_ = 0;
  int64_t tile_base_ = 0;  // position of the current tile's first byte
  int64_t tile_end_ = 0;  // data bytes of the range that remain when the current tile is done; may be negative
  int64_t remaining_ = 0;
  Part part_;  // pieces not handed out yet
  int64_t skip_ = 0;  // of the part's first piece, bytes before the range
  int top_ = 0;  // more than kFrames: the pattern is too deep for the frames, seek instead
  Frame frames_[kFrames];
};

}  // namespace suiro::access_internal
