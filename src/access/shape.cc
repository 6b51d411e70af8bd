// How shapes are made, in canonical form.
#include "access/shape.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/extent.h"

namespace suiro::access_internal {
namespace {

/// Blocks inside a concatenation that are worth a Repeat (a node) instead of 16 bytes each in a list.
constexpr size_t kMinRepeatOfBlocks = 16;
/// Other members worth a Repeat.
constexpr size_t kMinRepeatOfShapes = 3;
/// Consecutive blocks worth a list of their own inside a concatenation.
constexpr size_t kMinBlockList = 4;
/// A member that is itself a concatenation of at most this many parts is spliced in. The bound keeps shared structures
/// shared: without it, a structure of two structures of two structures ... would double at every level.
constexpr size_t kMaxSplicedParts = 8;

/// `count` copies, `stride` apart, which do not all run together into one piece. Three copies have met all that there
/// is to meet - a first, a middle and a last copy, and both kinds of border - so more of them only reach further.
Outline repeat_outline(const Outline& one, int64_t count, int64_t stride) {
  assert(one.pieces > 1 || stride != one.size);
  if (count == 1) return one;
  Outline two = join_outlines(one, one, stride);
  if (count == 2) return two;
  Outline all = join_outlines(two, one, 2 * stride);
  int64_t more = count - 3;
  int64_t last = (count - 1) * stride;
  all.size = count * one.size;
  all.lower = std::min(one.lower, last + one.lower);
  all.upper = std::max(one.upper, last + one.upper);
  all.pieces += more * (two.pieces - one.pieces);
  all.last_start += more * stride;
  all.last_end += more * stride;
  return all;
}

/// True when a nest of repetitions around a block selects no byte twice although the copies interleave, as in a
/// transposed array: ordered by stride, every stride steps over all that the smaller ones reach.
bool nest_is_disjoint(const Shape& outermost) {
  std::vector<std::pair<int64_t, int64_t>> dimensions;  // stride, count
  const Shape* shape = &outermost;
  for (; shape->kind == ShapeKind::kRepeat; shape = shape->child.get()) {
    if (shape->stride == 0 || shape->stride == INT64_MIN) return false;
    dimensions.emplace_back(shape->stride < 0 ? -shape->stride : shape->stride, shape->count);
  }
  if (shape->kind != ShapeKind::kBlock) return false;
  std::sort(dimensions.begin(), dimensions.end());
  int64_t reach = shape->size();
  for (auto [stride, count] : dimensions) {
    if (stride < reach) return false;
    // Cannot overflow: the reach of the whole nest is its span, which fits.
    reach += (count - 1) * stride;
  }
  return true;
}

/// True when no two of the [lower, upper) ranges share a position.
bool ranges_are_disjoint(std::vector<std::pair<int64_t, int64_t>> ranges) {
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first < ranges[i - 1].second) return false;
  }
  return true;
}

/// Same bytes relative to the first one. May say false for equal shapes that were built separately out of lists: a full
/// comparison could cost more than it saves.
bool same_shape(const Shape* a, const Shape* b) {
  while (a != b) {
    if (a->kind != b->kind || a->size() != b->size()) return false;
    if (a->kind == ShapeKind::kBlock) return true;
    if (a->kind != ShapeKind::kRepeat || a->count != b->count || a->stride != b->stride) return false;
    a = a->child.get();
    b = b->child.get();
  }
  return true;
}

bool is_block(const Placed& part) { return part.shape->kind == ShapeKind::kBlock; }

/// Appends `next` to `parts`, joining it to the last part when it continues that one.
void append_part(std::vector<Placed>& parts, const Placed& next) {
  if (parts.empty()) {
    parts.push_back(next);
    return;
  }
  Placed& last = parts.back();
  if (is_block(last) && is_block(next)) {
    if (last.offset + last.shape->size() == next.offset) {
      last.shape = make_block(last.shape->size() + next.shape->size());
    } else {
      parts.push_back(next);
    }
    return;
  }
  // Both as a number of equally spaced copies of something.
  auto repetition = [](const Placed& part) -> const Shape* {
    return part.shape->kind == ShapeKind::kRepeat ? part.shape.get() : nullptr;
  };
  const Shape* left = repetition(last);
  const Shape* right = repetition(next);
  if (left && right && left->stride == right->stride && same_shape(left->child.get(), right->child.get()) &&
      next.offset - last.offset == left->count * left->stride) {
    last.shape = make_repeat(left->count + right->count, left->stride, left->child);
  } else if (left && same_shape(left->child.get(), next.shape.get()) &&
             next.offset - last.offset == left->count * left->stride) {
    last.shape = make_repeat(left->count + 1, left->stride, left->child);
  } else if (right && same_shape(right->child.get(), last.shape.get()) && next.offset - last.offset == right->stride) {
    last.shape = make_repeat(right->count + 1, right->stride, right->child);
  } else {
    parts.push_back(next);
  }
}

/// Regularly spaced equal parts become one repetition.
std::vector<Placed> group_regular(const std::vector<Placed>& parts) {
  std::vector<Placed> grouped;
  for (size_t i = 0; i < parts.size();) {
    size_t end = i + 1;
    while (end < parts.size() && same_shape(parts[end].shape.get(), parts[i].shape.get()) &&
           parts[end].offset - parts[end - 1].offset == parts[i + 1].offset - parts[i].offset) {
      ++end;
    }
    size_t length = end - i;
    size_t worthwhile = is_block(parts[i]) ? kMinRepeatOfBlocks : kMinRepeatOfShapes;
    if (length >= 2 && (length == parts.size() || length >= worthwhile)) {
      int64_t step = parts[i + 1].offset - parts[i].offset;
      append_part(grouped, {make_repeat(static_cast<int64_t>(length), step, parts[i].shape), parts[i].offset});
      i = end;
    } else {
      append_part(grouped, parts[i]);
      ++i;
    }
  }
  return grouped;
}

/// Longer rows of separate blocks become a list, which costs 16 bytes per block instead of a shape each.
std::vector<Placed> list_blocks(const std::vector<Placed>& parts) {
  std::vector<Placed> listed;
  for (size_t i = 0; i < parts.size();) {
    size_t end = i;
    while (end < parts.size() && is_block(parts[end])) ++end;
    if (end - i >= kMinBlockList || (end - i >= 2 && end - i == parts.size())) {
      std::vector<ListBlock> blocks;
      blocks.reserve(end - i);
      for (; i < end; ++i) blocks.push_back({parts[i].offset, parts[i].shape->size()});
      listed.push_back(make_list(std::move(blocks), 1, make_block(1)));
    } else {
      listed.push_back(parts[i++]);
    }
  }
  return listed;
}

/// Joins blocks that continue each other, in place.
void join_blocks(std::vector<ListBlock>& blocks, int64_t extent) {
  size_t last = 0;
  for (size_t i = 1; i < blocks.size(); ++i) {
    auto length = checked_mul(blocks[last].count, extent);
    auto end = length ? checked_add(blocks[last].displacement, *length) : std::nullopt;
    if (end && *end == blocks[i].displacement) {
      blocks[last].count += blocks[i].count;
    } else {
      blocks[++last] = blocks[i];
    }
  }
  blocks.resize(last + 1);
}

/// Outline of consecutive elements; `element(i)` is its outline and `displacements[i]` its place.
template <class ElementOutline>
Outline list_outline(const std::vector<int64_t>& displacements, ElementOutline element) {
  Outline whole = element(0);
  bool elements_disjoint = whole.disjoint;
  for (size_t i = 1; i < displacements.size(); ++i) {
    Outline next = element(i);
    elements_disjoint = elements_disjoint && next.disjoint;
    whole = join_outlines(whole, next, displacements[i]);
  }
  if (!whole.disjoint && elements_disjoint) {
    // The elements may still keep apart, only not in ascending order.
    std::vector<std::pair<int64_t, int64_t>> ranges;
    ranges.reserve(displacements.size());
    for (size_t i = 0; i < displacements.size(); ++i) {
      Outline one = element(i);
      ranges.emplace_back(displacements[i] + one.lower, displacements[i] + one.upper);
    }
    whole.disjoint = ranges_are_disjoint(std::move(ranges));
  }
  return whole;
}

Placed make_equal_list(const std::vector<ListBlock>& blocks, const ShapePtr& element) {
  int64_t origin = blocks.front().displacement;
  auto shape = std::make_shared<Shape>();
  shape->kind = ShapeKind::kList;
  shape->child = element;
  shape->depth = element->depth + 1;
  shape->displacements.reserve(blocks.size());
  for (const ListBlock& block : blocks) shape->displacements.push_back(block.displacement - origin);
  shape->outline = list_outline(shape->displacements, [&](size_t) { return element->outline; });
  return {std::move(shape), origin};
}

Placed make_varied_list(const std::vector<ListBlock>& blocks, int64_t extent, const ShapePtr& child) {
  int64_t origin = blocks.front().displacement;
  auto shape = std::make_shared<Shape>();
  bool dense = child->kind == ShapeKind::kBlock && child->size() == extent;
  shape->kind = dense ? ShapeKind::kDenseList : ShapeKind::kVariedList;
  shape->child = dense ? nullptr : child;
  shape->stride = extent;
  shape->depth = dense ? 1 : child->depth + 1;
  shape->displacements.reserve(blocks.size());
  shape->starts.reserve(blocks.size());
  int64_t start = 0;
  for (const ListBlock& block : blocks) {
    shape->displacements.push_back(block.displacement - origin);
    shape->starts.push_back(start);
    start += block.count * child->size();
  }
  shape->outline = list_outline(shape->displacements, [&](size_t i) {
    if (!dense) return repeat_outline(child->outline, blocks[i].count, extent);
    return make_block(blocks[i].count * child->size())->outline;
  });
  return {std::move(shape), origin};
}

}  // namespace

Outline join_outlines(const Outline& first, const Outline& second, int64_t at) {
  bool touching = first.last_end == at;
  bool first_single = first.pieces == 1;
  bool second_single = second.pieces == 1;
  // Whether the starts still ascend where the two meet. When they touch, the piece that crosses the border starts in
  // `first`, and what counts next is the second piece of `second`.
  bool border_ascends =
      touching ? second_single || (second.ascends_from_second && at + second.second_start >= first.last_start)
               : second.ascends && at >= first.last_start;
  Outline whole;
  whole.size = first.size + second.size;
  whole.lower = std::min(first.lower, at + second.lower);
  whole.upper = std::max(first.upper, at + second.upper);
  whole.pieces = first.pieces + second.pieces - (touching ? 1 : 0);
  whole.last_start = touching && second_single ? first.last_start : at + second.last_start;
  whole.last_end = at + second.last_end;
  whole.ascends = first.ascends && border_ascends;
  if (!first_single) {
    whole.second_start = first.second_start;
    whole.ascends_from_second = first.ascends_from_second && border_ascends;
  } else if (touching) {
    whole.second_start = second_single ? 0 : at + second.second_start;
    whole.ascends_from_second = second.ascends_from_second;
  } else {
    whole.second_start = at;
    whole.ascends_from_second = second.ascends;
  }
  whole.monotonic = first.monotonic && second.monotonic && first.upper <= at + second.lower;
  whole.disjoint =
      first.disjoint && second.disjoint && (first.upper <= at + second.lower || at + second.upper <= first.lower);
  return whole;
}

ShapePtr make_block(int64_t size) {
  assert(size > 0);
  auto shape = std::make_shared<Shape>();
  shape->outline.size = size;
  shape->outline.upper = size;
  shape->outline.pieces = 1;
  shape->outline.last_end = size;
  return shape;
}

ShapePtr make_repeat(int64_t count, int64_t stride, const ShapePtr& child) {
  assert(count >= 1);
  if (count == 1) return child;
  if (child->kind == ShapeKind::kBlock && stride == child->size()) return make_block(count * stride);
  if (child->kind == ShapeKind::kRepeat && checked_mul(child->count, child->stride) == stride) {
    return make_repeat(count * child->count, child->stride, child->child);
  }
  auto shape = std::make_shared<Shape>();
  shape->kind = ShapeKind::kRepeat;
  shape->depth = child->depth + 1;
  shape->count = count;
  shape->stride = stride;
  shape->child = child;
  shape->outline = repeat_outline(child->outline, count, stride);
  shape->outline.disjoint = shape->outline.disjoint || nest_is_disjoint(*shape);
  return shape;
}

Placed make_list(std::vector<ListBlock> blocks, int64_t extent, ShapePtr child) {
  bool single_copies = std::all_of(blocks.begin(), blocks.end(), [](const ListBlock& b) { return b.count == 1; });
  if (single_copies) {
    // The extent says nothing then; take the one that makes the child part of the list.
    if (child->kind == ShapeKind::kBlock) extent = child->size();
    if (child->kind == ShapeKind::kRepeat) extent = checked_mul(child->count, child->stride).value_or(extent);
  }
  while (child->kind == ShapeKind::kRepeat && checked_mul(child->count, child->stride) == extent) {
    for (ListBlock& block : blocks) block.count *= child->count;
    extent = child->stride;
    child = ShapePtr(child->child);
  }
  if (child->kind == ShapeKind::kBlock && extent == child->size() && extent != 1) {
    for (ListBlock& block : blocks) block.count *= extent;
    extent = 1;
    child = make_block(1);
  }
  join_blocks(blocks, extent);

  const ListBlock& first = blocks.front();
  bool equal = std::all_of(blocks.begin(), blocks.end(), [&](const ListBlock& b) { return b.count == first.count; });
  if (!equal) return make_varied_list(blocks, extent, child);

  ShapePtr element = make_repeat(first.count, extent, child);
  if (blocks.size() == 1) return {element, first.displacement};
  int64_t step = blocks[1].displacement - first.displacement;
  bool regular = true;
  for (size_t i = 1; i < blocks.size() && regular; ++i) {
    regular = blocks[i].displacement - blocks[i - 1].displacement == step;
  }
  if (regular) return {make_repeat(static_cast<int64_t>(blocks.size()), step, element), first.displacement};
  return make_equal_list(blocks, element);
}

Placed make_concat(const std::vector<Placed>& members) {
  std::vector<Placed> parts;
  parts.reserve(members.size());
  for (const Placed& member : members) {
    const Shape& shape = *member.shape;
    if (shape.kind == ShapeKind::kConcat && shape.children.size() <= kMaxSplicedParts) {
      for (size_t i = 0; i < shape.children.size(); ++i) {
        append_part(parts, {shape.children[i], member.offset + shape.displacements[i]});
      }
    } else {
      append_part(parts, member);
    }
  }
  parts = list_blocks(group_regular(parts));
  if (parts.size() == 1) return parts.front();

  int64_t origin = parts.front().offset;
  auto shape = std::make_shared<Shape>();
  shape->kind = ShapeKind::kConcat;
  shape->displacements.reserve(parts.size());
  shape->starts.reserve(parts.size());
  shape->children.reserve(parts.size());
  int64_t start = 0;
  int deepest = 0;
  for (const Placed& part : parts) {
    shape->displacements.push_back(part.offset - origin);
    shape->starts.push_back(start);
    shape->children.push_back(part.shape);
    start += part.shape->size();
    deepest = std::max(deepest, part.shape->depth);
  }
  shape->depth = deepest + 1;
  shape->outline = list_outline(shape->displacements, [&](size_t i) { return shape->children[i]->outline; });
  return {std::move(shape), origin};
}

}  // namespace suiro::access_internal
