// The direct route on a file whose calls fail: a failure is reported, never a part passed off as the whole, and nothing
// but the bytes of the write is ever touched.
#include <fcntl.h>
#include <gtest/gtest.h>

#include "os/faulty_file.h"
#include "routes/direct/direct_route.h"
#include "routes_reference.h"

namespace suiro::routes_test {
namespace {

using test::TempDir;

/// A write and read of `size` bytes with a view of the file and a layout of the memory.
struct Case {
  const char* name;
  Spec view;
  int64_t view_gap;
  int64_t size;
  Spec memory;
  int64_t memory_gap;
  int64_t map_below;
  int64_t initial;  // bytes in the file before
  bool in_place = false;  // may be stored through a mapping of what is in the file
};

const Case kCases[] = {
    {"contiguous", access_test::bytes(1), 0, 5000, access_test::bytes(1), 0, 8192, 6000},
    {"short pieces by calls", access_test::repeat(20, 64, access_test::bytes(32)), 32, 900, access_test::bytes(1), 0, 0,
     3000},
    {"short pieces mapped", access_test::repeat(20, 64, access_test::bytes(32)), 32, 900, access_test::bytes(1), 0,
     8192, 500},
    {"scattered memory", access_test::bytes(1), 0, 5000, access_test::repeat(10, 50, access_test::bytes(20)), 30, 8192,
     6000},
    {"scattered both", access_test::repeat(20, 64, access_test::bytes(32)), 32, 900,
     access_test::repeat(10, 50, access_test::bytes(20)), 30, 8192, 3000},
    {"scattered both by calls", access_test::repeat(20, 64, access_test::bytes(32)), 32, 900,
     access_test::repeat(10, 50, access_test::bytes(20)), 30, 0, 3000},
    {"long pieces of memory", access_test::bytes(1), 0, 300000,
     access_test::repeat(2, 100000, access_test::bytes(70000)), 10, 8192, 400000},
    {"large and dense", access_test::repeat(1000, 1500, access_test::bytes(1000)), 500, 1000000, access_test::bytes(1),
     0, 8192, 1600000, true},
};

class FaultTest : public ::testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<DirectRoute> open() {
    auto file = open_posix_file(path_, O_RDWR | O_CREAT, 0644);
    EXPECT_TRUE(file.ok());
    auto traits = file_system_traits(path_);
    EXPECT_TRUE(traits.ok());
    DirectOptions options;
    options.map_piece_below_bytes = GetParam().map_below;
    options.stage_bytes = 512;
    options.read_sieve_bytes = 256;
    plan_ = std::make_shared<FaultPlan>();
    return std::make_unique<DirectRoute>(make_faulty_file(std::move(*file), plan_), *traits, options,
                                         DirectRoute::OpenFor{true, true});
  }

  /// Writes once on a fresh file with `arrange(plan)` in force; checks the file whatever the result, and returns that.
  template <class Arrange>
  Status write_once(Arrange arrange) {
    const Case& c = GetParam();
    Bytes before = test::numbered_bytes(static_cast<size_t>(c.initial), 5);
    test::write_whole_file(path_, before);
    auto route = open();
    arrange(*plan_);
    Memory memory(memory_, c.size, 0xee);
    for (size_t i = 0; i < static_cast<size_t>(c.size); i++) memory.byte(i) = written_byte(i, 9);
    Status status = route->write(FileBytes{view_.tiling, 0, c.size}, MemoryBytes{memory_.tiling, memory.base()});

    Bytes after = test::read_whole_file(path_);
    Bytes wanted = before;
    write_to_model(&wanted, view_.positions(0, c.size), [](size_t i) { return written_byte(i, 9); });
    if (status.ok()) {
      EXPECT_EQ(difference("the file after a success", after, wanted), "");
    } else {
      // Every byte is the old or the new one; beyond the old end it may also be a hole.
      EXPECT_LE(after.size(), wanted.size());
      EXPECT_GE(after.size(), before.size());
      for (size_t i = 0; i < std::min(after.size(), wanted.size()); i++) {
        unsigned char old = i < before.size() ? before[i] : 0;
        if (after[i] != old && after[i] != wanted[i]) {
          ADD_FAILURE() << "byte " << i << " is neither old nor new";
          break;
        }
      }
    }
    return status;
  }

  TempDir dir_;
  std::string path_ = dir_.file("data");
  std::shared_ptr<FaultPlan> plan_;
  Layout view_{GetParam().view, 11, GetParam().view_gap};
  Layout memory_{GetParam().memory, 0, GetParam().memory_gap};
};

INSTANTIATE_TEST_SUITE_P(Cases, FaultTest, ::testing::ValuesIn(kCases), [](const auto& test) {
  std::string name = test.param.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

TEST_P(FaultTest, EveryCallOfAWriteFailsOnce) {
  for (bool sticky : {false, true}) {
    int failures = 0;
    int64_t n = 1;
    for (;; n++) {
      ASSERT_LT(n, 5000);
      Status status = write_once([&](FaultPlan& plan) {
        plan.fail_at = n;
        plan.sticky = sticky;
      });
      if (plan_->calls < n) {
        EXPECT_TRUE(status.ok()) << status.message();
        break;
      }
      if (!status.ok()) {
        failures++;
        EXPECT_EQ(status.kind(), ErrorKind::kIo);
        EXPECT_NE(status.message().find("(simulated)"), std::string_view::npos) << status.message();
      }
      // From the first call on, nothing at all can be written.
      if (sticky && n == 1) {
        EXPECT_FALSE(status.ok());
      }
    }
    EXPECT_GT(n, 1);
    if (!sticky && GetParam().in_place) continue;  // then another way may lead around the only call
    EXPECT_GT(failures, 0);
  }
}

TEST_P(FaultTest, EveryCallOfAReadFailsOnce) {
  const Case& c = GetParam();
  test::write_whole_file(path_, test::numbered_bytes(static_cast<size_t>(c.initial), 5));
  Bytes model = test::read_whole_file(path_);
  for (bool sticky : {false, true}) {
    int failures = 0;
    int64_t n = 1;
    for (;; n++) {
      ASSERT_LT(n, 20000);
      auto route = open();
      plan_->fail_at = n;
      plan_->sticky = sticky;
      std::string wrong = check_read(*route, model, view_, 0, c.size, memory_);
      if (plan_->calls < n) {
        EXPECT_EQ(wrong, "");
        break;
      }
      // Right, or reported: a short count would pass for the end of the file.
      if (!wrong.empty()) {
        failures++;
        EXPECT_EQ(wrong.rfind("read failed: ", 0), 0u) << "call " << n << ": " << wrong;
        EXPECT_NE(wrong.find("(simulated)"), std::string::npos) << wrong;
      }
      if (sticky && n == 1) {
        EXPECT_NE(wrong, "");
      }
      if (n > 300) n += 37;  // the calls in a long row are alike
    }
    if (!sticky && c.in_place) continue;
    EXPECT_GT(failures, 0);
  }
}

TEST_P(FaultTest, AFullDiskIsReportedWheneverNotAllFits) {
  const Case& c = GetParam();
  int64_t span = view_.positions(0, c.size).back() + 1;
  for (int64_t room : {int64_t{0}, int64_t{1}, c.size / 2, c.size - 1, c.size, span, 100 * span}) {
    Status status = write_once([&](FaultPlan& plan) { plan.room = room; });
    if (c.in_place && status.ok()) continue;  // needs no room; that all is there has been checked
    if (room < c.size) {
      EXPECT_EQ(status.kind(), ErrorKind::kNoSpace) << "room " << room << ": " << status.message();
    }
    if (room == 100 * span) {
      EXPECT_TRUE(status.ok()) << status.message();
    }
  }
}

TEST_P(FaultTest, AnotherErrorKeepsItsKind) {
  for (auto [error, kind] : {std::pair{122, ErrorKind::kQuota}, std::pair{30, ErrorKind::kReadOnly}}) {
    Status status = write_once([&, error = error](FaultPlan& plan) {
      plan.fail_at = 1;
      plan.sticky = true;
      plan.error = error;
    });
    EXPECT_EQ(status.kind(), kind) << status.message();
  }
}

TEST_P(FaultTest, CloseSyncAndSizeErrorsAreReported) {
  auto route = open();
  plan_->fail_at = 1;
  plan_->sticky = true;
  EXPECT_FALSE(route->sync().ok());
  EXPECT_FALSE(route->size().ok());
  EXPECT_FALSE(route->set_size(5).ok());
  EXPECT_FALSE(route->preallocate(5).ok());
  EXPECT_FALSE(route->close().ok());
}

}  // namespace
}  // namespace suiro::routes_test
