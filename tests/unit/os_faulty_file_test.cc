// FaultyFile: fails exactly the calls it is told to, so that tests which rely on it prove something.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "os/faulty_file.h"
#include "temp_dir.h"

namespace suiro {
namespace {

using test::Bytes;
using test::numbered_bytes;
using test::read_whole_file;

class FaultyFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto real = open_posix_file(path_, O_RDWR | O_CREAT, 0644);
    ASSERT_TRUE(real.ok());
    file_ = make_faulty_file(std::move(*real), plan_);
  }

  test::TempDir dir_;
  std::string path_ = dir_.file("data");
  std::shared_ptr<FaultPlan> plan_ = std::make_shared<FaultPlan>();
  std::unique_ptr<File> file_;
};

TEST_F(FaultyFileTest, WithoutAPlanNothingFails) {
  Bytes data = numbered_bytes(100, 1);
  EXPECT_TRUE(file_->pwrite(data.data(), 100, 0).ok());
  iovec parts[2] = {{data.data(), 30}, {data.data() + 30, 70}};
  EXPECT_TRUE(file_->pwritev(parts, 100).ok());
  Bytes back(100);
  EXPECT_EQ(*file_->pread(back.data(), 100, 100), 100);
  EXPECT_EQ(back, data);
  EXPECT_EQ(*file_->size(), 200);
  EXPECT_TRUE(file_->sync().ok());
  EXPECT_TRUE(file_->truncate(10).ok());
  EXPECT_TRUE(file_->map(0, 10, true).ok());
  EXPECT_TRUE(file_->reopen().ok());
  EXPECT_TRUE(file_->close().ok());
}

TEST_F(FaultyFileTest, OnlyTheCallChosenFails) {
  plan_->fail_at = 2;
  plan_->error = EDQUOT;
  char byte = 1;
  EXPECT_TRUE(file_->pwrite(&byte, 1, 0).ok());
  Status second = file_->pwrite(&byte, 1, 1);
  EXPECT_EQ(second.kind(), ErrorKind::kQuota);
  EXPECT_TRUE(file_->pwrite(&byte, 1, 2).ok());
  EXPECT_EQ(plan_->calls, 3);
}

TEST_F(FaultyFileTest, StickyFaultsStayForEveryKindOfCall) {
  plan_->fail_at = 1;
  plan_->sticky = true;
  char byte = 1;
  iovec part{&byte, 1};
  EXPECT_FALSE(file_->pread(&byte, 1, 0).ok());
  EXPECT_FALSE(file_->preadv({&part, 1}, 0).ok());
  EXPECT_FALSE(file_->pwrite(&byte, 1, 0).ok());
  EXPECT_FALSE(file_->pwritev({&part, 1}, 0).ok());
  EXPECT_FALSE(file_->sync().ok());
  EXPECT_FALSE(file_->size().ok());
  EXPECT_FALSE(file_->truncate(5).ok());
  EXPECT_FALSE(file_->allocate(0, 5).ok());
  EXPECT_FALSE(file_->map(0, 1, true).ok());
  EXPECT_FALSE(file_->reopen().ok());
  EXPECT_FALSE(file_->close().ok());
  EXPECT_EQ(plan_->calls, 11);
  EXPECT_TRUE(read_whole_file(path_).empty());
}

TEST_F(FaultyFileTest, AFullDiskTakesWhatFits) {
  plan_->room = 150;
  Bytes data = numbered_bytes(100, 2);
  EXPECT_TRUE(file_->pwrite(data.data(), 100, 0).ok());
  Status status = file_->pwrite(data.data(), 100, 100);
  EXPECT_EQ(status.kind(), ErrorKind::kNoSpace);
  EXPECT_EQ(read_whole_file(path_).size(), 150u);
  EXPECT_EQ(file_->pwrite(data.data(), 1, 200).kind(), ErrorKind::kNoSpace);
  EXPECT_EQ(file_->allocate(0, 1000).kind(), ErrorKind::kNoSpace);
  EXPECT_EQ(read_whole_file(path_).size(), 150u);
}

}  // namespace
}  // namespace suiro
