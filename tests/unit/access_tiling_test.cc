#include <gtest/gtest.h>

#include <chrono>

#include "access/shape.h"
#include "access/tiling.h"
#include "access_reference.h"

namespace suiro {

// GoogleTest prints runs with this.
void PrintTo(const Run& run, std::ostream* out) {
  *out << "{" << run.offset << ", " << run.length << ", " << run.stride << ", " << run.count << "}";
}

namespace access_test {
namespace {

using Runs = std::vector<Run>;

Runs runs_of(const Tiling& tiling, int64_t begin, int64_t end, int64_t limit = INT64_MAX) {
  Runs runs;
  Cursor cursor(tiling, begin, end);
  for (Run run; cursor.next(limit, &run);) runs.push_back(run);
  return runs;
}

Pattern pattern_of(const Spec& spec) { return *build(spec); }

TEST(Cursor, ContiguousTilingIsOnePiece) {
  Tiling tiling{Pattern::Bytes(8), 100, 8};
  EXPECT_TRUE(tiling.is_contiguous());
  EXPECT_EQ(runs_of(tiling, 3, 4000), (Runs{{103, 3997, 0, 1}}));
  EXPECT_EQ(runs_of(tiling, 0, 10, 4), (Runs{{100, 4, 0, 1}, {104, 4, 0, 1}, {108, 2, 0, 1}}));
  EXPECT_EQ(runs_of(tiling, 5, 5), Runs{});
  EXPECT_EQ(runs_of(Tiling{Pattern(), 0, 8}, 0, 100), Runs{});
}

TEST(Cursor, VectorIsOneRun) {
  Tiling tiling{pattern_of(repeat(1000, 16, bytes(8))), 0, 20000};
  EXPECT_EQ(runs_of(tiling, 0, 8000), (Runs{{0, 8, 16, 1000}}));
  EXPECT_EQ(runs_of(tiling, 4, 20), (Runs{{4, 4, 0, 1}, {16, 8, 0, 1}, {32, 4, 0, 1}}));
}

TEST(Cursor, SmallTilesAreOneRunAcrossTiles) {
  Tiling tiling{Pattern::Bytes(8), 32, 16};
  EXPECT_FALSE(tiling.is_contiguous());
  EXPECT_EQ(runs_of(tiling, 0, int64_t{8} << 40), (Runs{{32, 8, 16, int64_t{1} << 40}}));
  EXPECT_EQ(runs_of(tiling, 8, 26), (Runs{{48, 8, 16, 2}, {80, 2, 0, 1}}));
  // A vector whose own stride goes on from tile to tile.
  Tiling vector{pattern_of(repeat(4, 16, bytes(8))), 0, 64};
  EXPECT_EQ(runs_of(vector, 8, 808), (Runs{{16, 8, 16, 100}}));
}

TEST(Cursor, LimitCutsPiecesAndResumes) {
  Tiling tiling{Pattern::Bytes(8), 0, 16};
  EXPECT_EQ(runs_of(tiling, 0, 32, 20), (Runs{{0, 8, 16, 2}, {32, 8, 16, 2}}));
  EXPECT_EQ(runs_of(tiling, 0, 16, 5), (Runs{{0, 5, 0, 1}, {5, 3, 0, 1}, {16, 5, 0, 1}, {21, 3, 0, 1}}));
}

TEST(Cursor, JoinsAcrossPartsAndTiles) {
  // Ends at the tile's end and starts at its beginning.
  Tiling tiling{pattern_of(concat({0, 16}, {bytes(8), bytes(8)})), 0, 24};
  EXPECT_EQ(runs_of(tiling, 0, 64), (Runs{{0, 8, 0, 1}, {16, 16, 24, 3}, {88, 8, 0, 1}}));
  // The last piece of a vector touches the block behind it.
  Tiling structure{pattern_of(concat({0, 40}, {repeat(3, 16, bytes(8)), bytes(4)})), 0, 100};
  EXPECT_EQ(runs_of(structure, 0, 28), (Runs{{0, 8, 16, 2}, {32, 12, 0, 1}}));
  EXPECT_EQ(runs_of(structure, 0, 28, 10), (Runs{{0, 8, 0, 1}, {16, 8, 0, 1}, {32, 10, 0, 1}, {42, 2, 0, 1}}));
}

TEST(Cursor, EqualPiecesOfAListComeInOneRun) {
  Tiling tiling{pattern_of(indexed({1}, {0, 20, 40, 60, 99, 119, 130}, 4, bytes(4))), 0, 200};
  EXPECT_EQ(runs_of(tiling, 0, 28), (Runs{{0, 4, 20, 4}, {99, 4, 20, 2}, {130, 4, 0, 1}}));
}

TEST(Cursor, SeeksWithoutWalking) {
  // 1e9 pieces per tile, nested so that they do not collapse, and a million tiles.
  Pattern nest = pattern_of(repeat(1000000, 100000, repeat(1000, 40, bytes(8))));
  Tiling tiling{nest, 7, int64_t{200000} * 1000000};
  auto start = std::chrono::steady_clock::now();
  constexpr int kSeeks = 100000;
  for (int i = 0; i < kSeeks; ++i) {
    int64_t begin = nest.size() * 999 + int64_t{79999} * i;
    auto want = tiling.offset_of(begin);
    ASSERT_TRUE(want.ok());
    Cursor cursor(tiling, begin, begin + 1000000);
    suiro::Run run;
    ASSERT_TRUE(cursor.next(&run));
    ASSERT_EQ(run.offset, *want);
    ASSERT_EQ(tiling.data_below(*want), begin);
  }
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), 5.0) << "50 us per seek would be walking";
}

TEST(Cursor, DeeperThanItsFrames) {
  Spec spec = repeat(2, 3, bytes(2));
  int64_t distance = 8;
  for (int i = 0; i < 7; ++i) {
    // The block comes first, so that every tile ends at the deepest level.
    spec = concat({0, 4}, {bytes(1 + i % 3), spec});
    spec = i == 3 ? indexed({1, 2}, {0, 3 * distance}, distance + 5, spec) : repeat(2, distance + 5, spec);
    distance = 4 * distance;
  }
  Pattern pattern = pattern_of(spec);
  ASSERT_GT(access_internal::Inside::shape(pattern)->depth, 12) << "it has collapsed: " << pattern.describe();
  Offsets offsets = expand(spec);
  ASSERT_EQ(check_pattern(pattern, offsets), "");
  auto size = static_cast<int64_t>(offsets.size());
  Tiling tiling{pattern, 0, 2 * distance};
  for (int64_t begin = 0; begin < size; begin += 1 + size / 50) {
    Offsets want = tile(offsets, 0, 2 * distance, begin, 2 * size);
    EXPECT_EQ(check_cursor(tiling, begin, 2 * size, want, INT64_MAX), "");
    EXPECT_EQ(check_cursor(tiling, begin, 2 * size, want, 5), "");
  }
}

TEST(Tiling, PositionsBeyond64BitsAreErrors) {
  Tiling tiling{Pattern::Bytes(8), 0, INT64_MAX / 4};
  EXPECT_TRUE(tiling.offset_of(32).ok());
  EXPECT_EQ(tiling.offset_of(40).status().kind(), ErrorKind::kArgument);
  EXPECT_EQ(tiling.offset_of(-1).status().kind(), ErrorKind::kArgument);
  EXPECT_EQ((Tiling{Pattern(), 0, 8}).offset_of(0).status().kind(), ErrorKind::kArgument);
  EXPECT_TRUE(tiling.bounds(0, 32).ok());
  EXPECT_EQ(tiling.bounds(0, 48).status().kind(), ErrorKind::kArgument);
  EXPECT_EQ((Tiling{Pattern::Bytes(8), INT64_MIN, INT64_MAX}).bounds(0, 16).status().kind(), ErrorKind::kArgument);
}

TEST(Tiling, DataBelowAnyLimit) {
  Tiling tiling{pattern_of(shift(4, repeat(2, 8, bytes(4)))), 100, 32};
  ASSERT_TRUE(tiling.is_monotonic());
  Offsets positions = tile(expand(shift(4, repeat(2, 8, bytes(4)))), 100, 32, 0, 80);
  for (int64_t limit = 0; limit < 400; ++limit) {
    int64_t want = std::lower_bound(positions.begin(), positions.end(), limit) - positions.begin();
    ASSERT_EQ(tiling.data_below(limit), want) << limit;
  }
  EXPECT_EQ(tiling.data_below(INT64_MIN), 0);
  Tiling dense{Pattern::Bytes(1), INT64_MIN, 1};
  EXPECT_EQ(dense.data_below(INT64_MAX), INT64_MAX) << "more than INT64_MAX bytes lie below";
}

TEST(Copies, EveryPieceLength) {
  for (int64_t length = 1; length <= 300; ++length) {
    Spec spec = repeat(5, length + 3, bytes(length));
    Tiling tiling{pattern_of(spec), 1, 6 * length + 20};
    int64_t size = 5 * length;
    for (int64_t begin : {int64_t{0}, length / 2, size - 1}) {
      Offsets want = tile(expand(spec), 1, tiling.extent, begin, 2 * size);
      ASSERT_EQ(check_copies(tiling, begin, 2 * size, want), "") << "length " << length << " from " << begin;
    }
  }
}

TEST(Copies, NullOriginAndAbsoluteOffsets) {
  // MPI_BOTTOM: the offsets of the pattern are addresses.
  double values[6] = {0, 1, 2, 3, 4, 5};
  auto address = static_cast<int64_t>(reinterpret_cast<intptr_t>(values));
  Tiling tiling{*Pattern::Shift(address, pattern_of(repeat(3, 16, bytes(8)))), 0, 48};
  double packed[3] = {};
  pack(tiling, nullptr, 0, 24, packed);
  EXPECT_EQ(packed[0], 0.0);
  EXPECT_EQ(packed[1], 2.0);
  EXPECT_EQ(packed[2], 4.0);
  double changed[3] = {10, 12, 14};
  unpack(tiling, nullptr, 0, 24, changed);
  EXPECT_EQ(values[1], 1.0);
  EXPECT_EQ(values[4], 14.0);
}

TEST(Copies, RunsGatherAndScatter) {
  char memory[] = "abcdefghijkl";
  char packed[7] = "......";
  gather_run({1, 2, 4, 3}, memory, packed);
  EXPECT_STREQ(packed, "bcfgjk");
  gather_run({10, 2, -4, 3}, memory, packed);
  EXPECT_STREQ(packed, "klghcd");
  scatter_run({0, 3, 6, 2}, memory, "UVWXYZ");
  EXPECT_STREQ(memory, "UVWdefXYZjkl");
  scatter_run({0, 2, 1, 3}, memory, "123456");
  EXPECT_STREQ(memory, "1356efXYZjkl") << "where pieces overlap, the later one wins";
}

}  // namespace
}  // namespace access_test
}  // namespace suiro
