// Shared memory between processes, and locks that survive their holder.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "os/shared_region.h"
#include "temp_dir.h"

namespace suiro {
namespace {

using test::TempDir;

/// Runs body() in a child process; its return value becomes the exit status.
template <class Body>
int in_child(Body body) {
  pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

class SharedRegionTest : public ::testing::Test {
 protected:
  TempDir dir_{"/dev/shm"};
};

TEST_F(SharedRegionTest, StartsAsZerosAndIsPrivateToTheUser) {
  mode_t mask = ::umask(0);
  auto region = SharedRegion::Create(dir_.path(), "r", 10000);
  ::umask(mask);
  ASSERT_TRUE(region.ok()) << region.status().message();
  auto* bytes = static_cast<unsigned char*>((*region)->data());
  for (int i = 0; i < 10000; i++) ASSERT_EQ(bytes[i], 0);
  struct stat info;
  ASSERT_EQ(::stat(dir_.file("r").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_EQ(info.st_size, 10000);
  EXPECT_GE(info.st_blocks * 512, 10000);  // reserved, so a store cannot fail
}

TEST_F(SharedRegionTest, ProcessesSeeEachOthersStores) {
  auto region = SharedRegion::Create(dir_.path(), "r", 4096);
  ASSERT_TRUE(region.ok());
  auto* number = new ((*region)->data()) std::atomic<int>(1);
  EXPECT_EQ(in_child([&] {
              auto attached = SharedRegion::Attach(dir_.path(), "r", 4096);
              if (!attached.ok() || (*attached)->data() == (*region)->data()) return 1;
              auto* theirs = static_cast<std::atomic<int>*>((*attached)->data());
              return theirs->exchange(2) == 1 ? 0 : 2;
            }),
            0);
  EXPECT_EQ(number->load(), 2);
}

TEST_F(SharedRegionTest, TheNameGoesTheMemoryStays) {
  auto region = SharedRegion::Create(dir_.path(), "r", 4096);
  auto attached = SharedRegion::Attach(dir_.path(), "r", 4096);
  ASSERT_TRUE(region.ok() && attached.ok());
  (*attached)->remove_name();
  EXPECT_TRUE(dir_.empty());
  (*region)->remove_name();  // harmless
  std::strcpy(static_cast<char*>((*region)->data()), "still here");
  region->reset();
  EXPECT_STREQ(static_cast<char*>((*attached)->data()), "still here");
  EXPECT_EQ(SharedRegion::Attach(dir_.path(), "r", 4096).status().kind(), ErrorKind::kNoSuchFile);
}

TEST_F(SharedRegionTest, CreateRefusesWhatIsThere) {
  auto region = SharedRegion::Create(dir_.path(), "r", 4096);
  ASSERT_TRUE(region.ok());
  EXPECT_EQ(SharedRegion::Create(dir_.path(), "r", 4096).status().kind(), ErrorKind::kFileExists);
  EXPECT_EQ(SharedRegion::Create(dir_.file("missing"), "r", 4096).status().kind(), ErrorKind::kNoSuchFile);
  // A link planted by somebody else is not followed.
  ASSERT_EQ(::symlink(dir_.file("target").c_str(), dir_.file("link").c_str()), 0);
  EXPECT_EQ(SharedRegion::Create(dir_.path(), "link", 4096).status().kind(), ErrorKind::kFileExists);
  EXPECT_NE(::access(dir_.file("target").c_str(), F_OK), 0);
}

TEST_F(SharedRegionTest, MoreThanTheFileSystemHasIsAnErrorAndLeavesNothing) {
  auto region = SharedRegion::Create(dir_.path(), "r", size_t{1} << 50);
  ASSERT_FALSE(region.ok());
  EXPECT_EQ(region.status().kind(), ErrorKind::kNoSpace) << region.status().message();
  EXPECT_TRUE(dir_.empty());
}

TEST_F(SharedRegionTest, AttachRefusesWhatIsNotTheRegion) {
  auto region = SharedRegion::Create(dir_.path(), "r", 4096);
  ASSERT_TRUE(region.ok());
  EXPECT_EQ(SharedRegion::Attach(dir_.path(), "r", 4095).status().kind(), ErrorKind::kAccess);
  EXPECT_EQ(SharedRegion::Attach(dir_.path(), "r", 8192).status().kind(), ErrorKind::kAccess);
  EXPECT_EQ(SharedRegion::Attach(dir_.path(), "other", 4096).status().kind(), ErrorKind::kNoSuchFile);
  EXPECT_EQ(SharedRegion::Attach(dir_.file("missing"), "r", 4096).status().kind(), ErrorKind::kNoSuchFile);
  ASSERT_EQ(::symlink(dir_.file("r").c_str(), dir_.file("link").c_str()), 0);
  EXPECT_FALSE(SharedRegion::Attach(dir_.path(), "link", 4096).ok());
  ASSERT_EQ(::mkdir(dir_.file("folder").c_str(), 0700), 0);
  EXPECT_FALSE(SharedRegion::Attach(dir_.path(), "folder", 4096).ok());
}

TEST_F(SharedRegionTest, AttachRefusesAnotherUsersRegion) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a file of another user";
  auto region = SharedRegion::Create(dir_.path(), "r", 4096);
  ASSERT_TRUE(region.ok());
  ASSERT_EQ(::chown(dir_.file("r").c_str(), 65534, 65534), 0);
  EXPECT_EQ(SharedRegion::Attach(dir_.path(), "r", 4096).status().kind(), ErrorKind::kAccess);
  // And that user, who may look into the folder, cannot open ours.
  ASSERT_EQ(::chown(dir_.file("r").c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0755), 0);
  EXPECT_EQ(in_child([&] {
              if (::setuid(65534) != 0) return 100;
              return static_cast<int>(SharedRegion::Attach(dir_.path(), "r", 4096).status().kind());
            }),
            static_cast<int>(ErrorKind::kAccess));
}

class RobustMutexTest : public SharedRegionTest {
 protected:
  struct Shared {
    RobustMutex mutex;
    int64_t counter;              // guarded by mutex
    std::atomic<int64_t> signal;  // looked at without it
  };
  void SetUp() override {
    auto region = SharedRegion::Create(dir_.path(), "lock", sizeof(Shared));
    ASSERT_TRUE(region.ok());
    region_ = std::move(*region);
    shared_ = static_cast<Shared*>(region_->data());
    ASSERT_TRUE(shared_->mutex.initialize().ok());
  }
  std::unique_ptr<SharedRegion> region_;
  Shared* shared_ = nullptr;
};

TEST_F(RobustMutexTest, AHolderThatDiesGivesItUp) {
  for (int round = 0; round < 3; round++) {
    EXPECT_EQ(in_child([&] {
                shared_->mutex.lock();
                shared_->counter++;
                return 0;  // dies holding it
              }),
              0);
    shared_->mutex.lock();
    EXPECT_EQ(shared_->counter, 2 * round + 1);
    shared_->counter++;
    shared_->mutex.unlock();
    shared_->mutex.lock();  // and is whole again
    shared_->mutex.unlock();
  }
}

TEST_F(RobustMutexTest, AWaiterGetsItWhenTheHolderDies) {
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  pid_t child = ::fork();
  if (child == 0) {
    shared_->mutex.lock();
    if (::write(told[1], "x", 1) != 1) ::_exit(1);
    ::pause();
  }
  char byte;
  ASSERT_EQ(::read(told[0], &byte, 1), 1);
  std::thread waiter([&] {
    std::lock_guard lock(shared_->mutex);
    shared_->signal = 77;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(shared_->signal, 0);
  ::kill(child, SIGKILL);
  waiter.join();
  EXPECT_EQ(shared_->signal, 77);
  int status;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  ::close(told[0]);
  ::close(told[1]);
}

TEST_F(RobustMutexTest, ExcludesProcessesAndThreads) {
  constexpr int kRounds = 5000;
  std::vector<pid_t> children;
  auto count = [&] {
    for (int i = 0; i < kRounds; i++) {
      std::lock_guard lock(shared_->mutex);
      shared_->counter++;
    }
  };
  for (int i = 0; i < 2; i++) {
    pid_t child = ::fork();
    if (child == 0) {
      count();
      ::_exit(0);
    }
    children.push_back(child);
  }
  std::thread one(count), two(count);
  one.join();
  two.join();
  for (pid_t child : children) {
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(shared_->counter, 4 * kRounds);
}

}  // namespace
}  // namespace suiro
