#include "access/pattern.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <unordered_set>
#include <utility>

#include "access/shape.h"

namespace suiro {

using access_internal::Inside;
using access_internal::ListBlock;
using access_internal::Placed;
using access_internal::Shape;
using access_internal::ShapeKind;
using access_internal::ShapePtr;

namespace {

// Wide enough for a product of two 64-bit numbers and a few sums of such.
__extension__ typedef __int128 Wide;

bool fits(Wide value) { return value >= INT64_MIN && value <= INT64_MAX; }

/// Collects the lowest and highest position and the size of a pattern in the making, and judges them at the end.
class Bounds {
 public:
  explicit Bounds(const char* what) : what_(what) {}

  /// `count` >= 1 copies of `child`, `stride` apart, the first shifted by `shift`.
  void add(const Pattern& child, Wide count, Wide stride, Wide shift) {
    Wide far = (count - 1) * stride;
    lower_ = std::min(lower_, child.lower() + shift + std::min<Wide>(0, far));
    upper_ = std::max(upper_, child.upper() + shift + std::max<Wide>(0, far));
    // Saturates: a list may have so many elements that even the sum of their sizes would not fit.
    if (fits(size_)) size_ += count * child.size();
  }

  Status check() const {
    if (!fits(size_)) return Status(ErrorKind::kCount, std::string(what_) + ": the data size does not fit in 64 bits");
    if (!fits(lower_) || !fits(upper_) || !fits(upper_ - lower_)) {
      return Status(ErrorKind::kArgument, std::string(what_) + ": a displacement does not fit in 64 bits");
    }
    return Status();
  }

 private:
  const char* what_;
  Wide lower_ = static_cast<Wide>(1) << 126;
  Wide upper_ = -(static_cast<Wide>(1) << 126);
  Wide size_ = 0;
};

Status check_depth(const char* what, const Pattern& child) {
  const ShapePtr& shape = Inside::shape(child);
  // Two levels: an Indexed adds a list and a repetition.
  if (shape && shape->depth + 2 > access_internal::kMaxDepth) {
    return Status(ErrorKind::kType, std::string(what) + ": nested more than " +
                                        std::to_string(access_internal::kMaxDepth) + " levels deep");
  }
  return Status();
}

Status out_of_memory(const char* what, size_t elements) {
  return Status(ErrorKind::kNoMemory, std::string(what) + " of " + std::to_string(elements) + " blocks: out of memory");
}

size_t memory_of(const Shape& shape, std::unordered_set<const Shape*>& seen) {
  if (!seen.insert(&shape).second) return 0;
  constexpr size_t kReferenceCounts = 2 * sizeof(void*);
  size_t bytes = sizeof(Shape) + kReferenceCounts + shape.displacements.capacity() * sizeof(int64_t) +
                 shape.starts.capacity() * sizeof(int64_t) + shape.children.capacity() * sizeof(ShapePtr);
  if (shape.child) bytes += memory_of(*shape.child, seen);
  for (const ShapePtr& child : shape.children) bytes += memory_of(*child, seen);
  return bytes;
}

constexpr int64_t kMaxDescribedElements = 8;
constexpr int kMaxDescribedLevels = 16;

std::string description_of(const Shape& shape, int levels) {
  if (shape.kind == ShapeKind::kBlock) return "bytes(" + std::to_string(shape.size()) + ")";
  if (levels == 0) return "...";
  if (shape.kind == ShapeKind::kRepeat) {
    return "repeat(" + std::to_string(shape.count) + ", " + std::to_string(shape.stride) + ", " +
           description_of(*shape.child, levels - 1) + ")";
  }
  std::string text = shape.kind == ShapeKind::kConcat ? "concat(" : "indexed(";
  for (int64_t i = 0; i < shape.elements(); ++i) {
    if (i > 0) text += ", ";
    if (i == kMaxDescribedElements) {
      text += "... " + std::to_string(shape.elements() - i) + " more";
      break;
    }
    text += std::to_string(shape.displacements[static_cast<size_t>(i)]) + ": ";
    switch (shape.kind) {
      case ShapeKind::kDenseList: text += "bytes(" + std::to_string(shape.element_size(i)) + ")"; break;
      case ShapeKind::kVariedList:
        text += "repeat(" + std::to_string(shape.element_size(i) / shape.child->size()) + ", " +
                std::to_string(shape.stride) + ", " + description_of(*shape.child, levels - 1) + ")";
        break;
      case ShapeKind::kConcat: text += description_of(*shape.children[static_cast<size_t>(i)], levels - 1); break;
      default: text += description_of(*shape.child, levels - 1); break;
    }
  }
  return text + ")";
}

}  // namespace

Pattern::Pattern() = default;

Pattern::Pattern(std::shared_ptr<const Shape> shape, int64_t offset) : shape_(std::move(shape)), offset_(offset) {}

Pattern Pattern::Bytes(int64_t length) {
  assert(length >= 0);
  if (length <= 0) return Pattern();
  return Pattern(access_internal::make_block(length), 0);
}

Result<Pattern> Pattern::Repeat(int64_t count, int64_t stride, const Pattern& child) {
  if (count < 0) return Status(ErrorKind::kCount, "repeat: negative count " + std::to_string(count));
  if (count == 0 || child.size() == 0) return Pattern();
  if (count == 1) return child;
  Bounds bounds("repeat");
  bounds.add(child, count, stride, 0);
  SUIRO_RETURN_IF_ERROR(bounds.check());
  SUIRO_RETURN_IF_ERROR(check_depth("repeat", child));
  try {
    return Pattern(access_internal::make_repeat(count, stride, child.shape_), child.offset_);
  } catch (const std::bad_alloc&) {
    return out_of_memory("repeat", 1);
  }
}

Result<Pattern> Pattern::Shift(int64_t offset, const Pattern& child) {
  if (child.size() == 0) return Pattern();
  Bounds bounds("shift");
  bounds.add(child, 1, 0, offset);
  SUIRO_RETURN_IF_ERROR(bounds.check());
  return Pattern(child.shape_, child.offset_ + offset);
}

Result<Pattern> Pattern::Indexed(std::span<const int64_t> lengths, std::span<const int64_t> displacements,
                                 int64_t child_extent, const Pattern& child) {
  if (lengths.size() != displacements.size() && lengths.size() != 1) {
    return Status(ErrorKind::kArgument, "indexed: " + std::to_string(lengths.size()) + " lengths for " +
                                            std::to_string(displacements.size()) + " displacements");
  }
  for (int64_t length : lengths) {
    if (length < 0) return Status(ErrorKind::kCount, "indexed: negative block length " + std::to_string(length));
  }
  if (child.size() == 0) return Pattern();
  SUIRO_RETURN_IF_ERROR(check_depth("indexed", child));
  Bounds bounds("indexed");
  try {
    std::vector<ListBlock> blocks;
    blocks.reserve(displacements.size());
    for (size_t i = 0; i < displacements.size(); ++i) {
      int64_t length = lengths.size() == 1 ? lengths[0] : lengths[i];
      if (length == 0) continue;
      bounds.add(child, length, child_extent, displacements[i]);
      // Relative to the child's first byte; whether that fits is known only when the bounds have been checked.
      blocks.push_back(
          {static_cast<int64_t>(static_cast<uint64_t>(displacements[i]) + static_cast<uint64_t>(child.offset_)),
           length});
    }
    if (blocks.empty()) return Pattern();
    SUIRO_RETURN_IF_ERROR(bounds.check());
    Placed list = access_internal::make_list(std::move(blocks), child_extent, child.shape_);
    return Pattern(std::move(list.shape), list.offset);
  } catch (const std::bad_alloc&) {
    return out_of_memory("indexed", displacements.size());
  }
}

Result<Pattern> Pattern::Concat(std::span<const int64_t> displacements, std::span<const Pattern> children) {
  if (displacements.size() != children.size()) {
    return Status(ErrorKind::kArgument, "concat: " + std::to_string(displacements.size()) + " displacements for " +
                                            std::to_string(children.size()) + " children");
  }
  Bounds bounds("concat");
  for (size_t i = 0; i < children.size(); ++i) {
    if (children[i].size() == 0) continue;
    SUIRO_RETURN_IF_ERROR(check_depth("concat", children[i]));
    bounds.add(children[i], 1, 0, displacements[i]);
  }
  try {
    std::vector<Placed> parts;
    parts.reserve(children.size());
    for (size_t i = 0; i < children.size(); ++i) {
      if (children[i].size() == 0) continue;
      parts.push_back({children[i].shape_, static_cast<int64_t>(static_cast<uint64_t>(displacements[i]) +
                                                                static_cast<uint64_t>(children[i].offset_))});
    }
    if (parts.empty()) return Pattern();
    SUIRO_RETURN_IF_ERROR(bounds.check());
    Placed whole = access_internal::make_concat(parts);
    return Pattern(std::move(whole.shape), whole.offset);
  } catch (const std::bad_alloc&) {
    return out_of_memory("concat", children.size());
  }
}

int64_t Pattern::size() const { return shape_ ? shape_->size() : 0; }
int64_t Pattern::lower() const { return shape_ ? offset_ + shape_->outline.lower : 0; }
int64_t Pattern::upper() const { return shape_ ? offset_ + shape_->outline.upper : 0; }
bool Pattern::is_contiguous() const { return !shape_ || shape_->kind == ShapeKind::kBlock; }
bool Pattern::is_monotonic() const { return !shape_ || shape_->outline.monotonic; }
bool Pattern::starts_ascend() const { return !shape_ || shape_->outline.ascends; }
bool Pattern::is_free_of_overlap() const { return !shape_ || shape_->outline.disjoint; }

int64_t Pattern::offset_of(int64_t data_offset) const {
  assert(data_offset >= 0 && data_offset < size());
  return offset_ + access_internal::position_of(*shape_, data_offset);
}

int64_t Pattern::data_below(int64_t limit) const {
  assert(is_monotonic());
  if (size() == 0 || limit <= lower()) return 0;
  if (limit >= upper()) return size();
  return access_internal::count_below(*shape_, limit - offset_);
}

size_t Pattern::memory_bytes() const {
  std::unordered_set<const Shape*> seen;
  return sizeof(Pattern) + (shape_ ? memory_of(*shape_, seen) : 0);
}

std::string Pattern::describe() const {
  if (!shape_) return "bytes(0)";
  std::string text = description_of(*shape_, kMaxDescribedLevels);
  return offset_ == 0 ? text : "at(" + std::to_string(offset_) + ", " + text + ")";
}

}  // namespace suiro
