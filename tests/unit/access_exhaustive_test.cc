// All patterns that can be built of small numbers, three levels deep: every combination of short blocks, counts from
// zero, negative, zero and overlapping strides, empty blocks, tilings that touch, overlap and run backwards.
#include <gtest/gtest.h>

#include <map>

#include "access_reference.h"

namespace suiro::access_test {
namespace {

/// Checks one description with everything, in tilings of several extents.
std::string check_all(const Spec& spec) {
  auto pattern = build(spec);
  if (!pattern.ok()) return "cannot be built: " + std::string(pattern.status().message());
  Offsets offsets = expand(spec);
  if (auto wrong = check_pattern(*pattern, offsets); !wrong.empty()) return wrong;
  if (offsets.empty()) return "";
  auto size = static_cast<int64_t>(offsets.size());
  int64_t span = pattern->upper() - pattern->lower();
  for (int64_t extent : {span, span + 1, span - 1, int64_t{0}, int64_t{-2}}) {
    Tiling tiling{*pattern, 5, extent};
    // From every start in the first tile to the middle of the third.
    int64_t end = 2 * size + (size + 1) / 2;
    for (int64_t begin = 0; begin <= size; begin += 1 + size / 4) {
      Offsets want = tile(offsets, 5, extent, begin, end);
      std::string wrong = check_tiling(tiling, begin, end, want);
      for (int64_t limit : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{7}, INT64_MAX}) {
        if (wrong.empty()) wrong = check_cursor(tiling, begin, end, want, limit);
      }
      if (wrong.empty() && begin == 0) wrong = check_copies(tiling, begin, end, want);
      if (!wrong.empty()) {
        return "extent " + std::to_string(extent) + ", data [" + std::to_string(begin) + ", " + std::to_string(end) +
               "): " + wrong;
      }
    }
  }
  return "";
}

/// Descriptions one level above `children`, with small parameters.
std::vector<Spec> next_level(const std::vector<Spec>& children, bool thorough) {
  std::vector<Spec> specs;
  std::vector<int64_t> strides =
      thorough ? std::vector<int64_t>{-3, -1, 0, 1, 2, 3, 4} : std::vector<int64_t>{-4, 2, 6};
  for (const Spec& child : children) {
    for (int64_t stride : strides) {
      for (int64_t count : {0, 2, 3}) specs.push_back(repeat(count, stride, child));
      for (int64_t second : {-2, 1, 2, 5}) {
        specs.push_back(indexed({1}, {1, 1 + second, 7}, stride, child));
        specs.push_back(indexed({2, 1}, {0, second}, stride, child));
        if (thorough) specs.push_back(indexed({1, 0, 2}, {0, 3, second}, stride, child));
      }
    }
    specs.push_back(shift(-3, child));
  }
  for (size_t i = 0; i < children.size(); ++i) {
    for (size_t j = 0; j < children.size(); ++j) {
      if (!thorough && (7 * i + j) % 29 != 0) continue;
      for (int64_t second : {-2, 1, 2, 4}) specs.push_back(concat({0, second}, {children[i], children[j]}));
    }
  }
  return specs;
}

/// One description for each distinct pattern, none of more than `max_size` bytes.
std::vector<Spec> distinct(const std::vector<Spec>& specs, int64_t max_size) {
  std::map<std::string, const Spec*> seen;
  for (const Spec& spec : specs) {
    auto pattern = build(spec);
    if (pattern.ok() && pattern->size() <= max_size) seen.emplace(pattern->describe(), &spec);
  }
  std::vector<Spec> kept;
  kept.reserve(seen.size());
  for (auto& [text, spec] : seen) kept.push_back(*spec);
  return kept;
}

/// Checks all; stops at the first wrong one, which is among the simplest.
void expect_all_right(const std::vector<Spec>& specs) {
  for (const Spec& spec : specs) {
    std::string wrong = check_all(spec);
    ASSERT_EQ(wrong, "") << to_string(spec) << " = " << build(spec)->describe();
  }
  testing::Test::RecordProperty("patterns", static_cast<int>(specs.size()));
}

std::vector<Spec> leaves() { return {bytes(0), bytes(1), bytes(2), bytes(3)}; }

TEST(AccessExhaustive, OneLevel) {
  auto specs = next_level(leaves(), true);
  ASSERT_GT(specs.size(), 400u);
  expect_all_right(specs);
}

TEST(AccessExhaustive, TwoLevels) {
  auto specs = next_level(distinct(next_level(leaves(), true), 6), false);
  ASSERT_GT(specs.size(), 5000u);
  expect_all_right(specs);
}

TEST(AccessExhaustive, ThreeLevels) {
  auto first = distinct(next_level({bytes(1), bytes(2)}, false), 4);
  auto second = distinct(next_level(first, false), 8);
  // A sample spread evenly over the second level keeps the time of the third in bounds.
  std::vector<Spec> sample;
  for (size_t i = 0; i < second.size(); i += 1 + second.size() / 150) sample.push_back(second[i]);
  auto specs = next_level(sample, false);
  ASSERT_GT(specs.size(), 5000u);
  expect_all_right(specs);
}

}  // namespace
}  // namespace suiro::access_test
