#include <gtest/gtest.h>

#include <chrono>

#include "access/pattern.h"
#include "access_reference.h"

namespace suiro::access_test {
namespace {

Pattern made(Result<Pattern> result) {
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? *result : Pattern();
}

Pattern repeated(int64_t count, int64_t stride, const Pattern& child) {
  return made(Pattern::Repeat(count, stride, child));
}

Pattern listed(std::vector<int64_t> lengths, std::vector<int64_t> displacements, int64_t extent, const Pattern& child) {
  return made(Pattern::Indexed(lengths, displacements, extent, child));
}

Pattern joined(std::vector<int64_t> displacements, std::vector<Pattern> children) {
  return made(Pattern::Concat(displacements, children));
}

constexpr int64_t kTiB = int64_t{1} << 40;

TEST(Pattern, EmptyHasNothing) {
  EXPECT_EQ(check_pattern(Pattern(), {}), "");
  EXPECT_EQ(check_pattern(Pattern::Bytes(0), {}), "");
  EXPECT_EQ(check_pattern(repeated(0, 8, Pattern::Bytes(8)), {}), "");
  EXPECT_EQ(check_pattern(repeated(9, 8, Pattern()), {}), "");
  EXPECT_EQ(check_pattern(listed({0, 0}, {0, 8}, 8, Pattern::Bytes(8)), {}), "");
  EXPECT_EQ(check_pattern(joined({3}, {Pattern()}), {}), "");
  EXPECT_EQ(Pattern().describe(), "bytes(0)");
}

TEST(Pattern, JoinsWhatIsAdjacent) {
  EXPECT_EQ(repeated(4, 8, Pattern::Bytes(8)).describe(), "bytes(32)");
  EXPECT_EQ(repeated(1, 99, Pattern::Bytes(8)).describe(), "bytes(8)");
  EXPECT_EQ(repeated(5, 64, repeated(4, 16, Pattern::Bytes(8))).describe(), "repeat(20, 16, bytes(8))");
  EXPECT_EQ(listed({2, 3}, {16, 32}, 8, Pattern::Bytes(8)).describe(), "at(16, bytes(40))");
  EXPECT_EQ(joined({4, 6}, {Pattern::Bytes(2), Pattern::Bytes(3)}).describe(), "at(4, bytes(5))");
  EXPECT_EQ(joined({0, 64}, {repeated(4, 16, Pattern::Bytes(8)), repeated(2, 16, Pattern::Bytes(8))}).describe(),
            "repeat(6, 16, bytes(8))");
  EXPECT_EQ(joined({0, 64}, {repeated(4, 16, Pattern::Bytes(8)), Pattern::Bytes(8)}).describe(),
            "repeat(5, 16, bytes(8))");
}

TEST(Pattern, RegularListsBecomeRepetitions) {
  EXPECT_EQ(listed({1}, {0, 24, 48}, 8, Pattern::Bytes(8)).describe(), "repeat(3, 24, bytes(8))");
  EXPECT_EQ(listed({2, 2, 2}, {8, 4, 0}, 1, Pattern::Bytes(1)).describe(), "at(8, repeat(3, -4, bytes(2)))");
  EXPECT_EQ(listed({1, 0, 1, 1}, {0, 7, 24, 48}, 8, Pattern::Bytes(8)).describe(), "repeat(3, 24, bytes(8))");
  EXPECT_EQ(joined({0, 24, 48}, {Pattern::Bytes(8), Pattern::Bytes(8), Pattern::Bytes(8)}).describe(),
            "repeat(3, 24, bytes(8))");
  // Neighbours join although the given extent of the child would not make them touch.
  EXPECT_EQ(listed({1}, {0, 8, 16, 40}, 16, Pattern::Bytes(8)).describe(), "indexed(0: bytes(24), 40: bytes(8))");
  EXPECT_EQ(
      joined({0, 16, 40, 48}, {Pattern::Bytes(8), Pattern::Bytes(8), Pattern::Bytes(8), Pattern::Bytes(8)}).describe(),
      "indexed(0: bytes(8), 16: bytes(8), 40: bytes(16))");
}

TEST(Pattern, HandMadeCases) {
  for (const Spec& spec : {
           shift(-7, repeat(3, 10, bytes(4))),
           repeat(3, -10, bytes(4)),
           repeat(3, 2, bytes(4)),   // overlapping
           repeat(3, 0, bytes(4)),
           repeat(4, 100, repeat(3, 10, bytes(4))),
           repeat(3, 8, repeat(4, 24, bytes(8))),  // a transposed array
           indexed({3, 1, 2}, {0, 50, 20}, 6, bytes(4)),
           indexed({3, 1, 2}, {0, 50, 120}, 16, repeat(2, 8, bytes(4))),
           concat({8, 0}, {bytes(8), bytes(8)}),
           concat({0, 8, 4}, {bytes(8), bytes(8), bytes(16)}),
           // Touching in data order joins the first two; the third then starts after the start of the joined piece.
           concat({0, 10, 5}, {bytes(10), repeat(2, -3, bytes(2)), bytes(1)}),
           repeat(5, 24, concat({0, 16}, {bytes(8), bytes(8)})),
       }) {
    auto pattern = build(spec);
    ASSERT_TRUE(pattern.ok());
    EXPECT_EQ(check_pattern(*pattern, expand(spec)), "") << to_string(spec);
  }
}

TEST(Pattern, KnowsWhatDoesNotOverlap) {
  EXPECT_TRUE(repeated(3, 8, repeated(4, 24, Pattern::Bytes(8))).is_free_of_overlap());
  EXPECT_TRUE(repeated(3, -8, repeated(4, 24, Pattern::Bytes(8))).is_free_of_overlap());
  EXPECT_FALSE(repeated(4, 8, repeated(4, 24, Pattern::Bytes(8))).is_free_of_overlap());
  EXPECT_FALSE(repeated(2, 0, Pattern::Bytes(8)).is_free_of_overlap());
  EXPECT_TRUE(listed({1}, {20, 0, 40, 10}, 8, Pattern::Bytes(8)).is_free_of_overlap());
  EXPECT_FALSE(listed({1}, {20, 0, 40, 17}, 8, Pattern::Bytes(8)).is_free_of_overlap());
}

TEST(Pattern, MonotonicAndAscendingStartsDiffer) {
  Pattern overlapping = repeated(3, 4, Pattern::Bytes(8));
  EXPECT_TRUE(overlapping.starts_ascend());
  EXPECT_FALSE(overlapping.is_monotonic());
  Pattern descending = repeated(3, -8, Pattern::Bytes(8));
  EXPECT_FALSE(descending.starts_ascend());
}

TEST(Pattern, HugeRegularPatternsCostNothing) {
  // A 1 TiB array of doubles in which every second one is selected, in a 3-D nest that does not collapse.
  Pattern row = repeated(4096, 16, Pattern::Bytes(8));
  Pattern plane = repeated(1024, 1 << 20, row);
  Pattern volume = repeated(1024, int64_t{1} << 30, plane);
  EXPECT_EQ(volume.size(), int64_t{8} * 4096 * 1024 * 1024);
  EXPECT_EQ(volume.upper(), 1023 * ((int64_t{1} << 30) + (1 << 20)) + 4095 * 16 + 8);
  EXPECT_GT(volume.upper(), kTiB / 2);
  EXPECT_LT(volume.memory_bytes(), 1024u);
  EXPECT_TRUE(volume.is_monotonic());
  EXPECT_EQ(volume.offset_of(volume.size() - 1), volume.upper() - 1);
  for (int64_t i = 0; i < 2000; ++i) {
    int64_t data = volume.size() / 2000 * i + i % 8;
    int64_t element = data / 8;
    int64_t want = (element / 4096 / 1024) * (int64_t{1} << 30) + (element / 4096 % 1024) * (1 << 20) +
                   (element % 4096) * 16 + data % 8;
    ASSERT_EQ(volume.offset_of(data), want);
    ASSERT_EQ(volume.data_below(want), data);
  }

  Pattern billion = repeated(1000000000, 1000, Pattern::Bytes(8));
  EXPECT_EQ(billion.size(), 8000000000);
  EXPECT_EQ(billion.offset_of(7999999999), int64_t{999999999} * 1000 + 7);
  EXPECT_EQ(billion.data_below(int64_t{500000000} * 1000 + 3), int64_t{500000000} * 8 + 3);
  EXPECT_LT(billion.memory_bytes(), 1024u);
}

TEST(Pattern, BuildingAndSeekingDoNotDependOnTheCount) {
  auto start = std::chrono::steady_clock::now();
  int64_t sum = 0;
  for (int i = 0; i < 10000; ++i) {
    Pattern huge = repeated(1000000000 + i, 4000, repeated(100, 16, Pattern::Bytes(8)));
    sum += huge.offset_of(huge.size() - 1) - huge.offset_of(huge.size() / 2);
  }
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_GT(sum, 0);
  // 10 us each, 1000 times what a pattern with one node per piece could reach.
  EXPECT_LT(seconds.count(), 5.0);
}

TEST(Pattern, ListsCostAtMost16BytesPerBlock) {
  constexpr int64_t kBlocks = 100000;
  std::mt19937_64 random(7);
  std::vector<int64_t> displacements, lengths;
  int64_t at = 0;
  for (int64_t i = 0; i < kBlocks; ++i) {
    displacements.push_back(at);
    lengths.push_back(1 + static_cast<int64_t>(random() % 3));
    at += 8 * lengths.back() + 8 + static_cast<int64_t>(random() % 3);
  }
  EXPECT_LT(listed({1}, displacements, 8, Pattern::Bytes(8)).memory_bytes(), 8 * kBlocks + 1024);
  EXPECT_LT(listed(lengths, displacements, 8, Pattern::Bytes(8)).memory_bytes(), 16 * kBlocks + 1024);
  EXPECT_LT(listed(lengths, displacements, 12, Pattern::Bytes(8)).memory_bytes(), 16 * kBlocks + 1024);
  std::vector<Pattern> members;
  for (int64_t length : lengths) members.push_back(Pattern::Bytes(8 * length));
  Pattern structure = joined(displacements, members);
  EXPECT_LT(structure.memory_bytes(), 16 * kBlocks + 1024);
  EXPECT_EQ(structure.offset_of(structure.size() - 1), structure.upper() - 1);
  EXPECT_EQ(
      structure.data_below(displacements[kBlocks / 2]), structure.size() - [&] {
        int64_t rest = 0;
        for (int64_t i = kBlocks / 2; i < kBlocks; ++i) rest += 8 * lengths[static_cast<size_t>(i)];
        return rest;
      }());
}

TEST(Pattern, SharedPartsAreNotCopied) {
  // 25 levels of structures of two structures each would be 2^25 parts if they were taken apart.
  Pattern pattern = joined({0, 3, 11}, {Pattern::Bytes(1), Pattern::Bytes(2), Pattern::Bytes(3)});
  int64_t distance = 16;
  for (int i = 0; i < 25; ++i) {
    pattern = joined({0, distance, 3 * distance + 1}, {pattern, pattern, Pattern::Bytes(1)});
    distance *= 4;
  }
  EXPECT_LT(pattern.memory_bytes(), 32768u);
  EXPECT_EQ(pattern.offset_of(pattern.size() - 1), pattern.upper() - 1);
}

TEST(Pattern, RefusesWhatDoesNotFit) {
  Pattern eight = Pattern::Bytes(8);
  EXPECT_EQ(Pattern::Repeat(-1, 8, eight).status().kind(), ErrorKind::kCount);
  EXPECT_EQ(Pattern::Repeat(INT64_MAX / 4, 0, eight).status().kind(), ErrorKind::kCount);
  EXPECT_EQ(Pattern::Repeat(INT64_MAX, INT64_MAX, eight).status().kind(), ErrorKind::kCount);
  EXPECT_EQ(Pattern::Repeat(3, INT64_MAX / 2, eight).status().kind(), ErrorKind::kArgument);
  EXPECT_EQ(Pattern::Repeat(3, INT64_MIN / 2, eight).status().kind(), ErrorKind::kArgument);
  EXPECT_EQ(Pattern::Repeat(2, INT64_MIN, eight).status().kind(), ErrorKind::kArgument);
  EXPECT_EQ(Pattern::Shift(INT64_MAX - 7, eight).status().kind(), ErrorKind::kArgument);
  EXPECT_TRUE(Pattern::Shift(INT64_MAX - 8, eight).ok());
  EXPECT_TRUE(Pattern::Shift(INT64_MIN, eight).ok());

  using Numbers = std::vector<int64_t>;
  auto indexed_kind = [&](Numbers lengths, Numbers displacements, int64_t extent) {
    return Pattern::Indexed(lengths, displacements, extent, eight).status().kind();
  };
  EXPECT_EQ(indexed_kind({1, -1}, {0, 8}, 8), ErrorKind::kCount);
  EXPECT_EQ(indexed_kind({1, 1, 1}, {0, 8}, 8), ErrorKind::kArgument);
  EXPECT_EQ(indexed_kind({1}, {0, INT64_MAX}, 8), ErrorKind::kArgument);
  EXPECT_EQ(indexed_kind({1}, {INT64_MIN, 0}, 8), ErrorKind::kArgument);  // the span does not fit
  EXPECT_EQ(indexed_kind({INT64_MAX}, {0, 8}, INT64_MAX), ErrorKind::kCount);
  EXPECT_EQ(indexed_kind({INT64_MAX / 8, INT64_MAX / 8}, {0, 8}, 0), ErrorKind::kCount);
  EXPECT_EQ(indexed_kind({1}, {INT64_MAX - 8, INT64_MAX - 8, INT64_MAX - 16}, INT64_MAX), ErrorKind::kOk);

  Pattern low = made(Pattern::Shift(INT64_MIN, eight));
  Numbers far = {0, 0};
  Pattern both[] = {low, eight};
  EXPECT_EQ(Pattern::Concat(far, both).status().kind(), ErrorKind::kArgument);
  EXPECT_EQ(Pattern::Concat(Numbers{-1}, std::span(both, 1)).status().kind(), ErrorKind::kArgument);
  EXPECT_EQ(Pattern::Concat(Numbers{1}, both).status().kind(), ErrorKind::kArgument);
  EXPECT_TRUE(Pattern::Concat(Numbers{INT64_MAX, 0}, both).ok());
}

TEST(Pattern, ExtremePositionsAreExact) {
  Pattern top = made(Pattern::Shift(INT64_MAX - 24, repeated(2, 16, Pattern::Bytes(8))));
  EXPECT_EQ(top.upper(), INT64_MAX);
  EXPECT_EQ(top.offset_of(15), INT64_MAX - 1);
  EXPECT_EQ(top.data_below(INT64_MAX), 16);
  EXPECT_EQ(top.data_below(INT64_MAX - 1), 15);
  EXPECT_EQ(top.data_below(INT64_MIN), 0);
  // The parts are further out than the whole: the displacement brings them back.
  Pattern far = made(Pattern::Shift(INT64_MAX - 8, Pattern::Bytes(8)));
  Pattern back = joined({-INT64_MAX, -INT64_MAX + 16}, {far, far});
  EXPECT_EQ(back.describe(), "at(-8, repeat(2, 16, bytes(8)))");
}

TEST(Pattern, RefusesExcessiveNesting) {
  // A chain that grows by one level every few rounds, as far as its parts are not spliced.
  Pattern chain = Pattern::Bytes(1);
  Status limit;
  int levels = 0;
  for (; levels < 20000 && limit.ok(); ++levels) {
    std::vector<Pattern> parts(10, chain);
    std::vector<int64_t> places;
    for (int i = 0; i < 10; ++i) places.push_back(i * i);
    for (int i = 1; i < 10; ++i) parts[static_cast<size_t>(i)] = Pattern::Bytes(1 + i % 2);
    auto next = Pattern::Concat(places, parts);
    if (next.ok()) {
      chain = *next;
    } else {
      limit = next.take_status();
    }
  }
  EXPECT_EQ(limit.kind(), ErrorKind::kType) << limit.message();
  EXPECT_GT(levels, 1000);
  EXPECT_EQ(chain.offset_of(chain.size() - 1), 81 + 1) << "the deepest allowed still works";
}

TEST(Pattern, DescriptionOfALongListIsShort) {
  std::vector<int64_t> displacements;
  for (int64_t i = 0; i < 1000; ++i) displacements.push_back(i * i * 10);
  std::string text = listed({1}, displacements, 8, Pattern::Bytes(8)).describe();
  EXPECT_LT(text.size(), 250u);
  EXPECT_NE(text.find("992 more"), std::string::npos) << text;
}

// The canary: a wrong answer of every kind that the checks are for is found.
TEST(AccessCanary, ChecksFindEveryKindOfMistake) {
  Spec spec = concat({0, 40}, {repeat(3, 10, bytes(4)), bytes(6)});
  Pattern pattern = *build(spec);
  Offsets right = expand(spec);
  ASSERT_EQ(check_pattern(pattern, right), "");

  std::vector<std::pair<const char*, Offsets>> mistakes;
  auto add = [&](const char* what, auto change) {
    Offsets wrong = right;
    change(wrong);
    mistakes.emplace_back(what, wrong);
  };
  add("a byte moved by one inside", [](Offsets& o) { o[5] += 1; });
  add("the last byte moved", [](Offsets& o) { o.back() += 1; });
  add("a byte is missing", [](Offsets& o) { o.pop_back(); });
  add("a byte too many", [](Offsets& o) { o.push_back(99); });
  add("two pieces in the wrong order", [](Offsets& o) { std::rotate(o.begin(), o.begin() + 4, o.begin() + 8); });
  add("two bytes in the wrong order", [](Offsets& o) { std::swap(o[1], o[2]); });
  add("a byte twice", [](Offsets& o) { o[9] = o[8]; });
  for (auto& [what, wrong] : mistakes) EXPECT_NE(check_pattern(pattern, wrong), "") << what;

  auto size = static_cast<int64_t>(right.size());
  Tiling tiling{pattern, 3, 60};
  Offsets want = tile(right, 3, 60, 0, 2 * size);
  ASSERT_EQ(check_cursor(tiling, 0, 2 * size, want, 7), "");
  ASSERT_EQ(check_tiling(tiling, 0, 2 * size, want), "");
  ASSERT_EQ(check_copies(tiling, 0, 2 * size, want), "");
  for (const Tiling& wrong : {Tiling{pattern, 3, 61}, Tiling{pattern, 4, 60}, Tiling{Pattern::Bytes(size), 3, 60}}) {
    EXPECT_NE(check_cursor(wrong, 0, 2 * size, want, INT64_MAX), "");
    EXPECT_NE(check_tiling(wrong, 0, 2 * size, want), "");
    EXPECT_NE(check_copies(wrong, 0, 2 * size, want), "");
  }
  EXPECT_NE(check_cursor(tiling, 0, 2 * size - 1, want, INT64_MAX), "");
  EXPECT_NE(check_cursor(tiling, 1, 2 * size, want, INT64_MAX), "");
}

}  // namespace
}  // namespace suiro::access_test
