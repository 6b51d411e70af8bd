// Random derived datatypes, each built twice: as an MPI datatype, and as the plain list of bytes it selects, expanded
// by the simple code below straight from the definitions in MPI-4.0 chapter 5. Suiro's and the MPI's own datatype code
// take no part in that list; only the padding of a struct's extent, which the standard leaves to the MPI, is asked of
// it.
#pragma once

#include <algorithm>
#include <numeric>

#include "test.h"

namespace suiro_test {

struct Type {
  MPI_Datatype mpi = MPI_DATATYPE_NULL;
  std::vector<int64_t> bytes;  // offset of every data byte from the origin, in data order
  int64_t lower = 0;           // MPI's lower bound
  int64_t extent = 0;
  std::string text;
  bool predefined = false;

  int64_t size() const { return static_cast<int64_t>(bytes.size()); }
  int64_t true_lower() const { return bytes.empty() ? 0 : *std::min_element(bytes.begin(), bytes.end()); }
  int64_t true_upper() const { return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end()) + 1; }
  /// Data byte `index` of an unlimited sequence of this type.
  int64_t at(int64_t index) const { return bytes[static_cast<size_t>(index % size())] + index / size() * extent; }
  /// No byte twice in `count` consecutive items.
  bool free_of_overlap(int64_t count) const {
    std::vector<int64_t> all;
    for (int64_t i = 0; i < count * size(); ++i) all.push_back(at(i));
    std::sort(all.begin(), all.end());
    return std::adjacent_find(all.begin(), all.end()) == all.end();
  }
  bool ascending() const {  // strictly: neither going back nor any byte twice
    return std::adjacent_find(bytes.begin(), bytes.end(), [](int64_t a, int64_t b) { return b <= a; }) == bytes.end();
  }
  void free() {
    if (mpi != MPI_DATATYPE_NULL && !predefined) MPI_Type_free(&mpi);
    mpi = MPI_DATATYPE_NULL;
  }
};

inline Type basic_type(MPI_Datatype mpi, int size, const char* name) {
  Type t;
  t.mpi = mpi;
  t.bytes.resize(static_cast<size_t>(size));
  std::iota(t.bytes.begin(), t.bytes.end(), 0);
  t.extent = size;
  t.text = name;
  t.predefined = true;
  return t;
}

inline Type random_basic_type(Random& random) {
  switch (random.in(0, 5)) {
    case 0: return basic_type(MPI_BYTE, 1, "BYTE");
    case 1: return basic_type(MPI_CHAR, 1, "CHAR");
    case 2: return basic_type(MPI_SHORT, 2, "SHORT");
    case 3: return basic_type(MPI_INT, 4, "INT");
    case 4: return basic_type(MPI_DOUBLE, 8, "DOUBLE");
    default: return basic_type(MPI_INT64_T, 8, "INT64");
  }
}

/// Builds one type step by step: blocks of a child at byte displacements.
class Assembly {
 public:
  explicit Assembly(const Type& child) : child_(child) {}

  void add(int64_t displacement, int64_t block_length) { add(child_, displacement, block_length); }
  void add(const Type& child, int64_t displacement, int64_t block_length) {
    for (int64_t i = 0; i < block_length; ++i) {
      const int64_t origin = displacement + i * child.extent;
      for (int64_t b : child.bytes) result_.bytes.push_back(origin + b);
      low_ = any_ ? std::min(low_, origin + child.lower) : origin + child.lower;
      high_ = any_ ? std::max(high_, origin + child.lower + child.extent) : origin + child.lower + child.extent;
      any_ = true;
    }
  }

  /// The finished type; bounds by the standard's rule. The padding after the last byte is the MPI's choice (the
  /// epsilon of MPI-4.0 section 5.1.6; Open MPI pads every type, MPICH only structs), so it is asked of the MPI.
  Type finish(MPI_Datatype mpi, std::string text) {
    result_.mpi = mpi;
    result_.lower = any_ ? low_ : 0;
    result_.extent = any_ ? high_ - low_ : 0;
    result_.text = std::move(text);
    MPI_Aint lower = 0, extent = 0;
    MPI_Type_get_extent(mpi, &lower, &extent);
    constexpr int64_t kLargestAlignment = 16;
    const int64_t padding = extent - result_.extent;
    if (lower == result_.lower && padding >= 0 && padding < kLargestAlignment) result_.extent = extent;
    return std::move(result_);
  }

 private:
  const Type& child_;
  Type result_;
  bool any_ = false;
  int64_t low_ = 0, high_ = 0;
};

/// What a random type may do.
struct TypeRules {
  bool ascending = false;     // displacements ascend and nothing overlaps: fit to be a filetype for writing
  bool nonnegative = false;   // no byte below the origin
  bool allow_overlap = true;  // the same byte may be selected twice (send buffers only)
  int64_t max_bytes = 2048;   // of data
  int64_t max_span = 1 << 16;
  int64_t unit = 1;           // byte displacements, strides and extents are multiples of it (etype rule of a view)
};

namespace types_internal {

inline std::string list(const std::vector<int64_t>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) text += (i ? "," : "") + std::to_string(values[i]);
  return text + "]";
}
inline std::string number(int64_t value) { return std::to_string(value); }
inline std::vector<int> to_int(const std::vector<int64_t>& values) { return {values.begin(), values.end()}; }
inline std::vector<MPI_Aint> to_aint(const std::vector<int64_t>& values) { return {values.begin(), values.end()}; }

inline int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

/// Random block lengths (0..3) and displacements in units of `unit` bytes for a child; ascending or shuffled.
inline void random_blocks(Random& random, const TypeRules& rules, const Type& child, int64_t unit, int64_t fixed_length,
                          std::vector<int64_t>* lengths, std::vector<int64_t>* displacements) {
  const int64_t count = random.in(1, 5);
  // Room per item: true span of the child, so that ascending blocks really do not touch.
  const int64_t span = std::max<int64_t>({child.extent, child.true_upper() - child.true_lower(), 1});
  int64_t position = rules.nonnegative ? 0 : random.in(-3, 3);
  if (rules.nonnegative && child.true_lower() < 0) position = (-child.true_lower() + unit - 1) / unit;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t length = fixed_length >= 0 ? fixed_length : random.in(0, 3);
    position += random.in(0, 3);
    lengths->push_back(length);
    displacements->push_back(position);
    position += (length * child.extent + (span - child.extent) + unit - 1) / unit;
  }
  if (rules.ascending) return;
  for (size_t i = lengths->size(); i > 1; --i) {  // any order
    const auto j = static_cast<size_t>(random.in(0, static_cast<int64_t>(i) - 1));
    std::swap((*lengths)[i - 1], (*lengths)[j]);
    std::swap((*displacements)[i - 1], (*displacements)[j]);
  }
  if (rules.allow_overlap && random.one_in(4)) displacements->back() = displacements->front();
}

/// Indices of one dimension that a process owns (MPI-4.0 section 5.1.4).
inline std::vector<int64_t> owned_indices(int64_t gsize, int distribution, int argument, int processes,
                                          int coordinate) {
  std::vector<int64_t> owned;
  if (distribution == MPI_DISTRIBUTE_NONE) {
    for (int64_t i = 0; i < gsize; ++i) owned.push_back(i);
    return owned;
  }
  int64_t block = argument;
  if (argument == MPI_DISTRIBUTE_DFLT_DARG) {
    block = distribution == MPI_DISTRIBUTE_BLOCK ? (gsize + processes - 1) / processes : 1;
  }
  for (int64_t i = 0; i < gsize; ++i) {
    if (i / block % processes == coordinate) owned.push_back(i);
  }
  return owned;
}

/// All selected positions of an array in storage order; `selected[d]` are the indices chosen in dimension d.
inline std::vector<int64_t> array_positions(const std::vector<int64_t>& sizes,
                                            const std::vector<std::vector<int64_t>>& selected, bool fortran) {
  const size_t dims = sizes.size();
  std::vector<int64_t> positions = {0};
  for (size_t step = 0; step < dims; ++step) {  // from the slowest dimension to the fastest
    const size_t d = fortran ? dims - 1 - step : step;
    std::vector<int64_t> finer;
    for (int64_t p : positions) {
      for (int64_t i : selected[d]) finer.push_back(p * sizes[d] + i);
    }
    positions = std::move(finer);
  }
  return positions;
}

}  // namespace types_internal

/// The darray type of process `rank` of `processes`; random parameters from `random` (give every rank the same state to
/// get the parts of one array).
inline Type random_darray(Random& random, int processes, int rank, const Type& child) {
  using namespace types_internal;
  const int dims = static_cast<int>(random.in(1, 3));
  std::vector<int> grid(static_cast<size_t>(dims), 1), distributions, arguments, sizes;
  int rest = processes;
  for (int d = 0; d < dims; ++d) {
    if (d == dims - 1) {
      grid[static_cast<size_t>(d)] = rest;
      break;
    }
    std::vector<int> divisors;
    for (int f = 1; f <= rest; ++f) {
      if (rest % f == 0) divisors.push_back(f);
    }
    const int factor = divisors[static_cast<size_t>(random.in(0, static_cast<int64_t>(divisors.size()) - 1))];
    grid[static_cast<size_t>(d)] = factor;
    rest /= factor;
  }
  std::string text = "darray(" + number(processes) + "," + number(rank);
  std::vector<int64_t> sizes64;
  std::vector<std::vector<int64_t>> selected;
  const bool fortran = random.one_in(2);
  int coordinates_rest = rank;
  std::vector<int> coordinates(static_cast<size_t>(dims));
  for (int d = dims - 1; d >= 0; --d) {  // the process grid is always in row-major order
    coordinates[static_cast<size_t>(d)] = coordinates_rest % grid[static_cast<size_t>(d)];
    coordinates_rest /= grid[static_cast<size_t>(d)];
  }
  for (int d = 0; d < dims; ++d) {
    const int processes_here = grid[static_cast<size_t>(d)];
    const int gsize = static_cast<int>(random.in(1, dims == 1 ? 24 : dims == 2 ? 9 : 6));
    int distribution = MPI_DISTRIBUTE_NONE, argument = MPI_DISTRIBUTE_DFLT_DARG;
    const char* name = "none";
    const int64_t kind = random.in(0, 2);
    if (processes_here > 1 || kind > 0) {
      if (kind == 1) {
        distribution = MPI_DISTRIBUTE_BLOCK;
        name = "block";
        // an own block size must cover the array: block * processes >= gsize
        if (random.one_in(2))
          argument = (gsize + processes_here - 1) / processes_here + static_cast<int>(random.in(0, 1));
      } else {
        distribution = MPI_DISTRIBUTE_CYCLIC;
        name = "cyclic";
        if (random.one_in(2)) argument = static_cast<int>(random.in(1, 4));
      }
    }
    sizes.push_back(gsize);
    sizes64.push_back(gsize);
    distributions.push_back(distribution);
    arguments.push_back(argument);
    selected.push_back(
        owned_indices(gsize, distribution, argument, processes_here, coordinates[static_cast<size_t>(d)]));
    text += std::string(",") + name + "(" + number(gsize) +
            (argument == MPI_DISTRIBUTE_DFLT_DARG ? "" : "/" + number(argument)) + ")x" + number(processes_here);
  }
  MPI_Datatype mpi;
  MPI_Type_create_darray(processes, rank, dims, sizes.data(), distributions.data(), arguments.data(), grid.data(),
                         fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C, child.mpi, &mpi);
  Assembly assembly(child);
  for (int64_t p : array_positions(sizes64, selected, fortran)) assembly.add(p * child.extent, 1);
  Type t = assembly.finish(mpi, text + (fortran ? ",F," : ",C,") + child.text + ")");
  t.lower = 0;
  t.extent = std::accumulate(sizes64.begin(), sizes64.end(), int64_t{1}, std::multiplies<>()) * child.extent;
  return t;
}

inline Type random_subarray(Random& random, const Type& child) {
  using namespace types_internal;
  const int dims = static_cast<int>(random.in(1, 4));
  std::vector<int> sizes, subsizes, starts;
  std::vector<int64_t> sizes64;
  std::vector<std::vector<int64_t>> selected;
  std::string text = "subarray(";
  for (int d = 0; d < dims; ++d) {
    const int size = static_cast<int>(random.in(1, dims == 1 ? 20 : 6));
    const int subsize = static_cast<int>(random.in(1, size));
    const int start = static_cast<int>(random.in(0, size - subsize));
    sizes.push_back(size);
    sizes64.push_back(size);
    subsizes.push_back(subsize);
    starts.push_back(start);
    selected.emplace_back();
    for (int i = 0; i < subsize; ++i) selected.back().push_back(start + i);
    text += number(start) + "+" + number(subsize) + "/" + number(size) + ",";
  }
  const bool fortran = random.one_in(2);
  MPI_Datatype mpi;
  MPI_Type_create_subarray(dims, sizes.data(), subsizes.data(), starts.data(),
                           fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C, child.mpi, &mpi);
  Assembly assembly(child);
  for (int64_t p : array_positions(sizes64, selected, fortran)) assembly.add(p * child.extent, 1);
  Type t = assembly.finish(mpi, text + (fortran ? "F," : "C,") + child.text + ")");
  t.lower = 0;
  t.extent = std::accumulate(sizes64.begin(), sizes64.end(), int64_t{1}, std::multiplies<>()) * child.extent;
  return t;
}

/// `child` with new bounds (MPI_Type_create_resized).
inline Type resized(const Type& child, int64_t lower, int64_t extent) {
  Type t;
  MPI_Type_create_resized(child.mpi, lower, extent, &t.mpi);
  t.bytes = child.bytes;
  t.lower = lower;
  t.extent = extent;
  t.text = "resized(" + std::to_string(lower) + "," + std::to_string(extent) + "," + child.text + ")";
  return t;
}

/// One random constructor around `child`. The child stays the caller's.
inline Type random_constructor(Random& random, const TypeRules& rules, const Type& child) {
  using namespace types_internal;
  const int64_t span = std::max<int64_t>({child.extent, child.true_upper() - child.true_lower(), 1});
  const int64_t safe_stride =
      (span + child.extent - 1) / std::max<int64_t>(child.extent, 1);  // items per item, no overlap
  Assembly assembly(child);
  MPI_Datatype mpi = MPI_DATATYPE_NULL;
  std::vector<int64_t> lengths, displacements;
  switch (random.in(0, 11)) {
    case 0: {
      const int64_t n = random.in(1, 4);
      assembly.add(0, n);
      MPI_Type_contiguous(static_cast<int>(n), child.mpi, &mpi);
      return assembly.finish(mpi, "contiguous(" + number(n) + "," + child.text + ")");
    }
    case 1: {
      const int64_t count = random.in(1, 5), block = random.in(1, 3);
      int64_t stride = block + safe_stride - 1 + random.in(0, 3);
      if (!rules.ascending && !rules.nonnegative && random.one_in(4)) stride = -stride;
      for (int64_t i = 0; i < count; ++i) assembly.add(i * stride * child.extent, block);
      MPI_Type_vector(static_cast<int>(count), static_cast<int>(block), static_cast<int>(stride), child.mpi, &mpi);
      return assembly.finish(
          mpi, "vector(" + number(count) + "," + number(block) + "," + number(stride) + "," + child.text + ")");
    }
    case 2: {
      const int64_t count = random.in(1, 5), block = random.in(1, 3);
      int64_t stride = round_up((block - 1) * child.extent + span + random.in(0, 9), rules.unit);
      if (!rules.ascending && !rules.nonnegative && random.one_in(4)) stride = -stride;
      if (rules.allow_overlap && !rules.ascending && random.one_in(6)) stride = 0;
      for (int64_t i = 0; i < count; ++i) assembly.add(i * stride, block);
      MPI_Type_create_hvector(static_cast<int>(count), static_cast<int>(block), stride, child.mpi, &mpi);
      return assembly.finish(
          mpi, "hvector(" + number(count) + "," + number(block) + "," + number(stride) + "," + child.text + ")");
    }
    case 3: {
      random_blocks(random, rules, child, std::max<int64_t>(child.extent, 1), -1, &lengths, &displacements);
      for (size_t i = 0; i < lengths.size(); ++i) assembly.add(displacements[i] * child.extent, lengths[i]);
      MPI_Type_indexed(static_cast<int>(lengths.size()), to_int(lengths).data(), to_int(displacements).data(),
                       child.mpi, &mpi);
      return assembly.finish(mpi, "indexed(" + list(lengths) + "," + list(displacements) + "," + child.text + ")");
    }
    case 4: {
      random_blocks(random, rules, child, rules.unit, -1, &lengths, &displacements);
      for (int64_t& d : displacements) d *= rules.unit;
      for (size_t i = 0; i < lengths.size(); ++i) assembly.add(displacements[i], lengths[i]);
      MPI_Type_create_hindexed(static_cast<int>(lengths.size()), to_int(lengths).data(), to_aint(displacements).data(),
                               child.mpi, &mpi);
      return assembly.finish(mpi, "hindexed(" + list(lengths) + "," + list(displacements) + "," + child.text + ")");
    }
    case 5: {
      const int64_t block = random.in(1, 3);
      random_blocks(random, rules, child, std::max<int64_t>(child.extent, 1), block, &lengths, &displacements);
      for (int64_t d : displacements) assembly.add(d * child.extent, block);
      MPI_Type_create_indexed_block(static_cast<int>(displacements.size()), static_cast<int>(block),
                                    to_int(displacements).data(), child.mpi, &mpi);
      return assembly.finish(mpi,
                             "indexed_block(" + number(block) + "," + list(displacements) + "," + child.text + ")");
    }
    case 6: {
      const int64_t block = random.in(1, 3);
      random_blocks(random, rules, child, rules.unit, block, &lengths, &displacements);
      for (int64_t& d : displacements) d *= rules.unit;
      for (int64_t d : displacements) assembly.add(d, block);
      MPI_Type_create_hindexed_block(static_cast<int>(displacements.size()), static_cast<int>(block),
                                     to_aint(displacements).data(), child.mpi, &mpi);
      return assembly.finish(mpi,
                             "hindexed_block(" + number(block) + "," + list(displacements) + "," + child.text + ")");
    }
    case 7: {
      // a struct of the child and of a pair of children: members differ in size
      Assembly pair_assembly(child);
      pair_assembly.add(0, 2);
      MPI_Datatype pair_mpi;
      MPI_Type_contiguous(2, child.mpi, &pair_mpi);
      Type pair = pair_assembly.finish(pair_mpi, "pair");
      const Type* members[2] = {&child, &pair};
      TypeRules ordered = rules;
      ordered.ascending = true;  // members are placed in order; shuffling would have to keep the types along
      random_blocks(random, ordered, pair, rules.unit, -1, &lengths, &displacements);
      for (int64_t& d : displacements) d *= rules.unit;
      std::vector<MPI_Datatype> mpi_members;
      std::string text = "struct(";
      for (size_t i = 0; i < lengths.size(); ++i) {
        const Type& member = *members[random.in(0, 1)];
        assembly.add(member, displacements[i], lengths[i]);
        mpi_members.push_back(member.mpi);
        text += number(lengths[i]) + (&member == &pair ? "*pair@" : "@") + number(displacements[i]) + ",";
      }
      MPI_Type_create_struct(static_cast<int>(lengths.size()), to_int(lengths).data(), to_aint(displacements).data(),
                             mpi_members.data(), &mpi);
      pair.free();
      return assembly.finish(mpi, text + child.text + ")");
    }
    case 8: return random_subarray(random, child);
    case 9: {
      const int processes = static_cast<int>(random.in(1, 6));
      const int rank = static_cast<int>(random.in(0, processes - 1));
      return random_darray(random, processes, rank, child);
    }
    case 10: {
      const int64_t lower = rules.nonnegative ? 0 : random.in(-8, 8) * rules.unit;
      const int64_t need = std::max<int64_t>(child.true_upper() - std::min(lower, child.true_lower()), 1);
      const int64_t extent = round_up(need + random.in(0, 12), rules.unit);
      return resized(child, lower, extent);
    }
    default: {
      Type t = child;
      MPI_Type_dup(child.mpi, &t.mpi);
      t.predefined = false;
      t.text = "dup(" + child.text + ")";
      return t;
    }
  }
}

/// The MPI's own size and bounds equal the reference's. They do not for a few types because of the host's bugs (see
/// NATIVE.md); random_type() draws again then, since a program could not use such a type for anything.
inline bool host_agrees(const Type& t) {
  MPI_Aint lower = 0, extent = 0;
  int size = 0;
  MPI_Type_size(t.mpi, &size);
  MPI_Type_get_extent(t.mpi, &lower, &extent);  // not the true extent: MPICH 4.0.2 gets it wrong for cyclic darrays
  return size == t.size() && lower == t.lower && extent == t.extent;
}

/// `depth` constructors around `leaf`, committed. Never empty. Deterministic for a given state of `random`.
inline Type random_type(Random& random, const TypeRules& rules, const Type& leaf, int depth) {
  for (;;) {
    Type t = leaf;
    MPI_Type_dup(leaf.mpi, &t.mpi);
    t.predefined = false;
    for (int level = 0; level < depth; ++level) {
      Type next = random_constructor(random, rules, t);
      const bool fits = host_agrees(next) && next.size() > 0 && next.size() <= rules.max_bytes && next.extent > 0 &&
                        next.true_upper() - next.true_lower() <= rules.max_span && next.extent <= rules.max_span &&
                        (!rules.nonnegative || next.true_lower() >= 0) && (!rules.ascending || next.ascending()) &&
                        (rules.allow_overlap || next.free_of_overlap(1));
      if (!fits) {
        next.free();
        continue;
      }
      t.free();
      t = std::move(next);
    }
    MPI_Type_commit(&t.mpi);
    if (t.size() > 0) return t;
    t.free();
  }
}

/// A wrong generator would make every later check moot.
inline void check_type(const Type& t) {
  record(host_agrees(t), __FILE__, __LINE__, "MPI and reference differ on size or bounds of %s", t.text.c_str());
}

/// `count` items of a type in memory: the buffer, and where data byte i lies in it.
class Memory {
 public:
  Memory(const Type& type, int64_t count) : type_(type), count_(count) {
    const int64_t last = count > 0 ? (count - 1) * type.extent : 0;
    const int64_t low = std::min<int64_t>(type.true_lower() + std::min<int64_t>(last, 0), 0);
    const int64_t high = std::max<int64_t>(type.true_upper() + std::max<int64_t>(last, 0), 0);
    base_ = -low + kGuard;
    storage_.assign(static_cast<size_t>(high - low + 2 * kGuard), kUntouched);
  }
  static constexpr unsigned char kUntouched = 0xA5;
  static constexpr int64_t kGuard = 64;

  void* buffer() { return storage_.data() + base_; }
  int64_t data_bytes() const { return count_ * type_.size(); }
  unsigned char& byte(int64_t index) { return storage_[static_cast<size_t>(base_ + type_.at(index))]; }
  /// Bytes that belong to no data byte and were changed all the same.
  int64_t trespasses() {
    std::vector<bool> data(storage_.size(), false);
    for (int64_t i = 0; i < data_bytes(); ++i) data[static_cast<size_t>(base_ + type_.at(i))] = true;
    int64_t changed = 0;
    for (size_t i = 0; i < storage_.size(); ++i) changed += !data[i] && storage_[i] != kUntouched;
    return changed;
  }

 private:
  const Type& type_;
  int64_t count_;
  int64_t base_ = 0;
  std::vector<unsigned char> storage_;
};

}  // namespace suiro_test
