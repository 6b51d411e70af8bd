// Messages on standard error: levels and the limit on repetitions.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <string>

#include "base/message.h"

namespace suiro {
namespace {

template <class Body>
std::string standard_error_of(Body body) {
  ::testing::internal::CaptureStderr();
  body();
  return ::testing::internal::GetCapturedStderr();
}

class MessageTest : public ::testing::Test {
 protected:
  void SetUp() override { set_message_level(MessageLevel::kWarning); }
};

TEST_F(MessageTest, OneLineWithLevel) {
  EXPECT_EQ(standard_error_of([] { log_warning("the disk is slow"); }), "suiro: warning: the disk is slow\n");
  EXPECT_EQ(standard_error_of([] { log_error("the disk is gone"); }), "suiro: error: the disk is gone\n");
}

TEST_F(MessageTest, TextIsNotAFormat) {
  EXPECT_EQ(standard_error_of([] { log_warning("{} {0} %s %n {"); }), "suiro: warning: {} {0} %s %n {\n");
}

TEST_F(MessageTest, OnlyWhatTheLevelShows) {
  struct {
    MessageLevel level;
    const char* shown;
  } const table[] = {{MessageLevel::kError, "E"},
                     {MessageLevel::kWarning, "EW"},
                     {MessageLevel::kInfo, "EWI"},
                     {MessageLevel::kDebug, "EWID"}};
  for (const auto& row : table) {
    set_message_level(row.level);
    EXPECT_EQ(message_level(), row.level);
    std::string text = standard_error_of([] {
      log_error("<E>");
      log_warning("<W>");
      log_info("<I>");
      log_debug("<D>");
    });
    std::string letters;
    for (size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) letters += text[at + 1];
    EXPECT_EQ(letters, row.shown);
  }
}

TEST_F(MessageTest, RepetitionsEndWithANote) {
  std::string text = standard_error_of([] {
    for (int i = 0; i < 10 * kRepeatLimit; i++) log_warning("again");
  });
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), kRepeatLimit + 1);
  std::string last = "suiro: warning: again (further repetitions are not shown)\n";
  ASSERT_GT(text.size(), last.size());
  EXPECT_EQ(text.substr(text.size() - last.size()), last);
  // Another line in between makes it news again.
  text = standard_error_of([] {
    log_warning("something else");
    log_warning("again");
  });
  EXPECT_EQ(text, "suiro: warning: something else\nsuiro: warning: again\n");
}

TEST_F(MessageTest, LevelNames) {
  MessageLevel level = MessageLevel::kError;
  EXPECT_TRUE(parse_message_level("debug", &level));
  EXPECT_EQ(level, MessageLevel::kDebug);
  EXPECT_TRUE(parse_message_level("info", &level));
  EXPECT_EQ(level, MessageLevel::kInfo);
  EXPECT_TRUE(parse_message_level("warning", &level));
  EXPECT_EQ(level, MessageLevel::kWarning);
  EXPECT_TRUE(parse_message_level("error", &level));
  EXPECT_EQ(level, MessageLevel::kError);
  level = MessageLevel::kInfo;
  for (const char* wrong : {"", "Error", "warn", "errors", " info"}) EXPECT_FALSE(parse_message_level(wrong, &level));
  EXPECT_EQ(level, MessageLevel::kInfo);
}

// Each in a program of its own, as the variable is read once.
class MessageDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(MessageDeathTest, TheEnvironmentSetsTheLevel) {
  EXPECT_EXIT(
      {
        ::setenv("SUIRO_LOG", "info", 1);
        log_debug("hidden");
        log_info("shown");
        ::exit(message_level() == MessageLevel::kInfo ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "^suiro: info: shown\n$");
}

TEST_F(MessageDeathTest, AnUnknownLevelIsReportedAndNotObeyed) {
  EXPECT_EXIT(
      {
        ::setenv("SUIRO_LOG", "loud", 1);
        log_info("hidden");
        ::exit(message_level() == MessageLevel::kWarning ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "^suiro: warning: SUIRO_LOG=loud is not one of [^\n]*\n$");
}

}  // namespace
}  // namespace suiro
