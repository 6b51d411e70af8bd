#include "mpi/datatype.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

namespace suiro::mpi {
namespace {

#if MPI_VERSION >= 4
// Absent from MPI-3 libraries that share the ABI.
#pragma weak PMPI_Type_get_envelope_c
#pragma weak PMPI_Type_get_contents_c
#endif

Status cannot_decode(const char* what) {
  return Status(ErrorKind::kType, std::string("the MPI library does not explain a datatype (") + what + ")");
}

bool combiner_is_predefined(int combiner) {
  switch (combiner) {
    case MPI_COMBINER_NAMED:
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER:
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    case MPI_COMBINER_VALUE_INDEX:
#endif
      return true;
    default: return false;
  }
}

#if MPI_VERSION >= 4
/// Contents of a type whose constructor had large counts: small integers first, then the counts, in table order.
std::vector<int64_t> in_one_order(int combiner, const std::vector<int>& small, const std::vector<MPI_Aint>& addresses,
                                  const std::vector<MPI_Count>& counts) {
  std::vector<int64_t> numbers;
  size_t small_lead = small.size();
  if (!counts.empty() && combiner == MPI_COMBINER_SUBARRAY) small_lead = 1;  // ndims | sizes ... | order
  if (!counts.empty() && combiner == MPI_COMBINER_DARRAY) small_lead = 3;    // size, rank, ndims | gsizes | rest
  numbers.insert(numbers.end(), small.begin(), small.begin() + static_cast<ptrdiff_t>(std::min(small_lead, small.size())));
  numbers.insert(numbers.end(), counts.begin(), counts.end());
  if (small_lead < small.size())
    numbers.insert(numbers.end(), small.begin() + static_cast<ptrdiff_t>(small_lead), small.end());
  numbers.insert(numbers.end(), addresses.begin(), addresses.end());
  return numbers;
}
#endif

/// A type while it is put together: where its data is and how far apart its items are.
struct Shape {
  Pattern pattern;
  int64_t lower = 0;
  int64_t upper = 0;
  bool absolute = false;
  int64_t extent() const { return upper - lower; }
};

/// One dimension step of subarray and darray: `count` indices from `start` on, `step` bytes apart.
Result<Pattern> slice(int64_t start, int64_t count, int64_t step, const Pattern& inner) {
  auto repeated = Pattern::Repeat(count, step, inner);
  if (!repeated.ok()) return repeated;
  auto at = checked_mul(start, step);
  if (!at) return Status(ErrorKind::kType, "an array type is too large");
  return Pattern::Shift(*at, *repeated);
}

class ShapeBuilder {
 public:
  explicit ShapeBuilder(const BasicBytes* basic_bytes) : basic_bytes_(basic_bytes) {}

  Result<Shape> build(MPI_Datatype type) {
    auto contents = contents_of(type);
    if (!contents.ok()) return contents.take_status();
    if (contents->is_predefined()) return predefined(type);
    auto shape = derived(*contents);
    if (!shape.ok() || basic_bytes_ != nullptr) return shape;
    // In memory the library's bounds hold, as they include its padding of structs.
    MPI_Count lower = 0;
    MPI_Count extent = 0;
    if (PMPI_Type_get_extent_x(type, &lower, &extent) != MPI_SUCCESS) return cannot_decode("extent");
    shape->lower = lower;
    shape->upper = lower + extent;
    return shape;
  }

 private:
  Result<Shape> predefined(MPI_Datatype type) const {
    Shape shape;
    if (basic_bytes_ != nullptr) {
      auto bytes = (*basic_bytes_)(type);
      if (!bytes.ok()) return bytes.take_status();
      shape.pattern = Pattern::Bytes(*bytes);
      shape.upper = *bytes;
      return shape;
    }
    MPI_Count size = 0, lower = 0, extent = 0, true_lower = 0, true_extent = 0;
    if (PMPI_Type_size_x(type, &size) != MPI_SUCCESS || PMPI_Type_get_extent_x(type, &lower, &extent) != MPI_SUCCESS ||
        PMPI_Type_get_true_extent_x(type, &true_lower, &true_extent) != MPI_SUCCESS)
      return cannot_decode("size of a predefined type");
    shape.lower = lower;
    shape.upper = lower + extent;
    if (size == true_extent) {
      shape.pattern = Pattern::Bytes(size);
      return shape;
    }
    // A pair for MPI_MINLOC such as MPI_DOUBLE_INT: a value, padding, an int at the end.
    const int64_t index = static_cast<int64_t>(sizeof(int));
    const std::array<int64_t, 2> places = {0, true_extent - index};
    const std::array<Pattern, 2> parts = {Pattern::Bytes(size - index), Pattern::Bytes(index)};
    auto pattern = Pattern::Concat(places, parts);
    if (!pattern.ok()) return pattern.take_status();
    shape.pattern = std::move(*pattern);
    return shape;
  }

  Result<Shape> derived(const TypeContents& type) {
    if (type.combiner == MPI_COMBINER_STRUCT) return structure(type);
    if (type.children.empty()) return cannot_decode("no inner type");
    auto child = build(type.children[0]);
    if (!child.ok()) return child;
    const std::vector<int64_t>& n = type.numbers;
    const int64_t extent = child->extent();
    switch (type.combiner) {
      case MPI_COMBINER_DUP: return child;
      case MPI_COMBINER_RESIZED:
        if (n.size() < 2) return cannot_decode("resized");
        child->lower = n[0];
        child->upper = n[0] + n[1];
        child->absolute = true;
        return child;
      case MPI_COMBINER_CONTIGUOUS: return n.size() < 1 ? cannot_decode("contiguous") : blocks(*child, {n[0]}, {0}, 1);
      case MPI_COMBINER_VECTOR:
        return n.size() < 3 ? cannot_decode("vector") : vector(*child, n[0], n[1], n[2], extent, false);
      case MPI_COMBINER_HVECTOR: return n.size() < 3 ? cannot_decode("hvector") : vector(*child, n[0], n[1], n[2], 1, true);
      case MPI_COMBINER_INDEXED: return indexed(*child, n, extent, false);
      case MPI_COMBINER_HINDEXED: return indexed(*child, n, 1, true);
      case MPI_COMBINER_INDEXED_BLOCK: return indexed_block(*child, n, extent, false);
      case MPI_COMBINER_HINDEXED_BLOCK: return indexed_block(*child, n, 1, true);
      case MPI_COMBINER_SUBARRAY: return subarray(*child, n);
      case MPI_COMBINER_DARRAY: return darray(*child, n);
      default: return cannot_decode("unknown constructor");
    }
  }

  /// Blocks of `child`; `unit` is what displacements count in.
  static Result<Shape> blocks(const Shape& child, const std::vector<int64_t>& lengths,
                              const std::vector<int64_t>& displacements, int64_t unit) {
    Shape shape;
    shape.absolute = child.absolute;
    std::vector<int64_t> places(displacements.size());
    bool first = true;
    for (size_t i = 0; i < displacements.size(); i++) {
      int64_t length = lengths.size() == 1 ? lengths[0] : lengths[i];
      auto place = checked_mul(displacements[i], unit);
      auto span = checked_mul(std::max<int64_t>(length - 1, 0), child.extent());
      if (!place || !span || length < 0) return Status(ErrorKind::kType, "a datatype is too large");
      places[i] = *place;
      if (length == 0) continue;
      widen(&shape, *place + std::min<int64_t>(*span, 0) + child.lower, *place + std::max<int64_t>(*span, 0) + child.upper,
            &first);
    }
    auto pattern = Pattern::Indexed(lengths, places, child.extent(), child.pattern);
    if (!pattern.ok()) return pattern.take_status();
    shape.pattern = std::move(*pattern);
    return shape;
  }

  static void widen(Shape* shape, int64_t lower, int64_t upper, bool* first) {
    shape->lower = *first ? lower : std::min(shape->lower, lower);
    shape->upper = *first ? upper : std::max(shape->upper, upper);
    *first = false;
  }

  static Result<Shape> vector(const Shape& child, int64_t count, int64_t length, int64_t stride, int64_t unit,
                              bool absolute) {
    auto step = checked_mul(stride, unit);
    if (!step) return Status(ErrorKind::kType, "a vector type is too large");
    auto block = blocks(child, {length}, {0}, 1);
    if (!block.ok()) return block;
    auto pattern = Pattern::Repeat(count, *step, block->pattern);
    auto span = checked_mul(std::max<int64_t>(count - 1, 0), *step);
    if (!pattern.ok() || !span) return Status(ErrorKind::kType, "a vector type is too large");
    Shape shape;
    shape.pattern = std::move(*pattern);
    shape.absolute = child.absolute || absolute;
    if (count > 0 && length > 0) {
      shape.lower = block->lower + std::min<int64_t>(*span, 0);
      shape.upper = block->upper + std::max<int64_t>(*span, 0);
    }
    return shape;
  }

  static Result<Shape> indexed(const Shape& child, const std::vector<int64_t>& n, int64_t unit, bool absolute) {
    if (n.empty() || n[0] < 0 || n.size() < 1 + 2 * static_cast<size_t>(n[0])) return cannot_decode("indexed");
    auto count = static_cast<ptrdiff_t>(n[0]);
    if (count == 0) return Shape{};
    auto shape = blocks(child, {n.begin() + 1, n.begin() + 1 + count}, {n.begin() + 1 + count, n.begin() + 1 + 2 * count},
                        unit);
    if (shape.ok()) shape->absolute |= absolute;
    return shape;
  }

  static Result<Shape> indexed_block(const Shape& child, const std::vector<int64_t>& n, int64_t unit, bool absolute) {
    if (n.size() < 2 || n[0] < 0 || n.size() < 2 + static_cast<size_t>(n[0])) return cannot_decode("indexed_block");
    auto shape = blocks(child, {n[1]}, {n.begin() + 2, n.begin() + 2 + static_cast<ptrdiff_t>(n[0])}, unit);
    if (shape.ok()) shape->absolute |= absolute;
    return shape;
  }

  Result<Shape> structure(const TypeContents& type) {
    const std::vector<int64_t>& n = type.numbers;
    if (n.empty() || n[0] < 0 || n.size() < 1 + 2 * static_cast<size_t>(n[0]) ||
        type.children.size() < static_cast<size_t>(n[0]))
      return cannot_decode("struct");
    auto count = static_cast<size_t>(n[0]);
    Shape shape;
    shape.absolute = true;
    std::vector<Pattern> parts;
    std::vector<int64_t> places;
    bool first = true;
    for (size_t i = 0; i < count; i++) {
      int64_t length = n[1 + i];
      int64_t place = n[1 + count + i];
      if (length == 0) continue;
      auto child = build(type.children[i]);
      if (!child.ok()) return child;
      auto block = blocks(*child, {length}, {0}, 1);
      if (!block.ok()) return block;
      widen(&shape, place + block->lower, place + block->upper, &first);
      places.push_back(place);
      parts.push_back(block->pattern);
    }
    auto pattern = Pattern::Concat(places, parts);
    if (!pattern.ok()) return pattern.take_status();
    shape.pattern = std::move(*pattern);
    return shape;
  }

  static Result<Shape> array_shape(const Shape& child, Pattern pattern, int64_t elements) {
    auto bytes = checked_mul(elements, child.extent());
    if (!bytes) return Status(ErrorKind::kType, "an array type is too large");
    Shape shape;
    shape.pattern = std::move(pattern);
    shape.upper = *bytes;
    shape.absolute = child.absolute;
    return shape;
  }

  static Result<Shape> subarray(const Shape& child, const std::vector<int64_t>& n) {
    if (n.empty() || n[0] < 1 || n.size() < 2 + 3 * static_cast<size_t>(n[0])) return cannot_decode("subarray");
    auto dims = static_cast<size_t>(n[0]);
    const int64_t* sizes = &n[1];
    const int64_t* subsizes = sizes + dims;
    const int64_t* starts = subsizes + dims;
    bool c_order = n[1 + 3 * dims] == MPI_ORDER_C;
    Pattern pattern = child.pattern;
    int64_t elements = 1;
    for (size_t i = 0; i < dims; i++) {
      size_t d = c_order ? dims - 1 - i : i;  // fastest dimension first
      auto step = checked_mul(elements, child.extent());
      auto total = checked_mul(elements, sizes[d]);
      if (!step || !total) return Status(ErrorKind::kType, "a subarray type is too large");
      auto next = slice(starts[d], subsizes[d], *step, pattern);
      if (!next.ok()) return next.take_status();
      pattern = std::move(*next);
      elements = *total;
    }
    return array_shape(child, std::move(pattern), elements);
  }

  /// One dimension of a distributed array: the indices that process `coordinate` of `processes` owns
  /// (MPI-4.0 section 5.1.4).
  static Result<Pattern> distribute(int64_t size, int64_t distribution, int64_t argument, int64_t processes,
                                    int64_t coordinate, int64_t step, const Pattern& inner) {
    if (distribution == MPI_DISTRIBUTE_NONE) return slice(0, size, step, inner);
    if (distribution == MPI_DISTRIBUTE_BLOCK) {
      int64_t block = argument == MPI_DISTRIBUTE_DFLT_DARG ? (size + processes - 1) / processes : argument;
      int64_t start = block * coordinate;
      return slice(std::min(start, size), std::clamp<int64_t>(size - start, 0, block), step, inner);
    }
    if (distribution != MPI_DISTRIBUTE_CYCLIC) return cannot_decode("darray distribution");
    int64_t block = argument == MPI_DISTRIBUTE_DFLT_DARG ? 1 : argument;
    int64_t start = block * coordinate;
    int64_t round = block * processes;
    int64_t reachable = std::max<int64_t>(size - start, 0);
    int64_t full = reachable / round;
    int64_t rest = std::min(reachable % round, block);
    auto one = Pattern::Repeat(block, step, inner);
    if (!one.ok()) return one;
    auto rounds = Pattern::Repeat(full, round * step, *one);
    auto tail = Pattern::Repeat(rest, step, inner);
    if (!rounds.ok()) return rounds;
    if (!tail.ok()) return tail;
    const std::array<int64_t, 2> places = {start * step, (start + full * round) * step};
    const std::array<Pattern, 2> parts = {*rounds, *tail};
    return Pattern::Concat(places, parts);
  }

  static Result<Shape> darray(const Shape& child, const std::vector<int64_t>& n) {
    if (n.size() < 3 || n[2] < 1 || n.size() < 4 + 4 * static_cast<size_t>(n[2])) return cannot_decode("darray");
    auto dims = static_cast<size_t>(n[2]);
    const int64_t* gsizes = &n[3];
    const int64_t* distributions = gsizes + dims;
    const int64_t* arguments = distributions + dims;
    const int64_t* psizes = arguments + dims;
    bool c_order = n[3 + 4 * dims] == MPI_ORDER_C;
    // The process grid is row-major whatever the order of the array.
    std::vector<int64_t> coordinate(dims);
    int64_t rank = n[1];
    int64_t processes = n[0];
    for (size_t d = 0; d < dims; d++) {
      processes /= std::max<int64_t>(psizes[d], 1);
      coordinate[d] = rank / std::max<int64_t>(processes, 1);
      rank %= std::max<int64_t>(processes, 1);
    }
    Pattern pattern = child.pattern;
    int64_t elements = 1;
    for (size_t i = 0; i < dims; i++) {
      size_t d = c_order ? dims - 1 - i : i;
      auto step = checked_mul(elements, child.extent());
      auto total = checked_mul(elements, gsizes[d]);
      if (!step || !total) return Status(ErrorKind::kType, "a darray type is too large");
      auto next = distribute(gsizes[d], distributions[d], arguments[d], psizes[d], coordinate[d], *step, pattern);
      if (!next.ok()) return next.take_status();
      pattern = std::move(*next);
      elements = *total;
    }
    return array_shape(child, std::move(pattern), elements);
  }

  const BasicBytes* basic_bytes_;  // null: as in memory
};

Result<TypeLayout> layout_from(Result<Shape> shape) {
  if (!shape.ok()) return shape.take_status();
  TypeLayout layout;
  layout.lower = shape->lower;
  layout.extent = shape->extent();
  layout.absolute = shape->absolute;
  layout.tiles = Tiling{std::move(shape->pattern), 0, layout.extent};
  layout.size = layout.tiles.pattern.size();
  return layout;
}

// --- layouts kept on derived types --------------------------------------------------------------------------------

int delete_layout(MPI_Datatype, int, void* value, void*) {
  delete static_cast<TypeLayout*>(value);
  return MPI_SUCCESS;
}

int layout_keyval() {
  static const int keyval = [] {
    int made = MPI_KEYVAL_INVALID;
    PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_layout, &made, nullptr);
    return made;
  }();
  return keyval;
}

/// Predefined types are looked up by handle in a small table filled as they come; they are never freed.
class PredefinedLayouts {
 public:
  const TypeLayout* find(MPI_Datatype type) const {
    for (size_t i = first(type);; i = (i + 1) % kSize) {
      const Entry* entry = entries_[i].load(std::memory_order_acquire);
      if (entry == nullptr) return nullptr;
      if (entry->type == type) return &entry->layout;
    }
  }
  const TypeLayout* add(MPI_Datatype type, TypeLayout layout) {
    std::lock_guard lock(mutex_);
    if (const TypeLayout* known = find(type)) return known;
    auto* entry = new Entry{type, std::move(layout)};  // lives as long as the process, as the type does
    if (count_ + 1 >= kSize) return &entry->layout;    // more predefined types than MPI has: work without the table
    count_++;
    size_t i = first(type);
    while (entries_[i].load(std::memory_order_relaxed) != nullptr) i = (i + 1) % kSize;
    entries_[i].store(entry, std::memory_order_release);
    return &entry->layout;
  }

 private:
  struct Entry {
    MPI_Datatype type;
    TypeLayout layout;
  };
  static constexpr size_t kSize = 256;
  static size_t first(MPI_Datatype type) {
    auto bits = static_cast<uint64_t>((uintptr_t)type);  // an int in some libraries, a pointer in others
    return static_cast<size_t>(bits * 0x9E3779B97F4A7C15ull >> 56);
  }
  std::array<std::atomic<Entry*>, kSize> entries_{};
  std::mutex mutex_;
  size_t count_ = 0;
};

PredefinedLayouts& predefined_layouts() {
  static PredefinedLayouts* layouts = new PredefinedLayouts;
  return *layouts;
}

/// There is no call that asks whether a type is committed; packing zero items is refused when it is not.
bool is_committed(MPI_Datatype type, MPI_Comm comm) {
  char nothing[1];
  int position = 0;
  return PMPI_Pack(nothing, 0, type, nothing, static_cast<int>(sizeof nothing), &position, comm) == MPI_SUCCESS;
}

}  // namespace

TypeContents::~TypeContents() {
  for (MPI_Datatype child : children)
    if (!suiro::mpi::is_predefined(child)) PMPI_Type_free(&child);
}

bool TypeContents::is_predefined() const { return combiner_is_predefined(combiner); }

bool is_predefined(MPI_Datatype type) {
  int integers, addresses, types, combiner;
  if (PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS) return false;
  return combiner_is_predefined(combiner);
}

Result<TypeContents> contents_of(MPI_Datatype type) {
  TypeContents contents;
#if MPI_VERSION >= 4
  if (PMPI_Type_get_envelope_c != nullptr && PMPI_Type_get_contents_c != nullptr) {
    MPI_Count integers, addresses, counts, types;
    if (PMPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &contents.combiner) != MPI_SUCCESS)
      return cannot_decode("envelope");
    if (contents.is_predefined()) return contents;
    std::vector<int> small(static_cast<size_t>(integers));
    std::vector<MPI_Aint> places(static_cast<size_t>(addresses));
    std::vector<MPI_Count> large(static_cast<size_t>(counts));
    contents.children.resize(static_cast<size_t>(types));
    if (PMPI_Type_get_contents_c(type, integers, addresses, counts, types, small.data(), places.data(), large.data(),
                                 contents.children.data()) != MPI_SUCCESS) {
      contents.children.clear();
      return cannot_decode("contents");
    }
    contents.numbers = in_one_order(contents.combiner, small, places, large);
    return contents;
  }
#endif
  int integers, addresses, types;
  if (PMPI_Type_get_envelope(type, &integers, &addresses, &types, &contents.combiner) != MPI_SUCCESS)
    return cannot_decode("envelope");
  if (contents.is_predefined()) return contents;
  std::vector<int> small(static_cast<size_t>(integers));
  std::vector<MPI_Aint> places(static_cast<size_t>(addresses));
  contents.children.resize(static_cast<size_t>(types));
  if (PMPI_Type_get_contents(type, integers, addresses, types, small.data(), places.data(), contents.children.data()) !=
      MPI_SUCCESS) {
    contents.children.clear();
    return cannot_decode("contents");
  }
  contents.numbers.assign(small.begin(), small.end());
  contents.numbers.insert(contents.numbers.end(), places.begin(), places.end());
  return contents;
}

Result<const TypeLayout*> layout_of(MPI_Datatype type, MPI_Comm comm) {
  if (type == MPI_DATATYPE_NULL) return Status(ErrorKind::kType, "the datatype is MPI_DATATYPE_NULL");
  if (const TypeLayout* known = predefined_layouts().find(type)) return known;
  void* kept = nullptr;
  int found = 0;
  if (PMPI_Type_get_attr(type, layout_keyval(), &kept, &found) == MPI_SUCCESS && found != 0)
    return static_cast<const TypeLayout*>(kept);
  if (is_predefined(type)) {
    auto layout = layout_from(ShapeBuilder(nullptr).build(type));
    if (!layout.ok()) return layout.take_status();
    return predefined_layouts().add(type, std::move(*layout));
  }
  if (!is_committed(type, comm)) return Status(ErrorKind::kType, "the datatype is not committed");
  auto layout = layout_from(ShapeBuilder(nullptr).build(type));
  if (!layout.ok()) return layout.take_status();
  auto* made = new TypeLayout(std::move(*layout));
  static std::mutex one_at_a_time;  // two threads may meet the same type at once
  std::lock_guard lock(one_at_a_time);
  if (PMPI_Type_get_attr(type, layout_keyval(), &kept, &found) == MPI_SUCCESS && found != 0) {
    delete made;
    return static_cast<const TypeLayout*>(kept);
  }
  if (PMPI_Type_set_attr(type, layout_keyval(), made) != MPI_SUCCESS) {
    delete made;
    return cannot_decode("attribute");
  }
  return made;
}

Result<TypeLayout> layout_in_file(MPI_Datatype type, const BasicBytes& basic_bytes) {
  return layout_from(ShapeBuilder(&basic_bytes).build(type));
}

}  // namespace suiro::mpi
