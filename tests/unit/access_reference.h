// The reference that the access tests compare with: a description of a pattern is expanded, by plain recursion and
// without any cleverness, into the list of all its byte offsets. The checks return what is wrong, or nothing; so the
// tests can also prove that a wrong answer is found.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "access/pattern.h"
#include "access/tiling.h"

namespace suiro::access_test {

using Offsets = std::vector<int64_t>;

/// How a pattern is put together.
struct Spec {
  enum Kind { kBytes, kRepeat, kShift, kIndexed, kConcat };
  Kind kind = kBytes;
  int64_t number = 0;  // bytes: length; repeat: count
  int64_t stride = 0;  // repeat: stride; shift: offset; indexed: extent of the child
  std::vector<int64_t> lengths;
  std::vector<int64_t> displacements;
  std::vector<Spec> children;
};

inline Spec bytes(int64_t length) {
  Spec spec;
  spec.number = length;
  return spec;
}
inline Spec repeat(int64_t count, int64_t stride, Spec child) {
  Spec spec;
  spec.kind = Spec::kRepeat;
  spec.number = count;
  spec.stride = stride;
  spec.children.push_back(std::move(child));
  return spec;
}
inline Spec shift(int64_t offset, Spec child) {
  Spec spec;
  spec.kind = Spec::kShift;
  spec.stride = offset;
  spec.children.push_back(std::move(child));
  return spec;
}
inline Spec indexed(std::vector<int64_t> lengths, std::vector<int64_t> displacements, int64_t extent, Spec child) {
  Spec spec;
  spec.kind = Spec::kIndexed;
  spec.stride = extent;
  spec.lengths = std::move(lengths);
  spec.displacements = std::move(displacements);
  spec.children.push_back(std::move(child));
  return spec;
}
inline Spec concat(std::vector<int64_t> displacements, std::vector<Spec> children) {
  Spec spec;
  spec.kind = Spec::kConcat;
  spec.displacements = std::move(displacements);
  spec.children = std::move(children);
  return spec;
}

inline void expand(const Spec& spec, int64_t at, Offsets* out) {
  switch (spec.kind) {
    case Spec::kBytes:
      for (int64_t i = 0; i < spec.number; ++i) out->push_back(at + i);
      break;
    case Spec::kRepeat:
      for (int64_t i = 0; i < spec.number; ++i) expand(spec.children[0], at + i * spec.stride, out);
      break;
    case Spec::kShift: expand(spec.children[0], at + spec.stride, out); break;
    case Spec::kIndexed:
      for (size_t i = 0; i < spec.displacements.size(); ++i) {
        int64_t length = spec.lengths.size() == 1 ? spec.lengths[0] : spec.lengths[i];
        for (int64_t j = 0; j < length; ++j) {
          expand(spec.children[0], at + spec.displacements[i] + j * spec.stride, out);
        }
      }
      break;
    case Spec::kConcat:
      for (size_t i = 0; i < spec.children.size(); ++i) expand(spec.children[i], at + spec.displacements[i], out);
      break;
  }
}

inline Offsets expand(const Spec& spec) {
  Offsets offsets;
  expand(spec, 0, &offsets);
  return offsets;
}

inline Result<Pattern> build(const Spec& spec) {
  std::vector<Pattern> children;
  for (const Spec& child : spec.children) {
    auto pattern = build(child);
    if (!pattern.ok()) return pattern.take_status();
    children.push_back(*pattern);
  }
  switch (spec.kind) {
    case Spec::kBytes: return Pattern::Bytes(spec.number);
    case Spec::kRepeat: return Pattern::Repeat(spec.number, spec.stride, children[0]);
    case Spec::kShift: return Pattern::Shift(spec.stride, children[0]);
    case Spec::kIndexed: return Pattern::Indexed(spec.lengths, spec.displacements, spec.stride, children[0]);
    case Spec::kConcat: return Pattern::Concat(spec.displacements, children);
  }
  return Pattern();
}

inline std::string to_string(const std::vector<int64_t>& numbers) {
  std::string text = "{";
  for (size_t i = 0; i < numbers.size(); ++i) text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + "}";
}

/// As C++ that builds the description, to be pasted into a test.
inline std::string to_string(const Spec& spec) {
  switch (spec.kind) {
    case Spec::kBytes: return "bytes(" + std::to_string(spec.number) + ")";
    case Spec::kRepeat:
      return "repeat(" + std::to_string(spec.number) + ", " + std::to_string(spec.stride) + ", " +
             to_string(spec.children[0]) + ")";
    case Spec::kShift: return "shift(" + std::to_string(spec.stride) + ", " + to_string(spec.children[0]) + ")";
    case Spec::kIndexed:
      return "indexed(" + to_string(spec.lengths) + ", " + to_string(spec.displacements) + ", " +
             std::to_string(spec.stride) + ", " + to_string(spec.children[0]) + ")";
    case Spec::kConcat: {
      std::string text = "concat(" + to_string(spec.displacements) + ", {";
      for (size_t i = 0; i < spec.children.size(); ++i) text += (i ? ", " : "") + to_string(spec.children[i]);
      return text + "})";
    }
  }
  return "?";
}

/// The maximal pieces that are contiguous in data order.
inline std::vector<Extent> pieces_of(const Offsets& offsets) {
  std::vector<Extent> pieces;
  for (int64_t offset : offsets) {
    if (!pieces.empty() && pieces.back().end() == offset) {
      ++pieces.back().length;
    } else {
      pieces.push_back({offset, 1});
    }
  }
  return pieces;
}

template <class T>
std::string differ(const char* what, T got, T want) {
  return std::string(what) + " is " + std::to_string(got) + ", must be " + std::to_string(want);
}

/// What of `pattern` disagrees with its byte offsets; empty when nothing does.
inline std::string check_pattern(const Pattern& pattern, const Offsets& offsets) {
  auto size = static_cast<int64_t>(offsets.size());
  if (pattern.size() != size) return differ("size", pattern.size(), size);
  int64_t lower = size ? *std::min_element(offsets.begin(), offsets.end()) : 0;
  int64_t upper = size ? *std::max_element(offsets.begin(), offsets.end()) + 1 : 0;
  if (pattern.lower() != lower) return differ("lower", pattern.lower(), lower);
  if (pattern.upper() != upper) return differ("upper", pattern.upper(), upper);

  auto pieces = pieces_of(offsets);
  if (pattern.is_contiguous() != (pieces.size() <= 1)) return "is_contiguous is wrong";
  bool ascends = true;
  for (size_t i = 1; i < pieces.size(); ++i) ascends = ascends && pieces[i - 1].offset <= pieces[i].offset;
  if (pattern.starts_ascend() != ascends) return "starts_ascend is wrong";
  bool monotonic = true;
  for (size_t i = 1; i < offsets.size(); ++i) monotonic = monotonic && offsets[i - 1] < offsets[i];
  if (pattern.is_monotonic() != monotonic) return "is_monotonic is wrong";
  bool disjoint = std::set<int64_t>(offsets.begin(), offsets.end()).size() == offsets.size();
  if (pattern.is_free_of_overlap() && !disjoint) return "is_free_of_overlap, but it overlaps";
  if (monotonic && !pattern.is_free_of_overlap()) return "monotonic, but not is_free_of_overlap";

  for (int64_t i = 0; i < size; ++i) {
    int64_t want = offsets[static_cast<size_t>(i)];
    if (pattern.offset_of(i) != want) {
      return "at data byte " + std::to_string(i) + ": " + differ("offset_of", pattern.offset_of(i), want);
    }
  }
  if (monotonic) {
    auto check_limit = [&](int64_t limit) -> std::string {
      int64_t want = std::lower_bound(offsets.begin(), offsets.end(), limit) - offsets.begin();
      if (pattern.data_below(limit) == want) return "";
      return "below " + std::to_string(limit) + ": " + differ("data_below", pattern.data_below(limit), want);
    };
    std::set<int64_t> limits = {INT64_MIN, INT64_MAX, 0, lower, upper};
    for (const Extent& piece : pieces) {
      for (int64_t near = -1; near <= 1; ++near) limits.insert({piece.offset + near, piece.end() + near});
    }
    for (int64_t limit : limits) {
      if (auto wrong = check_limit(limit); !wrong.empty()) return wrong;
    }
  }
  return "";
}

/// The positions of the data bytes [begin, end) of a tiling of `offsets`.
inline Offsets tile(const Offsets& offsets, int64_t origin, int64_t extent, int64_t begin, int64_t end) {
  auto size = static_cast<int64_t>(offsets.size());
  Offsets positions;
  for (int64_t i = begin; i < end; ++i) {
    positions.push_back(origin + i / size * extent + offsets[static_cast<size_t>(i % size)]);
  }
  return positions;
}

/// Walks the data bytes [begin, end) with a Cursor that is given `next_limit()` bytes each time, and compares with
/// `want`, the positions of these bytes.
inline std::string check_cursor(const Tiling& tiling, int64_t begin, int64_t end, const Offsets& want,
                                const std::function<int64_t()>& next_limit) {
  Cursor cursor(tiling, begin, end);
  Offsets got;
  bool may_touch = false;  // the last piece was cut by the limit
  for (;;) {
    int64_t left = end - begin - static_cast<int64_t>(got.size());
    if (cursor.remaining() != left) return differ("remaining", cursor.remaining(), left);
    int64_t limit = next_limit();
    Run run;
    if (!cursor.next(limit, &run)) break;
    std::string here = "run {" + std::to_string(run.offset) + ", " + std::to_string(run.length) + ", " +
                       std::to_string(run.stride) + ", " + std::to_string(run.count) + "} at data byte " +
                       std::to_string(begin + static_cast<int64_t>(got.size())) + ": ";
    if (run.length <= 0 || run.count <= 0) return here + "is empty";
    if (run.count == 1 && run.stride != 0) return here + "one piece with a stride";
    if (run.bytes() > limit) return here + "more than the limit of " + std::to_string(limit);
    if (run.bytes() > left) return here + "goes beyond the end";
    for (int64_t i = 0; i < run.count; ++i) {
      int64_t start = run.offset + i * run.stride;
      if (!got.empty() && got.back() + 1 == start && !may_touch)
        return here + "touches the piece before, but is not joined";
      may_touch = false;
      for (int64_t j = 0; j < run.length; ++j) {
        if (start + j != want[got.size()]) return here + differ("position", start + j, want[got.size()]);
        got.push_back(start + j);
      }
    }
    may_touch = run.count == 1 && run.bytes() == limit;
  }
  if (got.size() != want.size()) return differ("number of bytes walked", got.size(), want.size());
  if (cursor.remaining() != 0) return "something remains at the end";
  return "";
}

inline std::string check_cursor(const Tiling& tiling, int64_t begin, int64_t end, const Offsets& want, int64_t limit) {
  auto wrong = check_cursor(tiling, begin, end, want, [limit] { return limit; });
  return wrong.empty() ? "" : "limit " + std::to_string(limit) + ": " + wrong;
}

/// The queries of a tiling for the data bytes [begin, end), whose positions are `want`.
inline std::string check_tiling(const Tiling& tiling, int64_t begin, int64_t end, const Offsets& want) {
  for (int64_t i = begin; i < end; ++i) {
    auto position = tiling.offset_of(i);
    if (!position.ok()) return "offset_of fails";
    if (*position != want[static_cast<size_t>(i - begin)]) {
      return "at data byte " + std::to_string(i) + ": " +
             differ("offset_of", *position, want[static_cast<size_t>(i - begin)]);
    }
    if (tiling.is_monotonic() && tiling.extent > 0) {
      if (tiling.data_below(*position) != i) return differ("data_below", tiling.data_below(*position), i);
      if (tiling.data_below(*position + 1) != i + 1)
        return differ("data_below", tiling.data_below(*position + 1), i + 1);
    }
  }
  auto bounds = tiling.bounds(begin, end);
  if (!bounds.ok()) return "bounds fails";
  if (want.empty()) return *bounds == Extent{} ? "" : "bounds of nothing are not empty";
  auto [lowest, highest] = std::minmax_element(want.begin(), want.end());
  if (*lowest < bounds->offset || *highest >= bounds->end()) return "bounds do not hold every position";
  if (tiling.is_monotonic() && (bounds->offset != *lowest || bounds->end() != *highest + 1)) {
    return "bounds of a monotonic tiling are not exact";
  }
  bool ascends = std::is_sorted(want.begin(), want.end());
  if (tiling.is_monotonic() && !ascends) return "is_monotonic, but the positions descend";
  return "";
}

/// pack and unpack of the data bytes [begin, end), whose positions are `want`.
inline std::string check_copies(const Tiling& tiling, int64_t begin, int64_t end, const Offsets& want) {
  if (want.empty()) return "";
  auto [lowest, highest] = std::minmax_element(want.begin(), want.end());
  int64_t lower = *lowest;
  constexpr int64_t kMargin = 64;
  auto span = static_cast<size_t>(*highest + 1 - lower + 2 * kMargin);
  std::vector<unsigned char> memory(span);
  for (size_t i = 0; i < span; ++i) memory[i] = static_cast<unsigned char>(i * 167 + (i >> 8) * 59 + 13);
  auto index = [&](int64_t position) { return static_cast<size_t>(position - lower + kMargin); };
  // Offset 0 may lie outside the memory: only the addresses of the pieces count, as with MPI_BOTTOM.
  auto* zero = reinterpret_cast<unsigned char*>(reinterpret_cast<uintptr_t>(memory.data()) +
                                                static_cast<uintptr_t>(kMargin - lower));

  std::vector<unsigned char> packed(want.size() + 2, 0xee);
  pack(tiling, zero, begin, end - begin, packed.data() + 1);
  for (size_t i = 0; i < want.size(); ++i) {
    if (packed[i + 1] != memory[index(want[i])]) return "pack: wrong byte " + std::to_string(i);
  }
  if (packed.front() != 0xee || packed.back() != 0xee) return "pack writes outside its buffer";

  for (size_t i = 0; i < want.size(); ++i) packed[i + 1] = static_cast<unsigned char>(i * 31 + 7);
  auto expected = memory;
  for (size_t i = 0; i < want.size(); ++i) expected[index(want[i])] = packed[i + 1];
  unpack(tiling, zero, begin, end - begin, packed.data() + 1);
  for (size_t i = 0; i < span; ++i) {
    if (memory[i] != expected[i]) {
      return "unpack: wrong byte at " + std::to_string(static_cast<int64_t>(i) - kMargin + lower);
    }
  }
  return "";
}

}  // namespace suiro::access_test
