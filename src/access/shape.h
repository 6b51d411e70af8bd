// The inside of a Pattern: a tree of strided repetitions, in a canonical form that the functions below establish.
//
// Invariants
//   - A shape is never empty, and it is relative to its first data byte: byte 0 is at position 0. Whoever refers to a
//     shape says where that byte is. So every partial sum on the way down to a byte is itself the position of a data
//     byte, and since construction has checked that the outermost positions fit in 64 bits, no seek can overflow.
//   - A shape whose bytes form one block in order is a kBlock and nothing else.
//   - A kRepeat has count >= 2 and does not just go on with its child: in Repeat(n, s, Repeat(m, t, x)), s != m * t.
//   - A list has at least two elements, and neighbours that continue each other are one element.
//   - Shapes are immutable once made.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "access/pattern.h"

namespace suiro::access_internal {

struct Shape;
using ShapePtr = std::shared_ptr<const Shape>;

/// What the seek and the properties need to know of a shape without looking inside. Outlines of consecutive parts
/// compose exactly (join_outlines), so every property is found while the shape is built.
struct Outline {
  int64_t size = 0;          // data bytes
  int64_t lower = 0;         // lowest position, <= 0
  int64_t upper = 0;         // one past the highest position
  int64_t pieces = 0;        // maximal pieces that are contiguous in data order
  int64_t second_start = 0;  // start of the second piece, when there is one
  int64_t last_start = 0;    // start of the last piece
  int64_t last_end = 0;      // end of the last piece
  bool ascends = true;              // the starts of the pieces never descend
  bool ascends_from_second = true;  // the same without the first piece
  bool monotonic = true;            // positions ascend byte by byte
  bool disjoint = true;             // proven: no position occurs twice
};

enum class ShapeKind : uint8_t {
  kBlock,        // size bytes
  kRepeat,       // count copies of child, stride apart
  kList,         // copies of child at displacements[]
  kVariedList,   // element i: several copies of child, stride apart, the first at displacements[i]
  kDenseList,    // element i: one block of bytes at displacements[i]
  kConcat,       // children[i] at displacements[i]
};

struct Shape {
  ShapeKind kind = ShapeKind::kBlock;
  int depth = 1;  // levels of shapes, this one included
  Outline outline;
  int64_t count = 0;   // kRepeat
  int64_t stride = 0;  // kRepeat, kVariedList
  ShapePtr child;      // kRepeat, kList, kVariedList
  std::vector<int64_t> displacements;
  std::vector<int64_t> starts;  // data bytes before element i: kVariedList, kDenseList, kConcat
  std::vector<ShapePtr> children;

  int64_t size() const { return outline.size; }
  int64_t elements() const { return static_cast<int64_t>(displacements.size()); }
  /// Data bytes of element i of a list with starts.
  int64_t element_size(int64_t i) const {
    return (i + 1 < elements() ? starts[static_cast<size_t>(i) + 1] : outline.size) - starts[static_cast<size_t>(i)];
  }
  /// The element that data byte `data_offset` lies in (lists with starts).
  int64_t element_of(int64_t data_offset) const;
};

/// A shape and the position of its first byte.
struct Placed {
  ShapePtr shape;
  int64_t offset = 0;
};

/// Element of an indexed list: `count` copies, the first at `displacement`.
struct ListBlock {
  int64_t displacement = 0;
  int64_t count = 0;
};

/// More levels than this are refused: destruction and description recurse.
inline constexpr int kMaxDepth = 1024;

// The makers below require what Pattern's functions check first: sizes, positions and spans fit in 64 bits.

ShapePtr make_block(int64_t size);
/// `child`, `count` times, `stride` bytes apart. count >= 1.
ShapePtr make_repeat(int64_t count, int64_t stride, const ShapePtr& child);
/// Blocks of copies of `child`, the copies `extent` bytes apart; every count >= 1; at least one block.
Placed make_list(std::vector<ListBlock> blocks, int64_t extent, ShapePtr child);
/// The parts one after the other; at least one.
Placed make_concat(const std::vector<Placed>& parts);

/// Outline of `first` followed by `second`, whose first byte is at `at`.
Outline join_outlines(const Outline& first, const Outline& second, int64_t at);

/// Position of data byte `data_offset` relative to the shape's first byte.
int64_t position_of(const Shape& shape, int64_t data_offset);
/// Data bytes at positions below `limit`; the shape is monotonic and 0 <= limit <= upper.
int64_t count_below(const Shape& shape, int64_t limit);

/// Gives this room access to what a Pattern holds.
struct Inside {
  static const ShapePtr& shape(const Pattern& pattern) { return pattern.shape_; }
  static int64_t offset(const Pattern& pattern) { return pattern.offset_; }
  static Pattern pattern(ShapePtr shape, int64_t offset) { return Pattern(std::move(shape), offset); }
};

}  // namespace suiro::access_internal
