// Agreement between ranks, and the Comm over threads with which the tests of higher rooms stand in for MPI.
#include <gtest/gtest.h>

#include <string>

#include "base/comm.h"
#include "thread_comm.h"

namespace suiro {
namespace {

using test::run_ranks;

class AgreeTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, AgreeTest, ::testing::Values(1, 2, 4, 7));

TEST_P(AgreeTest, OkWhenAllAreOk) {
  run_ranks(GetParam(), [](std::unique_ptr<Comm> comm) {
    for (int round = 0; round < 20; round++) EXPECT_TRUE(comm->agree(Status()).ok());
  });
}

TEST_P(AgreeTest, OneFailureFailsAllWithTheSameKind) {
  for (int failing = 0; failing < GetParam(); failing++) {
    run_ranks(GetParam(), [failing](std::unique_ptr<Comm> comm) {
      bool here = comm->rank() == failing;
      Status agreed = comm->agree(here ? Status(ErrorKind::kNoSpace, "disk full here", 28) : Status());
      EXPECT_EQ(agreed.kind(), ErrorKind::kNoSpace);
      if (here) {
        EXPECT_EQ(agreed.message(), "disk full here");
        EXPECT_EQ(agreed.system_errno(), 28);
      } else {
        EXPECT_EQ(agreed.message(), "rank " + std::to_string(failing) + " failed: no space");
        EXPECT_EQ(agreed.system_errno(), 0);
      }
    });
  }
}

TEST_P(AgreeTest, TheLowestFailingRankDecidesTheKindAndEachKeepsItsOwnText) {
  // Every subset of failing ranks.
  for (unsigned failing = 1; failing < (1u << GetParam()); failing++) {
    run_ranks(GetParam(), [failing](std::unique_ptr<Comm> comm) {
      const ErrorKind kinds[] = {ErrorKind::kIo,    ErrorKind::kAccess, ErrorKind::kQuota,  ErrorKind::kAmode,
                                 ErrorKind::kOther, ErrorKind::kCount,  ErrorKind::kBadFile};
      auto rank = static_cast<unsigned>(comm->rank());
      bool here = (failing >> rank & 1) != 0;
      auto lowest = static_cast<unsigned>(__builtin_ctz(failing));
      Status agreed = comm->agree(here ? Status(kinds[rank], "text of rank " + std::to_string(rank)) : Status());
      EXPECT_EQ(agreed.kind(), kinds[lowest]);
      if (here) EXPECT_EQ(agreed.message(), "text of rank " + std::to_string(rank));
      else
        EXPECT_NE(agreed.message().find("rank " + std::to_string(lowest)), std::string_view::npos) << agreed.message();
    });
  }
}

TEST(ThreadComm, CollectivesGiveWhatTheyPromise) {
  run_ranks(4, [](std::unique_ptr<Comm> comm) {
    int64_t rank = comm->rank();
    for (int round = 0; round < 50; round++) {
      int64_t values[2] = {rank, -rank * 10};
      comm->max(values, 2);
      EXPECT_EQ(values[0], 3);
      EXPECT_EQ(values[1], 0);
      int64_t lowest[1] = {rank + round};
      comm->min(lowest, 1);
      EXPECT_EQ(lowest[0], round);
      EXPECT_EQ(comm->exclusive_sum(rank + 1), rank * (rank + 1) / 2);
      int64_t told = comm->rank() == 2 ? round : -1;
      comm->broadcast(&told, sizeof told, 2);
      EXPECT_EQ(told, round);
      comm->barrier();
    }
  });
}

// The canaries: without them a test of "nobody hangs" could pass by chance.
TEST(ThreadCommDeathTest, DifferentCallsAreFound) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(run_ranks(2,
                         [](std::unique_ptr<Comm> comm) {
                           if (comm->rank() == 0) comm->barrier();
                           else (void)comm->exclusive_sum(1);
                         }),
               "while others are in");
}

TEST(ThreadCommDeathTest, ABroadcastOfAnotherSizeIsFound) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(run_ranks(2,
                         [](std::unique_ptr<Comm> comm) {
                           int64_t value = 0;
                           comm->broadcast(&value, comm->rank() == 0 ? 8 : 4, 0);
                         }),
               "another size");
}

}  // namespace
}  // namespace suiro
