#include "access/walker.h"

#include <algorithm>
#include <cassert>

#include "base/extent.h"

namespace suiro::access_internal {
namespace {

size_t index(int64_t i) { return static_cast<size_t>(i); }

}  // namespace

Walker::Walker(const Tiling& tiling, int64_t begin, int64_t end) : owner_(Inside::shape(tiling.pattern)) {
  assert(0 <= begin && begin <= end);
  if (!owner_ || begin == end) return;
  remaining_ = end - begin;
  tile_ = owner_.get();
  tile_stride_ = tiling.extent;
  // A repetition that goes on at its own stride from tile to tile is one endless repetition.
  while (tile_->kind == ShapeKind::kRepeat && checked_mul(tile_->count, tile_->stride) == tile_stride_) {
    tile_stride_ = tile_->stride;
    tile_ = tile_->child.get();
  }
  int64_t origin = tiling.origin + Inside::offset(tiling.pattern);
  if (tile_->kind == ShapeKind::kBlock) {
    int64_t length = tile_->size();
    if (length == tile_stride_) {
      set_part(origin + begin, remaining_, 0, 1, 0);
    } else {
      int64_t first = begin / length;
      set_part(origin + first * tile_stride_, length, tile_stride_, (end - 1) / length - first + 1, begin % length);
    }
    return;
  }
  int64_t tile = begin / tile_->size();
  int64_t skip = begin % tile_->size();
  tile_base_ = origin + tile * tile_stride_;
  tile_end_ = remaining_ - (tile_->size() - skip);
  descend(tile_, tile_base_, skip);
}

/// The first or the last piece of the range, or the whole pieces before the last one.
void Walker::cut(Run* run) {
  if (skip_ > 0) {
    *run = {part_.offset + skip_, std::min(part_.length - skip_, remaining_), 0, 1};
    skip_ = 0;
    if (--part_.count > 0) part_.offset += part_.stride;
  } else if (int64_t whole = remaining_ / part_.length; whole > 0) {
    *run = {part_.offset, part_.length, whole == 1 ? 0 : part_.stride, whole};
    part_.count -= whole;
    // The piece that is left, if it is reached at all.
    if (remaining_ > run->bytes()) part_.offset += whole * part_.stride;
  } else {
    *run = {part_.offset, remaining_, 0, 1};
  }
  remaining_ -= run->bytes();
}

bool Walker::fetch_list(ListRun* list) {
  if (remaining_ == 0 || part_.count != 0 || top_ == 0 || top_ > kFrames) return false;
  Frame& frame = frames_[top_ - 1];
  const Shape& shape = *frame.shape;
  if (shape.kind != ShapeKind::kList || shape.child->kind != ShapeKind::kBlock) return false;
  int64_t length = shape.child->size();
  int64_t count = std::min(shape.elements() - frame.element - 1, remaining_ / length);
  if (count == 0) return false;
  *list = {shape.displacements.data() + frame.element + 1, count, frame.base, length};
  frame.element += count;
  remaining_ -= count * length;
  return true;
}

void Walker::advance() {
  if (top_ > kFrames) {
    // Too deep for the frames: find the next part from the top. remaining_ and tile_end_ say how far we are.
    int64_t left_in_tile = remaining_ - tile_end_;
    if (left_in_tile == 0) {
      tile_base_ += tile_stride_;
      tile_end_ -= tile_->size();
      left_in_tile = tile_->size();
    }
    top_ = 0;
    descend(tile_, tile_base_, tile_->size() - left_in_tile);
    return;
  }
  while (top_ > 0) {
    if (advance_innermost()) return;
    --top_;
  }
  tile_base_ += tile_stride_;
  tile_end_ -= tile_->size();
  descend(tile_, tile_base_, 0);
}

/// Goes to the next element of the innermost frame; false when there is none.
bool Walker::advance_innermost() {
  Frame& frame = frames_[top_ - 1];
  const Shape& shape = *frame.shape;
  switch (shape.kind) {
    case ShapeKind::kRepeat:
      if (++frame.element == shape.count) return false;
      descend(shape.child.get(), frame.base + frame.element * shape.stride, 0);
      return true;
    case ShapeKind::kList:
      if (++frame.element == shape.elements()) return false;
      descend(shape.child.get(), frame.base + shape.displacements[index(frame.element)], 0);
      return true;
    case ShapeKind::kVariedList: {
      const Shape* child = shape.child.get();
      bool whole_elements = child->kind == ShapeKind::kBlock;
      if (whole_elements || ++frame.copy == frame.element_copies) {
        if (++frame.element == shape.elements()) return false;
        frame.copy = 0;
        frame.element_copies = shape.element_size(frame.element) / child->size();
      }
      int64_t base = frame.base + shape.displacements[index(frame.element)] + frame.copy * shape.stride;
      if (whole_elements) {
        set_part(base, child->size(), shape.stride, frame.element_copies, 0);
      } else {
        descend(child, base, 0);
      }
      return true;
    }
    case ShapeKind::kDenseList:
      if (++frame.element == shape.elements()) return false;
      set_part(frame.base + shape.displacements[index(frame.element)], shape.element_size(frame.element), 0, 1, 0);
      return true;
    case ShapeKind::kConcat:
      if (++frame.element == shape.elements()) return false;
      descend(shape.children[index(frame.element)].get(), frame.base + shape.displacements[index(frame.element)], 0);
      return true;
    case ShapeKind::kBlock: break;
  }
  return false;
}

/// Goes down to the part that holds data byte `skip` of `shape`, whose first byte is at `base`.
void Walker::descend(const Shape* shape, int64_t base, int64_t skip) {
  for (;;) {
    switch (shape->kind) {
      case ShapeKind::kBlock: set_part(base, shape->size(), 0, 1, skip); return;
      case ShapeKind::kRepeat: {
        int64_t copy = skip == 0 ? 0 : skip / shape->child->size();
        skip -= copy * shape->child->size();
        if (shape->child->kind == ShapeKind::kBlock) {
          set_part(base + copy * shape->stride, shape->child->size(), shape->stride, shape->count - copy, skip);
          return;
        }
        push(shape, base, copy);
        base += copy * shape->stride;
        shape = shape->child.get();
        break;
      }
      case ShapeKind::kList: {
        int64_t element = skip == 0 ? 0 : skip / shape->child->size();
        skip -= element * shape->child->size();
        push(shape, base, element);
        base += shape->displacements[index(element)];
        shape = shape->child.get();
        break;
      }
      case ShapeKind::kVariedList: {
        int64_t element = skip == 0 ? 0 : shape->element_of(skip);
        skip -= shape->starts[index(element)];
        int64_t copy = skip / shape->child->size();
        int64_t copies = shape->element_size(element) / shape->child->size();
        skip -= copy * shape->child->size();
        push(shape, base, element, copy, copies);
        base += shape->displacements[index(element)] + copy * shape->stride;
        if (shape->child->kind == ShapeKind::kBlock) {
          set_part(base, shape->child->size(), shape->stride, copies - copy, skip);
          return;
        }
        shape = shape->child.get();
        break;
      }
      case ShapeKind::kDenseList: {
        int64_t element = skip == 0 ? 0 : shape->element_of(skip);
        push(shape, base, element);
        set_part(base + shape->displacements[index(element)], shape->element_size(element), 0, 1,
                 skip - shape->starts[index(element)]);
        return;
      }
      case ShapeKind::kConcat: {
        int64_t element = skip == 0 ? 0 : shape->element_of(skip);
        skip -= shape->starts[index(element)];
        push(shape, base, element);
        base += shape->displacements[index(element)];
        shape = shape->children[index(element)].get();
        break;
      }
    }
  }
}

}  // namespace suiro::access_internal
