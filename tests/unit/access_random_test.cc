// Random patterns, tilings, ranges and limits against the reference. SUIRO_TEST_SEED chooses another sequence,
// SUIRO_TEST_ROUNDS a longer run; a failure prints the seed and the description of the pattern.
#include <gtest/gtest.h>

#include <cstdlib>

#include "access_reference.h"

namespace suiro::access_test {
namespace {

uint64_t number_from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  int64_t between(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  bool chance(int percent) { return between(1, 100) <= percent; }

  /// At most `levels` levels and about `budget` bytes.
  Spec spec(int levels, int64_t budget) {
    if (levels == 0 || budget <= 1 || chance(10))
      return bytes(chance(5) ? 0 : between(1, std::clamp<int64_t>(budget, 1, 40)));
    switch (between(0, 5)) {
      case 0:
      case 1: {
        int64_t count = between(chance(5) ? 0 : 1, 6);
        return repeat_of(count, spec(levels - 1, budget / std::max<int64_t>(count, 1)));
      }
      case 2: return shift(between(-100, 100), spec(levels - 1, budget));
      case 3: return list(levels, budget);
      default: return structure(levels, budget);
    }
  }

  /// A nest that does not collapse and may be deeper than the cursor's frames.
  Spec deep(int levels) {
    Spec nest = repeat(2, between(3, 6), bytes(between(1, 4)));
    int64_t distance = 10;
    for (int i = 0; i < levels; ++i) {
      if (i % 2 == 0) {
        if (chance(50)) {
          nest = concat({0, distance + between(0, 4)}, {nest, bytes(between(1, 3))});
        } else {
          nest = concat({0, between(3, 6)}, {bytes(between(1, 3)), nest});
        }
        distance += between(8, 20);
      } else if (chance(50)) {
        nest = repeat(2, distance + between(-3, 3), nest);
        distance *= 2;
      } else {
        nest = indexed({1, 2}, {0, distance + between(0, 3)}, distance + between(-3, 5), nest);
        distance *= 3;
      }
    }
    return nest;
  }

 private:
  /// Strides that make copies touch, repeat regularly, overlap or keep apart.
  int64_t stride_for(const Spec& child) {
    auto pattern = build(child);
    int64_t span = pattern.ok() ? pattern->upper() - pattern->lower() : 1;
    switch (between(0, 5)) {
      case 0: return span;
      case 1: return span + between(1, 20);
      case 2: return pattern.ok() ? pattern->size() : 1;
      case 3: return -span - between(0, 4);
      case 4: return between(-8, 8);
      default: return span * between(1, 3);
    }
  }

  Spec repeat_of(int64_t count, Spec child) {
    int64_t stride = stride_for(child);
    return repeat(count, stride, std::move(child));
  }

  Spec list(int levels, int64_t budget) {
    int64_t blocks = between(1, 8);
    Spec child = spec(levels - 1, budget / (2 * blocks));
    int64_t extent = stride_for(child);
    std::vector<int64_t> lengths, displacements;
    bool equal = chance(40);
    bool ascending = chance(60);
    int64_t at = between(-50, 50);
    for (int64_t i = 0; i < blocks; ++i) {
      int64_t length = chance(10) ? 0 : between(1, 3);
      if (!equal || i == 0) lengths.push_back(length);
      displacements.push_back(ascending ? at : between(-200, 200));
      at += (equal ? lengths[0] : length) * std::max<int64_t>(extent, 0) + (chance(40) ? 0 : between(0, 30));
    }
    return indexed(std::move(lengths), std::move(displacements), extent, std::move(child));
  }

  Spec structure(int levels, int64_t budget) {
    int64_t members = between(1, 6);
    std::vector<int64_t> displacements;
    std::vector<Spec> children;
    bool ascending = chance(60);
    bool alike = chance(30);
    int64_t at = between(-50, 50);
    for (int64_t i = 0; i < members; ++i) {
      children.push_back(alike && i > 0 ? children[0] : spec(levels - 1, budget / members));
      displacements.push_back(ascending ? at : between(-200, 200));
      auto pattern = build(children.back());
      if (pattern.ok()) at += std::max<int64_t>(pattern->upper(), 0) + (chance(50) ? 0 : between(0, 30));
    }
    return concat(std::move(displacements), std::move(children));
  }

  std::mt19937_64 random_;
};

/// One random pattern, tiled and walked in several ways.
std::string check_random(Generator& random, const Spec& spec) {
  auto pattern = build(spec);
  if (!pattern.ok()) return "cannot be built: " + std::string(pattern.status().message());
  Offsets offsets = expand(spec);
  if (auto wrong = check_pattern(*pattern, offsets); !wrong.empty()) return wrong;
  auto size = static_cast<int64_t>(offsets.size());
  if (size == 0) return "";
  int64_t span = pattern->upper() - pattern->lower();
  for (int walk = 0; walk < 6; ++walk) {
    int64_t extents[] = {span, span + random.between(0, 50), size, random.between(-200, 200)};
    Tiling tiling{*pattern, random.between(-1000, 1000), extents[random.between(0, 3)]};
    int64_t begin = random.between(0, 3 * size);
    int64_t end = begin + random.between(0, 3 * size);
    Offsets want = tile(offsets, tiling.origin, tiling.extent, begin, end);
    std::string wrong = check_tiling(tiling, begin, end, want);
    if (wrong.empty()) wrong = check_cursor(tiling, begin, end, want, INT64_MAX);
    int64_t most = random.chance(50) ? 12 : size;
    if (wrong.empty()) wrong = check_cursor(tiling, begin, end, want, [&] { return random.between(1, most); });
    if (wrong.empty()) wrong = check_copies(tiling, begin, end, want);
    if (!wrong.empty()) {
      return "origin " + std::to_string(tiling.origin) + ", extent " + std::to_string(tiling.extent) + ", data [" +
             std::to_string(begin) + ", " + std::to_string(end) + "): " + wrong;
    }
  }
  return "";
}

TEST(AccessRandom, AgreesWithTheReference) {
  uint64_t seed = number_from_environment("SUIRO_TEST_SEED", 20261120);
  uint64_t rounds = number_from_environment("SUIRO_TEST_ROUNDS", 8000);
  for (uint64_t round = 0; round < rounds; ++round) {
    Generator random(seed + round);
    Spec spec = (seed + round) % 10 == 9 ? random.deep(static_cast<int>(random.between(5, 13)))
                                         : random.spec(static_cast<int>(random.between(1, 6)), 600);
    std::string wrong = check_random(random, spec);
    ASSERT_EQ(wrong, "") << "SUIRO_TEST_SEED=" << seed + round << " SUIRO_TEST_ROUNDS=1 (this is round " << round
                         << ")\n"
                         << to_string(spec) << "\n= " << build(spec)->describe();
  }
  RecordProperty("rounds", static_cast<int>(rounds));
}

}  // namespace
}  // namespace suiro::access_test
