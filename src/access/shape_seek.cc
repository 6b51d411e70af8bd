// From data bytes to positions and back, in O(depth x log(elements)).
#include <algorithm>

#include "access/shape.h"

namespace suiro::access_internal {
namespace {

size_t index(int64_t i) { return static_cast<size_t>(i); }

}  // namespace

int64_t Shape::element_of(int64_t data_offset) const {
  return std::upper_bound(starts.begin(), starts.end(), data_offset) - starts.begin() - 1;
}

int64_t position_of(const Shape& outermost, int64_t data_offset) {
  const Shape* shape = &outermost;
  int64_t position = 0;
  for (;;) {
    switch (shape->kind) {
      case ShapeKind::kBlock: return position + data_offset;
      case ShapeKind::kRepeat: {
        int64_t copy = data_offset / shape->child->size();
        position += copy * shape->stride;
        data_offset -= copy * shape->child->size();
        shape = shape->child.get();
        break;
      }
      case ShapeKind::kList: {
        int64_t element = data_offset / shape->child->size();
        position += shape->displacements[index(element)];
        data_offset -= element * shape->child->size();
        shape = shape->child.get();
        break;
      }
      case ShapeKind::kVariedList: {
        int64_t element = shape->element_of(data_offset);
        data_offset -= shape->starts[index(element)];
        int64_t copy = data_offset / shape->child->size();
        position += shape->displacements[index(element)] + copy * shape->stride;
        data_offset -= copy * shape->child->size();
        shape = shape->child.get();
        break;
      }
      case ShapeKind::kDenseList: {
        int64_t element = shape->element_of(data_offset);
        return position + shape->displacements[index(element)] + (data_offset - shape->starts[index(element)]);
      }
      case ShapeKind::kConcat: {
        int64_t element = shape->element_of(data_offset);
        position += shape->displacements[index(element)];
        data_offset -= shape->starts[index(element)];
        shape = shape->children[index(element)].get();
        break;
      }
    }
  }
}

int64_t count_below(const Shape& outermost, int64_t limit) {
  const Shape* shape = &outermost;
  int64_t below = 0;
  for (;;) {
    // Everything of a monotonic shape lies in [0, upper); what comes before the element that holds `limit` is below it.
    if (limit <= 0) return below;
    if (limit >= shape->outline.upper) return below + shape->size();
    int64_t element = 0;
    if (shape->kind != ShapeKind::kBlock && shape->kind != ShapeKind::kRepeat) {
      const auto& places = shape->displacements;
      element = std::lower_bound(places.begin(), places.end(), limit) - places.begin() - 1;
      limit -= places[index(element)];
    }
    switch (shape->kind) {
      case ShapeKind::kBlock: return below + limit;
      case ShapeKind::kRepeat: {
        int64_t copy = std::min(limit / shape->stride, shape->count - 1);
        limit -= copy * shape->stride;
        below += copy * shape->child->size();
        shape = shape->child.get();
        break;
      }
      case ShapeKind::kList:
        below += element * shape->child->size();
        shape = shape->child.get();
        break;
      case ShapeKind::kVariedList: {
        int64_t copies = shape->element_size(element) / shape->child->size();
        int64_t copy = copies == 1 ? 0 : std::min(limit / shape->stride, copies - 1);
        limit -= copy * shape->stride;
        below += shape->starts[index(element)] + copy * shape->child->size();
        shape = shape->child.get();
        break;
      }
      case ShapeKind::kDenseList:
        return below + shape->starts[index(element)] + std::min(limit, shape->element_size(element));
      case ShapeKind::kConcat:
        below += shape->starts[index(element)];
        shape = shape->children[index(element)].get();
        break;
    }
  }
}

}  // namespace suiro::access_internal
