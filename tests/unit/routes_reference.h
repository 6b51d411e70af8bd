// What a route must do, told with a plain vector of bytes: the model file, and the checks of one write or read against
// it. Each check returns what is wrong, or nothing, so that tests can also prove that a wrong answer is found.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "access_reference.h"
#include "routes/route.h"
#include "temp_dir.h"

namespace suiro::routes_test {

using access_test::Offsets;
using access_test::Spec;
using test::Bytes;

inline uint64_t number_from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// A tiling together with the plain list of one tile's byte offsets.
struct Layout {
  Spec spec;
  Offsets offsets;
  Tiling tiling;

  Layout() = default;
  Layout(Spec described, int64_t origin, int64_t gap_between_tiles) : spec(std::move(described)) {
    offsets = access_test::expand(spec);
    auto pattern = access_test::build(spec);
    if (!pattern.ok()) std::abort();
    tiling = Tiling{*pattern, origin - pattern->lower(), pattern->upper() - pattern->lower() + gap_between_tiles};
  }
  /// Positions of the data bytes [begin, begin + size).
  Offsets positions(int64_t begin, int64_t size) const {
    return access_test::tile(offsets, tiling.origin, tiling.extent, begin, begin + size);
  }
  std::string describe() const {
    return access_test::to_string(spec) + " origin " + std::to_string(tiling.origin) + " extent " +
           std::to_string(tiling.extent);
  }
};

/// Random layouts whose pieces ascend without overlap, as a file view for writing has to be.
class LayoutGenerator {
 public:
  explicit LayoutGenerator(uint64_t seed) : random_(seed) {}
  int64_t between(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  bool chance(int percent) { return between(1, 100) <= percent; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[between(0, static_cast<int64_t>(values.size()) - 1)];
  }

  /// About `budget` data bytes.
  Layout ascending(int levels, int64_t budget) {
    return Layout(spec(levels, budget), between(0, 300), chance(30) ? 0 : between(0, 200));
  }

 private:
  Spec spec(int levels, int64_t budget) {
    if (levels == 0 || budget <= 1) return access_test::bytes(between(1, std::clamp<int64_t>(budget, 1, 3000)));
    if (chance(40)) {
      int64_t count = between(2, std::clamp<int64_t>(budget, 2, 60));
      Spec child = spec(levels - 1, std::max<int64_t>(1, budget / count));
      int64_t stride = span(child) + gap();
      return access_test::repeat(count, stride, std::move(child));
    }
    auto parts = static_cast<size_t>(between(1, 8));
    std::vector<int64_t> places;
    std::vector<Spec> children;
    std::vector<int64_t> lengths;
    int64_t at = between(0, 20);
    if (chance(50)) {
      Spec child = spec(levels - 1, std::max<int64_t>(1, budget / static_cast<int64_t>(3 * parts)));
      int64_t extent = span(child) + (chance(50) ? 0 : gap());
      for (size_t i = 0; i < parts; i++) {
        places.push_back(at);
        lengths.push_back(between(1, 5));
        at += lengths.back() * extent + gap();
      }
      return access_test::indexed(lengths, places, extent, std::move(child));
    }
    for (size_t i = 0; i < parts; i++) {
      places.push_back(at);
      children.push_back(spec(levels - 1, std::max<int64_t>(1, budget / static_cast<int64_t>(parts))));
      at += span(children.back()) + gap();
    }
    return access_test::concat(places, std::move(children));
  }
  int64_t gap() { return chance(15) ? 0 : chance(10) ? between(0, 6000) : between(1, 64); }
  static int64_t span(const Spec& spec) { return access_test::build(spec)->upper(); }

  std::mt19937_64 random_;
};

/// Memory for `size` data bytes of a layout, with a margin of untouchable bytes around it.
class Memory {
 public:
  Memory(const Layout& layout, int64_t size, unsigned char fill) : positions_(layout.positions(0, size)) {
    int64_t lower = 0, upper = 0;
    if (size > 0) {
      lower = *std::min_element(positions_.begin(), positions_.end());
      upper = *std::max_element(positions_.begin(), positions_.end()) + 1;
    }
    shift_ = kMargin - lower;
    bytes_.assign(static_cast<size_t>(upper - lower + 2 * kMargin), fill);
  }
  void* base() {
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(bytes_.data()) + static_cast<uintptr_t>(shift_));
  }
  unsigned char& byte(size_t number) { return bytes_[static_cast<size_t>(positions_[number] + shift_)]; }
  Bytes& all() { return bytes_; }

 private:
  static constexpr int64_t kMargin = 64;
  Offsets positions_;
  int64_t shift_ = 0;
  Bytes bytes_;
};

inline std::string difference(const char* what, const Bytes& got, const Bytes& want) {
  if (got.size() != want.size())
    return std::string(what) + " has " + std::to_string(got.size()) + " bytes, must have " +
           std::to_string(want.size());
  auto at = std::mismatch(got.begin(), got.end(), want.begin()).first;
  if (at == got.end()) return "";
  return std::string(what) + " differs first at byte " + std::to_string(at - got.begin());
}

/// The model of a write: the bytes go to their places, the file grows as far as needed.
inline void write_to_model(Bytes* file, const Offsets& places, const std::function<unsigned char(size_t)>& data) {
  for (size_t i = 0; i < places.size(); i++) {
    auto at = static_cast<size_t>(places[i]);
    if (at >= file->size()) file->resize(at + 1);
    (*file)[at] = data(i);
  }
}

inline unsigned char written_byte(size_t number, unsigned seed) {
  return static_cast<unsigned char>(number * 37 + (number >> 8) * 11 + seed * 101 + 1);
}

/// Writes through the route and compares the whole file with the model, which is updated.
inline std::string check_write(Route& route, const std::string& path, Bytes* model, const Layout& view, int64_t begin,
                               int64_t size, const Layout& memory_layout, unsigned seed) {
  Memory memory(memory_layout, size, 0xee);
  for (size_t i = 0; i < static_cast<size_t>(size); i++) memory.byte(i) = written_byte(i, seed);
  Bytes before = memory.all();
  Status status = route.write(FileBytes{view.tiling, begin, size}, MemoryBytes{memory_layout.tiling, memory.base()});
  if (!status.ok()) return "write failed: " + std::string(status.message());
  if (memory.all() != before) return "write changed the memory";
  write_to_model(model, view.positions(begin, size), [seed](size_t i) { return written_byte(i, seed); });
  auto told = route.size();
  if (!told.ok() || *told != static_cast<int64_t>(model->size())) return "size() is wrong";
  return difference("the file", test::read_whole_file(path), *model);
}

/// Reads through the route and compares every byte of the memory, wanted or not, and the count.
inline std::string check_read(Route& route, const Bytes& model, const Layout& view, int64_t begin, int64_t size,
                              const Layout& memory_layout) {
  Offsets places = view.positions(begin, size);
  auto beyond =
      std::find_if(places.begin(), places.end(), [&](int64_t at) { return at >= static_cast<int64_t>(model.size()); });
  auto want = static_cast<int64_t>(beyond - places.begin());
  Memory memory(memory_layout, size, 0xee);
  Memory expected(memory_layout, size, 0xee);
  for (size_t i = 0; i < static_cast<size_t>(want); i++) expected.byte(i) = model[static_cast<size_t>(places[i])];
  auto got = route.read(FileBytes{view.tiling, begin, size}, MemoryBytes{memory_layout.tiling, memory.base()});
  if (!got.ok()) return "read failed: " + std::string(got.status().message());
  if (*got != want) return access_test::differ("the number of bytes read", *got, want);
  return difference("the memory", memory.all(), expected.all());
}

}  // namespace suiro::routes_test
