// The plan of a non-contiguous access: every byte once, in data order, within the limits.
#include <gtest/gtest.h>

#include "routes/direct/piece_batch.h"
#include "routes_reference.h"

namespace suiro::routes_test {
namespace {

/// What of the whole plan is wrong, given the positions of the data bytes in order; counts the batches.
std::string check_plan(const Tiling& tiling, int64_t begin, int64_t size, const BatchLimits& limits,
                       const Offsets& want, int* batches = nullptr) {
  BatchPlanner planner(tiling, begin, size, limits);
  PieceBatch batch;
  size_t at = 0;
  int number = 0;
  for (; planner.next(&batch); number++) {
    std::string here = "batch " + std::to_string(number) + ": ";
    if (batch.count < 1 || batch.count > PieceBatch::kMostRuns) return here + "number of runs";
    if (batch.one_by_one && batch.count != 1) return here + "several runs one by one";
    int64_t bytes = 0, pieces = 0, previous_end = -1;
    for (int i = 0; i < batch.count; i++) {
      const Run& run = batch.runs[static_cast<size_t>(i)];
      if (run.count < 1 || run.length < 1) return here + "empty run";
      for (int64_t piece = 0; piece < run.count; piece++) {
        int64_t start = run.offset + piece * run.stride;
        if (!batch.one_by_one) {
          bool first = i == 0 && piece == 0;
          if (first && start != batch.start) return here + "does not start where it says";
          if (!first && start < previous_end) return here + "pieces descend or overlap";
          int64_t widest = piece > 0 ? std::max(limits.largest_gap, run.length) : limits.largest_gap;
          if (!first && start - previous_end > widest) return here + "gap of " + std::to_string(start - previous_end);
          if (run.length >= limits.longest_piece) return here + "piece of " + std::to_string(run.length);
        }
        previous_end = start + run.length;
        for (int64_t j = 0; j < run.length; j++, at++) {
          if (at == want.size()) return here + "more bytes than there are";
          if (want[at] != start + j) return here + access_test::differ("position", start + j, want[at]);
        }
      }
      bytes += run.bytes();
      pieces += run.count;
    }
    if (bytes != batch.bytes || pieces != batch.pieces) return here + "sums are wrong";
    if (!batch.one_by_one && batch.end != previous_end) return here + "does not end where it says";
    if (!batch.one_by_one && batch.end - batch.start > limits.window) return here + "window too large";
  }
  if (at != want.size()) return access_test::differ("bytes planned", at, want.size());
  if (batches != nullptr) *batches = number;
  return "";
}

constexpr int64_t kLong = int64_t{1} << 40;

TEST(BatchPlanner, NothingForNothing) {
  BatchPlanner planner(Tiling{Pattern::Bytes(4), 0, 8}, 5, 0, BatchLimits{100, 10, 10});
  PieceBatch batch;
  EXPECT_FALSE(planner.next(&batch));
  EXPECT_FALSE(planner.next(&batch));
}

TEST(BatchPlanner, FillsEveryWindow) {
  Layout view(access_test::repeat(1000, 16, access_test::bytes(8)), 0, 0);
  int batches = 0;
  EXPECT_EQ(check_plan(view.tiling, 0, 8000, BatchLimits{4096, 64, kLong}, view.positions(0, 8000), &batches), "");
  EXPECT_EQ(batches, 4);  // 256 pieces each
  EXPECT_EQ(check_plan(view.tiling, 0, 8000, BatchLimits{1 << 20, 64, kLong}, view.positions(0, 8000), &batches), "");
  EXPECT_EQ(batches, 1);
}

TEST(BatchPlanner, WithoutAWindowEveryRunGoesAlone) {
  Layout view(access_test::repeat(10, 16, access_test::bytes(8)), 3, 5);
  BatchPlanner planner(view.tiling, 0, 80, BatchLimits{0, 1000, kLong});
  PieceBatch batch;
  ASSERT_TRUE(planner.next(&batch));
  EXPECT_TRUE(batch.one_by_one);
  EXPECT_EQ(batch.bytes, 80);
  EXPECT_FALSE(planner.next(&batch));
}

TEST(BatchPlanner, AWideGapEndsABatch) {
  Layout view(access_test::indexed({1}, {0, 20, 200, 220}, 10, access_test::bytes(10)), 0, 0);
  int batches = 0;
  EXPECT_EQ(check_plan(view.tiling, 0, 40, BatchLimits{1000, 100, kLong}, view.positions(0, 40), &batches), "");
  EXPECT_EQ(batches, 2);
  EXPECT_EQ(check_plan(view.tiling, 0, 40, BatchLimits{1000, 1000, kLong}, view.positions(0, 40), &batches), "");
  EXPECT_EQ(batches, 1);
}

TEST(BatchPlanner, ALongPieceGoesAloneBetweenShortOnes) {
  Layout view(access_test::concat({0, 8, 200}, {access_test::bytes(4), access_test::bytes(100), access_test::bytes(4)}),
              0, 0);
  BatchPlanner planner(view.tiling, 0, 108, BatchLimits{1000, 1000, 50});
  PieceBatch batch;
  ASSERT_TRUE(planner.next(&batch));
  EXPECT_EQ(batch.bytes, 4);
  ASSERT_TRUE(planner.next(&batch));
  EXPECT_TRUE(batch.one_by_one);
  EXPECT_EQ(batch.bytes, 100);
  ASSERT_TRUE(planner.next(&batch));
  EXPECT_EQ(batch.bytes, 4);
  EXPECT_FALSE(planner.next(&batch));
}

TEST(BatchPlanner, OverlapAndDescentKeepDataOrder) {
  for (const auto& spec :
       {access_test::indexed({1}, {0, 5, 2, 100, 50}, 10, access_test::bytes(10)),
        access_test::repeat(20, 4, access_test::bytes(10)), access_test::repeat(20, -16, access_test::bytes(10)),
        access_test::repeat(5, 0, access_test::bytes(3))}) {
    Layout view(spec, 500, 7);
    auto size = static_cast<int64_t>(3 * view.offsets.size());
    for (int64_t window : {0, 1, 10, 64, 5000})
      EXPECT_EQ(check_plan(view.tiling, 1, size - 2, BatchLimits{window, 20, kLong}, view.positions(1, size - 2)), "")
          << view.describe() << " window " << window;
  }
}

TEST(BatchPlanner, MoreRunsThanABatchHolds) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < 3 * PieceBatch::kMostRuns; i++) places.push_back(i * 10 + i * i % 3);
  Layout view(access_test::indexed({1}, places, 4, access_test::bytes(4)), 0, 0);
  auto size = static_cast<int64_t>(view.offsets.size());
  EXPECT_EQ(check_plan(view.tiling, 0, size, BatchLimits{1 << 20, 1 << 20, kLong}, view.positions(0, size)), "");
}

TEST(BatchPlanner, RandomViewsAndLimits) {
  uint64_t seed = number_from_environment("SUIRO_TEST_SEED", 20261120);
  uint64_t rounds = number_from_environment("SUIRO_TEST_ROUNDS", 3000);
  LayoutGenerator generator(seed);
  for (uint64_t round = 0; round < rounds; round++) {
    Layout view = generator.ascending(static_cast<int>(generator.between(0, 4)), generator.between(1, 3000));
    auto tile = static_cast<int64_t>(view.offsets.size());
    int64_t begin = generator.between(0, 2 * tile);
    int64_t size = generator.between(0, std::max<int64_t>(1, std::min<int64_t>(3 * tile, 5000)));
    BatchLimits limits{generator.one_of<int64_t>({0, 1, 7, 64, 500, 4096, 1 << 20}),
                       generator.one_of<int64_t>({0, 1, 30, 4096}),
                       generator.one_of<int64_t>({1, 8, 100, 4096, kLong})};
    ASSERT_EQ(check_plan(view.tiling, begin, size, limits, view.positions(begin, size)), "")
        << "seed " << seed << " round " << round << ": " << view.describe() << " begin " << begin << " size " << size
        << " limits " << limits.window << " " << limits.largest_gap << " " << limits.longest_piece;
  }
}

// The canary: each part of the check finds what it is there for.
TEST(BatchPlanner, TheCheckFindsFaults) {
  Layout view(access_test::repeat(10, 16, access_test::bytes(8)), 0, 0);
  Offsets want = view.positions(0, 80);
  BatchLimits limits{4096, 64, kLong};
  EXPECT_EQ(check_plan(view.tiling, 0, 80, limits, want), "");
  Offsets other = want;
  std::swap(other[3], other[50]);
  EXPECT_NE(check_plan(view.tiling, 0, 80, limits, other), "");
  other = want;
  other.pop_back();
  EXPECT_NE(check_plan(view.tiling, 0, 80, limits, other), "");
  other = want;
  other.push_back(160);
  EXPECT_NE(check_plan(view.tiling, 0, 80, limits, other), "");
}

}  // namespace
}  // namespace suiro::routes_test
