// File pointers, views and consistency of an open file on several ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <map>
#include <thread>

#include "file_fixture.h"

namespace suiro::file_test {
namespace {

class PointersTest : public FileTest {};
SUIRO_ON_RANKS(PointersTest, 1, 2, 4);
class SeveralRanksTest : public FileTest {};
SUIRO_ON_RANKS(SeveralRanksTest, 2, 4);

std::string record(int rank, int number) {
  char text[20];
  std::snprintf(text, sizeof text, "r%03dn%05d|", rank, number);
  return text;  // 11 bytes
}
constexpr int64_t kRecord = 11;

TEST_P(PointersTest, SharedPointerTakesEachRecordOnce) {
  constexpr int kEach = 300;
  with_file(creating(), [](OpenFile& file) {
    for (int i = 0; i < kEach; i++)
      ASSERT_TRUE(write(file, PointerKind::kShared, 0, record(file.comm().rank(), i)).ok());
  });
  std::string all = content();
  ASSERT_EQ(static_cast<int64_t>(all.size()), ranks() * kEach * kRecord);
  std::map<std::string, int> seen;
  std::vector<int> next(static_cast<size_t>(ranks()), 0);
  for (size_t at = 0; at < all.size(); at += kRecord) {
    std::string one = all.substr(at, kRecord);
    seen[one]++;
    // A rank's own records come in the order in which it wrote them.
    auto rank = static_cast<size_t>(std::stoi(one.substr(1, 3)));
    EXPECT_EQ(one, record(static_cast<int>(rank), next[rank]++));
  }
  for (const auto& [one, times] : seen) EXPECT_EQ(times, 1) << one;

  std::mutex mutex;
  std::map<std::string, int> got;
  with_file(reading(), [&](OpenFile& file) {
    for (;;) {
      std::string one = read(file, PointerKind::kShared, 0, kRecord);
      if (one.empty()) break;
      std::lock_guard lock(mutex);
      got[one]++;
    }
  });
  EXPECT_EQ(got, seen);
}

TEST_P(PointersTest, OrderedFollowsTheRanks) {
  with_file(creating(), [](OpenFile& file) {
    int rank = file.comm().rank();
    for (int round = 0; round < 20; round++)  // rank r writes r letters: rank 0 takes part with nothing
      ASSERT_TRUE(
          write(file, PointerKind::kOrdered, 0, std::string(static_cast<size_t>(rank), static_cast<char>('a' + rank)))
              .ok());
  });
  std::string one_round;
  for (int rank = 0; rank < ranks(); rank++)
    one_round += std::string(static_cast<size_t>(rank), static_cast<char>('a' + rank));
  std::string want;
  for (int round = 0; round < 20; round++) want += one_round;
  EXPECT_EQ(content(), want);

  with_file(reading(), [&](OpenFile& file) {
    auto rank = static_cast<size_t>(file.comm().rank());
    for (int round = 0; round < 20; round++)
      ASSERT_EQ(read(file, PointerKind::kOrdered, 0, static_cast<int64_t>(rank)),
                std::string(rank, static_cast<char>('a' + rank)));
    EXPECT_EQ(read(file, PointerKind::kOrdered, 0, 1), "");
  });
}

TEST_P(PointersTest, OrderedGoesOnWithoutABrokenRank) {
  for (int broken_rank = 0; broken_rank < ranks(); broken_rank++) {
    content("");
    with_file(read_write(), [&](OpenFile& file) {
      int rank = file.comm().rank();
      Status broken = rank == broken_rank ? Status(ErrorKind::kType, "not committed") : Status();
      Status status = write(file, PointerKind::kOrdered, 0, std::string(2, static_cast<char>('a' + rank)), broken);
      EXPECT_EQ(status.kind(), broken.kind());
      EXPECT_EQ(status.message(), broken.message());
      // Nor does a rank disturb the others whose bytes are no whole etypes.
      ASSERT_TRUE(file.set_view(view_of(2, 100, 2, 2)).ok());
      status = write(file, PointerKind::kOrdered, 0, rank == broken_rank ? "xxx" : "ok");
      EXPECT_EQ(status.kind(), rank == broken_rank ? ErrorKind::kIo : ErrorKind::kOk);
      file.comm().barrier();
      EXPECT_EQ(*file.shared_position(), ranks() - 1);
      EXPECT_TRUE(file.seek_shared(0, Whence::kSet).ok());
      std::string back = read(file, PointerKind::kOrdered, 0, 2, broken);
      EXPECT_EQ(back, rank == broken_rank ? "<bad datatype>" : "ok");
    });
    std::string want;
    for (int rank = 0; rank < ranks(); rank++) {
      if (rank != broken_rank) want += std::string(2, static_cast<char>('a' + rank));
    }
    EXPECT_EQ(content().substr(0, want.size()), want);
  }
}

TEST_P(PointersTest, SeekShared) {
  content("0123456789");
  with_file(read_write(), [](OpenFile& file) {
    EXPECT_TRUE(file.seek_shared(4, Whence::kSet).ok());
    EXPECT_EQ(*file.shared_position(), 4);
    file.comm().barrier();
    EXPECT_TRUE(file.seek_shared(3, Whence::kCurrent).ok());
    EXPECT_EQ(*file.shared_position(), 7);
    file.comm().barrier();
    EXPECT_TRUE(file.seek_shared(-1, Whence::kEnd).ok());
    EXPECT_EQ(*file.shared_position(), 9);
    file.comm().barrier();
    EXPECT_EQ(file.seek_shared(-1, Whence::kSet).kind(), ErrorKind::kArgument);
    EXPECT_EQ(file.seek_shared(INT64_MIN, Whence::kSet).kind(), ErrorKind::kArgument);
    EXPECT_EQ(file.seek_shared(INT64_MAX, Whence::kEnd).kind(), ErrorKind::kArgument);
    EXPECT_EQ(*file.shared_position(), 9);
    EXPECT_EQ(*file.position(), 0);
  });
}

TEST_P(SeveralRanksTest, CollectiveCallsWithDifferentArgumentsFailOnAllRanks) {
  content("0123456789");
  with_file(read_write(), [&](OpenFile& file) {
    bool last = file.comm().rank() == ranks() - 1;
    EXPECT_EQ(file.seek_shared(last ? 1 : 2, Whence::kSet).kind(), ErrorKind::kNotSame);
    EXPECT_EQ(file.seek_shared(last ? INT64_MIN : 5, Whence::kSet).kind(), ErrorKind::kNotSame);
    EXPECT_EQ(file.seek_shared(1, last ? Whence::kSet : Whence::kEnd).kind(), ErrorKind::kNotSame);
    EXPECT_EQ(
        file.seek_shared(1, Whence::kSet, last ? Status(ErrorKind::kArgument, "no such whence") : Status()).kind(),
        ErrorKind::kArgument);
    EXPECT_EQ(*file.shared_position(), 0);
    EXPECT_EQ(file.set_size(last ? 5 : 6).kind(), ErrorKind::kNotSame);
    EXPECT_EQ(file.preallocate(last ? 50 : 60).kind(), ErrorKind::kNotSame);
    EXPECT_EQ(file.set_atomicity(last).kind(), ErrorKind::kNotSame);
    EXPECT_FALSE(file.atomicity());
  });
  EXPECT_EQ(content(), "0123456789");
}

TEST_P(PointersTest, SetSizeAndPreallocate) {
  content("0123456789");
  with_file(read_write(), [](OpenFile& file) {
    EXPECT_TRUE(file.set_size(4).ok());
    EXPECT_EQ(*file.size(), 4);
    file.comm().barrier();
    EXPECT_TRUE(file.preallocate(6).ok());
    EXPECT_EQ(*file.size(), 6);
    file.comm().barrier();
    EXPECT_TRUE(file.preallocate(2).ok());
    EXPECT_EQ(*file.size(), 6);
    EXPECT_EQ(file.set_size(-1).kind(), ErrorKind::kArgument);
    EXPECT_EQ(file.preallocate(-1).kind(), ErrorKind::kArgument);
  });
  EXPECT_EQ(content(), std::string("0123\0\0", 6));
}

TEST_P(SeveralRanksTest, ARankAheadByViewsDoesNotDisturbTheOthers) {
  content(std::string(1000, '.'));
  with_file(read_write(), [&](OpenFile& file) {
    bool ahead = file.comm().rank() == 0;
    EXPECT_TRUE(file.set_view(view_of(1, 100, 1, 1)).ok());
    if (ahead) {
      for (int i = 0; i < 10; i++) {
        ASSERT_TRUE(file.set_view(view_of(1, 500, 1, 1)).ok());
        ASSERT_TRUE(write(file, PointerKind::kShared, 0, "ahead").ok());
        EXPECT_EQ(*file.shared_position(), 5);
      }
    }
    file.comm().barrier();
    if (!ahead) {
      ASSERT_TRUE(write(file, PointerKind::kShared, 0, "behind").ok());
    }
    file.comm().barrier();
    if (!ahead) {
      EXPECT_EQ(*file.shared_position(), 6 * (ranks() - 1));
      for (int i = 0; i < 10; i++) ASSERT_TRUE(file.set_view(view_of(1, 500, 1, 1)).ok());
      EXPECT_EQ(*file.shared_position(), 5);  // now where the first rank is
    }
  });
  std::string all = content();
  std::string want;
  for (int rank = 1; rank < ranks(); rank++) want += "behind";
  EXPECT_EQ(all.substr(100, want.size() + 1), want + ".");
  EXPECT_EQ(all.substr(500, 6), "ahead.");
}

TEST_P(SeveralRanksTest, TooManyViewsAheadIsAnErrorNotAWrongPlace) {
  content(std::string(100, '.'));
  with_file(read_write(), [&](OpenFile& file) {
    bool ahead = file.comm().rank() == 0;
    if (ahead) {
      for (int i = 0; i < SharedState::kSlots; i++) ASSERT_TRUE(file.set_view(view_of(1, 50, 1, 1)).ok());
      EXPECT_TRUE(write(file, PointerKind::kShared, 0, "ahead").ok());
    }
    file.comm().barrier();
    if (!ahead) {
      EXPECT_EQ(write(file, PointerKind::kShared, 0, "behind").kind(), ErrorKind::kOther);
      EXPECT_EQ(file.shared_position().status().kind(), ErrorKind::kOther);
      EXPECT_TRUE(write(file, PointerKind::kExplicit, 0, "explicit").ok());
    }
    file.comm().barrier();
    // An ordered call, in which the last rank moves the pointer for all, fails on all of them.
    EXPECT_EQ(write(file, PointerKind::kOrdered, 0, "x").kind(), ErrorKind::kOther);
  });
  EXPECT_EQ(content().substr(0, 10), "explicit..");
  EXPECT_EQ(content().substr(50, 6), "ahead.");
}

TEST_P(PointersTest, AtomicAccessesAreAllOrNothing) {
  // Each rank writes the same scattered bytes over and over, all of one letter; a reader must never see two letters.
  constexpr int64_t kBlocks = 400;
  content(std::string(static_cast<size_t>(kBlocks * 100), '.'));
  with_file(read_write(), [&](OpenFile& file) {
    ASSERT_TRUE(file.set_atomicity(true).ok());
    EXPECT_TRUE(file.atomicity());
    ASSERT_TRUE(file.set_view(view_of(1, 7, 33, 100)).ok());
    for (int round = 0; round < 60; round++) {
      auto letter = static_cast<char>('A' + (file.comm().rank() * 7 + round) % 26);
      ASSERT_TRUE(write(file, PointerKind::kExplicit, 0, std::string(33 * kBlocks, letter)).ok());
      std::string seen = read(file, PointerKind::kExplicit, 0, 33 * kBlocks);
      ASSERT_EQ(seen.size(), 33u * kBlocks);
      ASSERT_EQ(seen.find_first_not_of(seen[0]), std::string::npos) << "round " << round;
      ASSERT_NE(seen[0], '.');
    }
    EXPECT_TRUE(file.set_atomicity(false).ok());
  });
  std::string all = content();
  for (size_t i = 0; i < all.size(); i++) {
    bool ours = i % 100 >= 7 && i % 100 < 40;
    ASSERT_EQ(all[i] == '.', !ours) << i;
  }
}

TEST_P(PointersTest, IndividualPointersAndSeek) {
  content("");
  with_file(read_write(), [&](OpenFile& file) {
    int rank = file.comm().rank();
    // Each rank sees its own columns.
    ASSERT_TRUE(file.set_view(view_of(2, 4 * rank, 4, 4 * ranks())).ok());
    EXPECT_EQ(*file.position(), 0);
    EXPECT_TRUE(write(file, PointerKind::kIndividual, 0, std::string(6, static_cast<char>('a' + rank))).ok());
    EXPECT_EQ(*file.position(), 3);
    EXPECT_TRUE(write(file, PointerKind::kIndividual, 0, std::string(2, static_cast<char>('A' + rank))).ok());
    EXPECT_TRUE(write(file, PointerKind::kExplicit, 4, std::string(4, static_cast<char>('0' + rank))).ok());
    EXPECT_EQ(*file.position(), 4);
    EXPECT_EQ(*file.byte_offset(3), 4 * rank + 4 * ranks() + 2);
    file.comm().barrier();
    EXPECT_TRUE(file.seek(-1, Whence::kCurrent).ok());
    EXPECT_EQ(*file.position(), 3);
    EXPECT_TRUE(file.seek(-2, Whence::kEnd).ok());
    EXPECT_EQ(*file.position(), 4);
    EXPECT_EQ(read(file, PointerKind::kIndividual, 0, 100), std::string(4, static_cast<char>('0' + rank)));
    EXPECT_EQ(*file.position(), 6);
    EXPECT_EQ(file.seek(-1, Whence::kSet).kind(), ErrorKind::kArgument);
    EXPECT_EQ(file.seek(INT64_MAX, Whence::kCurrent).kind(), ErrorKind::kArgument);
    EXPECT_EQ(*file.position(), 6);
  });
  std::string want;
  for (int line = 0; line < 3; line++) {
    for (int rank = 0; rank < ranks(); rank++) {
      auto low = static_cast<char>('a' + rank), up = static_cast<char>('A' + rank),
           digit = static_cast<char>('0' + rank);
      want += line == 0   ? std::string(4, low)
              : line == 1 ? std::string(2, low) + std::string(2, up)
                          : std::string(4, digit);
    }
  }
  EXPECT_EQ(content(), want);
}

TEST_P(PointersTest, AShortReadLeavesThePointerBehindTheLastEtype) {
  content("0123456789abcdefghij");  // 20 bytes: two etypes of 8 and a half
  with_file(reading(), [](OpenFile& file) {
    ASSERT_TRUE(file.set_view(view_of(8, 0, 8, 8)).ok());
    EXPECT_EQ(read(file, PointerKind::kIndividual, 0, 32), "0123456789abcdefghij");
    EXPECT_EQ(*file.position(), 2);
    EXPECT_EQ(read(file, PointerKind::kIndividual, 0, 8), "ghij");
    EXPECT_EQ(*file.position(), 2);
    EXPECT_TRUE(file.seek(5, Whence::kSet).ok());
    EXPECT_EQ(read(file, PointerKind::kIndividual, 0, 8), "");
    EXPECT_EQ(*file.position(), 5);
    EXPECT_EQ(read(file, PointerKind::kIndividual, 0, 5), "<input/output error>");
    EXPECT_EQ(*file.position(), 5);
  });
}

TEST_P(PointersTest, BadOffsetsAndViewsAreErrors) {
  content("0123456789");
  with_file(read_write(), [](OpenFile& file) {
    EXPECT_EQ(read(file, PointerKind::kExplicit, -1, 1), "<bad argument>");
    EXPECT_EQ(read(file, PointerKind::kExplicit, INT64_MAX, 2), "<bad argument>");
    EXPECT_EQ(write(file, PointerKind::kExplicit, -1, "x").kind(), ErrorKind::kArgument);
    EXPECT_EQ(file.byte_offset(-1).status().kind(), ErrorKind::kArgument);
    EXPECT_EQ(file.set_view(view_of(1, -1, 1, 1)).kind(), ErrorKind::kArgument);
    EXPECT_EQ(read(file, PointerKind::kExplicit, 0, 3), "012");  // the old view is still there
    ASSERT_TRUE(file.set_view(view_of(1, 0, 0, 8)).ok());
    EXPECT_EQ(read(file, PointerKind::kExplicit, 0, 1), "<bad argument>");
    EXPECT_EQ(read(file, PointerKind::kExplicit, 0, 0), "");
    ASSERT_TRUE(file.set_view(view_of(1, INT64_MAX - 10, 4, 8)).ok());
    EXPECT_EQ(read(file, PointerKind::kExplicit, 0, 100), "<bad argument>");
  });
  EXPECT_EQ(content(), "0123456789");
}

TEST_P(PointersTest, ThreadsOfARankShareItsPointers) {
  constexpr int kEach = 200;
  constexpr int kThreads = 3;
  run_ranks(ranks(), [&](std::unique_ptr<Comm> comm) {
    int rank = comm->rank();
    auto file = OpenFile::Open(std::move(comm), creating(), settings(path_), true);
    ASSERT_TRUE(file.ok());
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; thread++) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < kEach; i++)
          EXPECT_TRUE(write(**file, PointerKind::kShared, 0, record(rank * kThreads + thread, i)).ok());
      });
    }
    for (auto& thread : threads) thread.join();
    (*file)->comm().barrier();
    // Now every thread takes records with the rank's own pointer: each of them once.
    std::atomic<int64_t> taken{0};
    threads.clear();
    for (int thread = 0; thread < kThreads; thread++) {
      threads.emplace_back([&] {
        while (static_cast<int64_t>(read(**file, PointerKind::kIndividual, 0, kRecord).size()) == kRecord) taken++;
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(taken, ranks() * kThreads * kEach);
    EXPECT_TRUE((*file)->close().ok());
  });
  std::string all = content();
  std::map<std::string, int> seen;
  for (size_t at = 0; at + kRecord <= all.size(); at += kRecord) seen[all.substr(at, kRecord)]++;
  EXPECT_EQ(static_cast<int>(seen.size()), ranks() * kThreads * kEach);
}

}  // namespace
}  // namespace suiro::file_test
