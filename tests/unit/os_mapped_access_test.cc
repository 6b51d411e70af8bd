// access_mapped(): a page that has gone becomes a return value, and nobody else's SIGBUS is touched.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "os/mapped_access.h"
#include "temp_dir.h"

namespace suiro {
namespace {

constexpr int64_t kPage = 4096;

/// A file of some pages, mapped.
class MappedFile {
 public:
  explicit MappedFile(int64_t pages) {
    test::TempDir dir;  // removed at once: these tests end their programs in the middle
    auto file = open_posix_file(dir.file("mapped"), O_RDWR | O_CREAT, 0644);
    if (!file.ok() || !(*file)->truncate(pages * kPage).ok()) std::abort();
    file_ = std::move(*file);
    auto mapping = file_->map(0, pages * kPage, true);
    if (!mapping.ok()) std::abort();
    mapping_ = std::move(*mapping);
  }
  const Mapping& mapping() const { return mapping_; }
  volatile unsigned char* page(int64_t number) const {
    return reinterpret_cast<volatile unsigned char*>(mapping_.data() + number * kPage);
  }
  void keep_pages(int64_t pages) {
    if (!file_->truncate(pages * kPage).ok()) std::abort();
  }

 private:
  std::unique_ptr<File> file_;
  Mapping mapping_;
};

TEST(MappedAccess, TrueWhenAllIsThere) {
  MappedFile file(3);
  EXPECT_TRUE(access_mapped(file.mapping(), [&] { *file.page(2) = 7; }));
  EXPECT_EQ(*file.page(2), 7);
}

TEST(MappedAccess, FalseWhenTheFileWasTruncated) {
  MappedFile file(3);
  file.keep_pages(1);
  for (int round = 0; round < 3; round++) {
    EXPECT_FALSE(access_mapped(file.mapping(), [&] { *file.page(2) = 7; }));
    EXPECT_FALSE(access_mapped(file.mapping(), [&] { (void)*file.page(1); }));
    EXPECT_TRUE(access_mapped(file.mapping(), [&] { *file.page(0) = 7; }));
  }
  file.keep_pages(3);
  EXPECT_TRUE(access_mapped(file.mapping(), [&] { *file.page(2) = 9; }));
}

TEST(MappedAccess, WhatWasDoneBeforeTheFaultStays) {
  MappedFile file(2);
  file.keep_pages(1);
  EXPECT_FALSE(access_mapped(file.mapping(), [&] {
    for (int64_t i = 0; i < 2 * kPage; i++) file.page(0)[i] = 5;
  }));
  for (int64_t i = 0; i < kPage; i++) ASSERT_EQ(file.page(0)[i], 5);
}

TEST(MappedAccess, ThreadsDoNotDisturbEachOther) {
  MappedFile good(2), bad(2);
  bad.keep_pages(1);
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; number++) {
    threads.emplace_back([&, number] {
      MappedFile& file = number % 2 == 0 ? good : bad;
      for (int round = 0; round < 500; round++)
        EXPECT_EQ(access_mapped(file.mapping(), [&] { (void)*file.page(1); }), number % 2 == 0);
    });
  }
  for (auto& thread : threads) thread.join();
}

// Signals that are not ours. Each test runs in a program of its own, because the handler is installed once for all.

void set_handler(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  ::sigaction(SIGBUS, &action, nullptr);
}

/// Installs Suiro's handler on top of the present one, and proves that it works.
void use_mapped_access() {
  MappedFile file(2);
  file.keep_pages(1);
  if (access_mapped(file.mapping(), [&] { (void)*file.page(1); })) ::_exit(99);
}

void touch_a_page_that_has_gone() {
  MappedFile file(2);
  file.keep_pages(1);
  (void)*file.page(1);
}

class MappedAccessDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(MappedAccessDeathTest, TheDefaultEndsTheProgram) {
  EXPECT_EXIT((set_handler(SIG_DFL), use_mapped_access(), touch_a_page_that_has_gone(), ::_exit(0)),
              ::testing::KilledBySignal(SIGBUS), "");
}

TEST_F(MappedAccessDeathTest, ASignalThatWasSentEndsTheProgramToo) {
  EXPECT_EXIT((set_handler(SIG_DFL), use_mapped_access(), ::raise(SIGBUS), ::_exit(0)),
              ::testing::KilledBySignal(SIGBUS), "");
}

TEST_F(MappedAccessDeathTest, ThePlainHandlerOfTheProgramIsCalled) {
  EXPECT_EXIT((set_handler([](int signal) { ::_exit(signal == SIGBUS ? 41 : 1); }), use_mapped_access(),
               touch_a_page_that_has_gone(), ::_exit(0)),
              ::testing::ExitedWithCode(41), "");
  EXPECT_EXIT((set_handler([](int signal) { ::_exit(signal == SIGBUS ? 42 : 1); }), use_mapped_access(),
               ::raise(SIGBUS), ::_exit(0)),
              ::testing::ExitedWithCode(42), "");
}

volatile unsigned char* expected_address = nullptr;

TEST_F(MappedAccessDeathTest, TheInformedHandlerOfTheProgramGetsTheAddress) {
  EXPECT_EXIT(
      {
        struct sigaction action = {};
        action.sa_sigaction = [](int signal, siginfo_t* info, void* context) {
          ::_exit(signal == SIGBUS && info->si_addr == expected_address && context != nullptr ? 43 : 1);
        };
        action.sa_flags = SA_SIGINFO;
        ::sigaction(SIGBUS, &action, nullptr);
        use_mapped_access();
        MappedFile file(2);
        file.keep_pages(1);
        expected_address = file.page(1);
        (void)*file.page(1);
        ::_exit(0);
      },
      ::testing::ExitedWithCode(43), "");
}

TEST_F(MappedAccessDeathTest, AFaultElsewhereInsideAnAccessIsTheProgramsToo) {
  EXPECT_EXIT(
      {
        set_handler([](int) { ::_exit(44); });
        MappedFile good(1);
        MappedFile bad(2);
        bad.keep_pages(1);
        (void)access_mapped(good.mapping(), [&] { (void)*bad.page(1); });
        ::_exit(0);
      },
      ::testing::ExitedWithCode(44), "");
}

TEST_F(MappedAccessDeathTest, AHandlerAroundOursMayBlockTheSignal) {
  // As a library does that keeps the earlier handler and calls it from its own, during which SIGBUS is blocked.
  EXPECT_EXIT(
      {
        use_mapped_access();
        static struct sigaction ours;
        struct sigaction around = {};
        around.sa_sigaction = [](int signal, siginfo_t* info, void* context) {
          ours.sa_sigaction(signal, info, context);
        };
        around.sa_flags = SA_SIGINFO;
        sigfillset(&around.sa_mask);
        ::sigaction(SIGBUS, &around, &ours);
        use_mapped_access();
        use_mapped_access();
        sigset_t mask;
        ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
        ::_exit(sigismember(&mask, SIGBUS) == 0 && sigismember(&mask, SIGUSR1) == 0 ? 47 : 1);
      },
      ::testing::ExitedWithCode(47), "");
}

TEST_F(MappedAccessDeathTest, AnIgnoredSignalThatWasSentChangesNothing) {
  EXPECT_EXIT((set_handler(SIG_IGN), use_mapped_access(), ::raise(SIGBUS), use_mapped_access(), ::_exit(45)),
              ::testing::ExitedWithCode(45), "");
}

TEST_F(MappedAccessDeathTest, AHandlerThatReturnsLeavesTheGuardInPlace) {
  EXPECT_EXIT((set_handler([](int) {}), use_mapped_access(), ::raise(SIGBUS), use_mapped_access(), ::_exit(46)),
              ::testing::ExitedWithCode(46), "");
}

}  // namespace
}  // namespace suiro
