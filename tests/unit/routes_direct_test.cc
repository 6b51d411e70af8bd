// The direct route against a plain model of the file, on a disk and in memory, in every combination of its ways of
// moving data. SUIRO_TEST_SEED chooses another sequence, SUIRO_TEST_ROUNDS a longer one.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <thread>

#include "forwarding_file.h"
#include "routes/direct/direct_route.h"
#include "routes_reference.h"

namespace suiro::routes_test {
namespace {

using test::CallCounts;
using test::ForwardingFile;
using test::TempDir;

enum class Place { kTemporaryFolder, kSharedMemory };

class DirectRouteTest : public ::testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    auto traits = file_system_traits(path_);
    ASSERT_TRUE(traits.ok());
    traits_ = *traits;
  }

  template <class FileKind = ForwardingFile>
  std::unique_ptr<DirectRoute> open(const DirectOptions& options = {}, int flags = O_RDWR | O_CREAT) {
    auto file = open_posix_file(path_, flags, 0644);
    EXPECT_TRUE(file.ok()) << file.status().message();
    counts_ = std::make_shared<CallCounts>();
    DirectRoute::OpenFor uses{(flags & O_ACCMODE) != O_WRONLY, (flags & O_ACCMODE) != O_RDONLY};
    return std::make_unique<DirectRoute>(std::make_unique<FileKind>(std::move(*file), counts_), traits_, options, uses);
  }
  /// Puts `count` bytes into the file, and into the model.
  void start_with(int64_t count) {
    model_ = test::numbered_bytes(static_cast<size_t>(count), 3);
    test::write_whole_file(path_, model_);
  }

  TempDir dir_{GetParam() == Place::kSharedMemory ? std::string("/dev/shm") : ::testing::TempDir()};
  std::string path_ = dir_.file("data");
  FileSystemTraits traits_;
  std::shared_ptr<CallCounts> counts_;
  Bytes model_;
  Layout plain_{access_test::bytes(1), 0, 0};  // contiguous memory
};

INSTANTIATE_TEST_SUITE_P(Places, DirectRouteTest, ::testing::Values(Place::kTemporaryFolder, Place::kSharedMemory),
                         [](const auto& test) {
                           return test.param == Place::kSharedMemory ? "SharedMemory" : "TemporaryFolder";
                         });

DirectOptions random_options(LayoutGenerator& generator) {
  DirectOptions options;
  options.read_sieve_bytes = generator.one_of<int64_t>({0, 16, 500, 4096, 256 << 10});
  options.map_piece_below_bytes = generator.one_of<int64_t>({0, 100, 8 << 10, 128 << 10, INT64_MAX});
  options.stage_bytes = generator.one_of<int64_t>({1, 16, 1000, 64 << 10, 1 << 20});
  return options;
}

std::string describe(const DirectOptions& options) {
  return "read_sieve " + std::to_string(options.read_sieve_bytes) + " map_piece_below " +
         std::to_string(options.map_piece_below_bytes) + " stage " + std::to_string(options.stage_bytes);
}

TEST_P(DirectRouteTest, RandomViewsMemoriesAndOptions) {
  uint64_t seed = number_from_environment("SUIRO_TEST_SEED", 4711);
  uint64_t rounds =
      number_from_environment("SUIRO_TEST_ROUNDS", 5000) / 10;  // each makes several files' worth of calls
  LayoutGenerator generator(seed + static_cast<uint64_t>(GetParam()));
  for (uint64_t round = 0; round < rounds; round++) {
    DirectOptions options = random_options(generator);
    Layout view = generator.ascending(static_cast<int>(generator.between(0, 3)), generator.between(1, 4000));
    Layout memory = generator.chance(40)
                        ? plain_
                        : generator.ascending(static_cast<int>(generator.between(0, 3)), generator.between(1, 2000));
    auto tile = static_cast<int64_t>(view.offsets.size());
    int64_t begin = generator.between(0, 2 * tile);
    int64_t size = generator.between(0, std::min<int64_t>(3 * tile, 8000));
    start_with(generator.one_of<int64_t>({0, 1, 5000, 40000}));
    auto route = open(options);
    std::string where = "seed " + std::to_string(seed) + " round " + std::to_string(round) + ": view " +
                        view.describe() + " begin " + std::to_string(begin) + " size " + std::to_string(size) +
                        " memory " + memory.describe() + " " + describe(options);
    ASSERT_EQ(check_read(*route, model_, view, begin, size, memory), "") << where << " (before the write)";
    ASSERT_EQ(check_write(*route, path_, &model_, view, begin, size, memory, static_cast<unsigned>(round)), "")
        << where;
    ASSERT_EQ(check_read(*route, model_, view, begin, size, memory), "") << where;
    ASSERT_EQ(check_read(*route, model_, view, 0, begin + size + tile, plain_), "") << where << " (beyond the end)";
    ASSERT_TRUE(route->close().ok());
  }
}

TEST_P(DirectRouteTest, RandomLargeViews) {
  // Large enough for the ways that are worth their set-up only then.
  uint64_t seed = number_from_environment("SUIRO_TEST_SEED", 815);
  LayoutGenerator generator(seed + static_cast<uint64_t>(GetParam()));
  for (int round = 0; round < 10; round++) {
    int64_t piece = generator.one_of<int64_t>({1, 8, 100, 1024, 5000, 40000, 200000});
    int64_t hole = std::max<int64_t>(1, generator.one_of<int64_t>({piece / 7, piece, 3 * piece}));
    int64_t count = std::max<int64_t>(2, 600000 / piece);
    Spec row = access_test::repeat(count, piece + hole, access_test::bytes(piece));
    // Irregular at its end, so that several runs meet.
    Layout view(access_test::concat({0, count * (piece + hole) + 11}, {row, access_test::bytes(17)}), 5, 1000);
    auto tile = static_cast<int64_t>(view.offsets.size());
    int64_t begin = generator.between(0, tile / 2);
    int64_t size = generator.between(tile, 3 * tile / 2);
    Layout memory =
        generator.chance(50) ? plain_ : Layout(access_test::repeat(2, 5000, access_test::bytes(4100)), 0, 33);
    DirectOptions options;
    options.map_piece_below_bytes = generator.one_of<int64_t>({0, 8 << 10, INT64_MAX});
    options.read_sieve_bytes = generator.one_of<int64_t>({0, 256 << 10});
    start_with(generator.one_of<int64_t>({0, 1 << 20, 9 << 20}));
    auto route = open(options);
    std::string where = "seed " + std::to_string(seed) + " round " + std::to_string(round) + ": piece " +
                        std::to_string(piece) + " hole " + std::to_string(hole) + " begin " + std::to_string(begin) +
                        " size " + std::to_string(size) + " " + describe(options);
    ASSERT_EQ(check_read(*route, model_, view, begin, size, memory), "") << where << " (before the write)";
    ASSERT_EQ(check_write(*route, path_, &model_, view, begin, size, memory, static_cast<unsigned>(round)), "")
        << where;
    ASSERT_EQ(check_write(*route, path_, &model_, view, begin + 3, size - 7, memory, 77), "") << where << " (again)";
    ASSERT_EQ(check_read(*route, model_, view, begin, size, memory), "") << where;
    ASSERT_EQ(check_read(*route, model_, view, 0, 3 * tile, plain_), "") << where << " (beyond the end)";
  }
}

TEST_P(DirectRouteTest, OverlappingAndDescendingReads) {
  start_with(50000);
  LayoutGenerator generator(99);
  for (const Spec& spec :
       {access_test::repeat(50, 4, access_test::bytes(10)), access_test::repeat(50, -30, access_test::bytes(10)),
        access_test::repeat(7, 0, access_test::bytes(100)),
        access_test::indexed({1}, {0, 5, 2, 100, 50}, 10, access_test::bytes(10))}) {
    Layout view(spec, 40, 8);
    auto tile = static_cast<int64_t>(view.offsets.size());
    for (int round = 0; round < 20; round++) {
      auto route = open(random_options(generator));
      ASSERT_EQ(check_read(*route, model_, view, round, 5 * tile, plain_), "") << view.describe();
    }
  }
}

TEST_P(DirectRouteTest, ThereIsNoReadModifyWrite) {
  // Two routes write the even and the odd pieces of the same range at the same time; a read-modify-write by one would
  // put back old bytes of the other.
  constexpr int64_t kPieces = 4000;
  for (int64_t map_below : {int64_t{0}, INT64_MAX}) {
    model_.assign(0, 0);
    test::write_whole_file(path_, model_);
    DirectOptions options;
    options.map_piece_below_bytes = map_below;
    auto first = open(options);
    auto second = open(options);
    Layout even(access_test::repeat(kPieces, 34, access_test::bytes(17)), 0, 17);
    Layout odd(access_test::repeat(kPieces, 34, access_test::bytes(17)), 17, 17);
    Bytes ones(17 * kPieces, 1), twos(17 * kPieces, 2);
    for (int round = 0; round < 10; round++) {
      auto write_all = [&](DirectRoute& route, const Layout& view, Bytes& data) {
        Status status = route.write(FileBytes{view.tiling, 0, 17 * kPieces}, MemoryBytes{plain_.tiling, data.data()});
        EXPECT_TRUE(status.ok()) << status.message();
      };
      std::thread other([&] { write_all(*second, odd, twos); });
      write_all(*first, even, ones);
      other.join();
      Bytes want(34 * kPieces);
      for (size_t i = 0; i < want.size(); i++) want[i] = i / 17 % 2 == 0 ? ones[0] : twos[0];
      ASSERT_EQ(difference("the file", test::read_whole_file(path_), want), "") << "round " << round;
      std::fill(ones.begin(), ones.end(), static_cast<unsigned char>(3 + 2 * round));
      std::fill(twos.begin(), twos.end(), static_cast<unsigned char>(4 + 2 * round));
    }
  }
}

TEST_P(DirectRouteTest, ThreadsShareARoute) {
  start_with(0);
  auto route = open();
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; number++) {
    threads.emplace_back([&, number] {
      Layout view(access_test::repeat(500, 100 * kThreads, access_test::bytes(100)), 100 * number,
                  100 * kThreads - 100);
      Layout memory(access_test::repeat(100, 20, access_test::bytes(13)), 0, 3);
      for (int round = 0; round < 5; round++) {
        Memory written(memory, 50000, 0xee), back(memory, 50000, 0xee);
        for (size_t i = 0; i < 50000; i++) written.byte(i) = written_byte(i, static_cast<unsigned>(number + round));
        Status status = route->write(FileBytes{view.tiling, 0, 50000}, MemoryBytes{memory.tiling, written.base()});
        EXPECT_TRUE(status.ok()) << status.message();
        auto got = route->read(FileBytes{view.tiling, 0, 50000}, MemoryBytes{memory.tiling, back.base()});
        EXPECT_TRUE(got.ok() && *got == 50000);
        EXPECT_EQ(written.all(), back.all());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(test::read_whole_file(path_).size(), 500u * 100 * kThreads);
}

TEST_P(DirectRouteTest, ShortPiecesGoThroughAMappingWhereThatIsAllowed) {
  if (!traits_.shared_mapping || !traits_.supports_allocate) GTEST_SKIP() << traits_.name << " cannot do it";
  start_with(0);
  Layout view(access_test::repeat(1000, 64, access_test::bytes(32)), 0, 32);
  auto route = open();
  EXPECT_EQ(check_write(*route, path_, &model_, view, 0, 32000, plain_, 1), "");
  EXPECT_EQ(counts_->writes, 0);
  EXPECT_GT(counts_->writable_mappings, 0);
  // Never where it is switched off, the file system is not trusted, or the file is not readable.
  DirectOptions off;
  off.map_piece_below_bytes = 0;
  route = open(off);
  EXPECT_EQ(check_write(*route, path_, &model_, view, 0, 32000, plain_, 2), "");
  EXPECT_EQ(counts_->writable_mappings, 0);
  EXPECT_EQ(counts_->writes, 1000);
  route = open({}, O_WRONLY);
  EXPECT_EQ(check_write(*route, path_, &model_, view, 0, 32000, plain_, 3), "");
  EXPECT_EQ(counts_->writable_mappings, 0);
  traits_.shared_mapping = false;
  route = open();
  EXPECT_EQ(check_write(*route, path_, &model_, view, 0, 32000, plain_, 4), "");
  EXPECT_EQ(check_read(*route, model_, view, 0, 32000, plain_), "");
  EXPECT_EQ(counts_->mappings, 0);
}

TEST_P(DirectRouteTest, FileSystemsThatCannotAllocateOrMapGetTheSameBytes) {
  Layout view(access_test::repeat(1000, 64, access_test::bytes(32)), 7, 32);
  start_with(100);
  auto route = open<test::FileWithoutAllocate>();
  EXPECT_EQ(check_write(*route, path_, &model_, view, 0, 32000, plain_, 1), "");
  EXPECT_EQ(check_write(*route, path_, &model_, view, 5, 32000, plain_, 2), "");
  EXPECT_LE(counts_->allocations, 1);  // asked once, then never again
  EXPECT_EQ(counts_->writes, 2001);
  route = open<test::FileWithoutMappings>();
  EXPECT_EQ(check_write(*route, path_, &model_, view, 0, 32000, plain_, 3), "");
  EXPECT_EQ(check_write(*route, path_, &model_, view, 5, 32000, plain_, 4), "");
  EXPECT_EQ(check_read(*route, model_, view, 0, 40000, plain_), "");
}

TEST_P(DirectRouteTest, PreallocateGrowsAndKeepsEveryByte) {
  auto check = [&](std::unique_ptr<DirectRoute> route) {
    for (int64_t size : {int64_t{0}, int64_t{50}, int64_t{100}, int64_t{3 << 20}, int64_t{1000}}) {
      ASSERT_TRUE(route->preallocate(size).ok());
      if (size > static_cast<int64_t>(model_.size())) model_.resize(static_cast<size_t>(size));
      ASSERT_EQ(difference("the file", test::read_whole_file(path_), model_), "") << size;
    }
  };
  start_with(100);
  check(open());
  start_with(100);
  check(open<test::FileWithoutAllocate>());
}

TEST_P(DirectRouteTest, SetSizeAndSync) {
  start_with(100);
  auto route = open();
  ASSERT_TRUE(route->set_size(40).ok());
  model_.resize(40);
  ASSERT_TRUE(route->set_size(90).ok());
  model_.resize(90);
  EXPECT_EQ(test::read_whole_file(path_), model_);
  EXPECT_EQ(*route->size(), 90);
  ASSERT_TRUE(route->sync().ok());
  EXPECT_EQ(counts_->syncs, 1);
  EXPECT_EQ(counts_->reopens, 0);
  // Where the client cache is not coherent, sync opens the file again to see what others wrote.
  traits_.coherent_cache = false;
  traits_.shared_mapping = false;
  route = open();
  ASSERT_TRUE(route->sync().ok());
  EXPECT_EQ(counts_->syncs, 1);
  EXPECT_EQ(counts_->reopens, 1);
  // A reader has nothing to put on the device.
  route = open({}, O_RDONLY);
  ASSERT_TRUE(route->sync().ok());
  EXPECT_EQ(counts_->syncs, 0);
  EXPECT_EQ(counts_->reopens, 1);
}

TEST_P(DirectRouteTest, OffsetsBeyondFourGigabytes) {
  start_with(0);
  auto route = open();
  int64_t far = (int64_t{1} << 33) + 5;
  Layout view(access_test::repeat(100, 30, access_test::bytes(10)), far, 20);
  Memory memory(plain_, 1000, 0);
  for (size_t i = 0; i < 1000; i++) memory.byte(i) = written_byte(i, 1);
  ASSERT_TRUE(route->write(FileBytes{view.tiling, 0, 1000}, MemoryBytes{plain_.tiling, memory.base()}).ok());
  Memory back(plain_, 1100, 0);
  auto got = route->read(FileBytes{view.tiling, 0, 1100}, MemoryBytes{plain_.tiling, back.base()});
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(*got, 1000);
  for (size_t i = 0; i < 1000; i++) ASSERT_EQ(back.byte(i), memory.byte(i));
  EXPECT_EQ(*route->size(), far + 99 * 30 + 10);
}

// The canaries: the comparisons find a neighbour's byte overwritten, a byte read wrongly, and a lost byte.
TEST_P(DirectRouteTest, TheComparisonsFindFaults) {
  Layout view(access_test::repeat(100, 64, access_test::bytes(32)), 0, 32);
  DirectOptions plain_calls;
  plain_calls.map_piece_below_bytes = 0;
  start_with(10000);
  auto route = open<test::FileThatWritesTooMuch>(plain_calls);
  EXPECT_NE(check_write(*route, path_, &model_, view, 0, 3200, plain_, 1), "");
  start_with(10000);
  route = open<test::FileThatReadsWrongly>(plain_calls);
  EXPECT_NE(check_read(*route, model_, view, 0, 3200, plain_), "");
  route = open();
  EXPECT_EQ(check_read(*route, model_, view, 0, 3200, plain_), "");
  model_[64]++;  // in a piece
  EXPECT_NE(check_read(*route, model_, view, 0, 3200, plain_), "");
  model_[64]--;
  model_[40]++;  // between two
  EXPECT_NE(check_write(*route, path_, &model_, view, 3, 50, plain_, 1), "");
  EXPECT_NE(difference("x", Bytes(3), Bytes(4)), "");
}

}  // namespace
}  // namespace suiro::routes_test
