#include "base/message.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

namespace suiro {
namespace {

std::atomic<int> level_shown{-1};  // -1: not decided yet, taken from SUIRO_LOG at the first use

spdlog::logger& logger() {
  // Leaked on purpose: messages may come from destructors that run after static destruction.
  static spdlog::logger* instance = [] {
    auto* made = new spdlog::logger("suiro", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("suiro: %l: %v");
    made->set_level(spdlog::level::trace);
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *instance;
}

spdlog::level::level_enum spdlog_level(MessageLevel level) {
  switch (level) {
    case MessageLevel::kError: return spdlog::level::err;
    case MessageLevel::kWarning: return spdlog::level::warn;
    case MessageLevel::kInfo: return spdlog::level::info;
    case MessageLevel::kDebug: return spdlog::level::debug;
  }
  return spdlog::level::err;
}

/// Suppresses a flood of one and the same line, as a failing write in a loop would print it.
class RepeatFilter {
 public:
  /// How often `text` has come in a row, this time included.
  int count(std::string_view text) {
    std::lock_guard lock(mutex_);
    if (last_ == text) return ++repeats_;
    last_ = text;
    repeats_ = 1;
    return 1;
  }

 private:
  std::mutex mutex_;
  std::string last_;
  int repeats_ = 0;
};

}  // namespace

bool parse_message_level(std::string_view text, MessageLevel* level) {
  if (text == "error") *level = MessageLevel::kError;
  else if (text == "warning") *level = MessageLevel::kWarning;
  else if (text == "info") *level = MessageLevel::kInfo;
  else if (text == "debug") *level = MessageLevel::kDebug;
  else return false;
  return true;
}

void set_message_level(MessageLevel level) { level_shown.store(static_cast<int>(level), std::memory_order_relaxed); }

MessageLevel message_level() {
  int shown = level_shown.load(std::memory_order_relaxed);
  if (shown >= 0) return static_cast<MessageLevel>(shown);
  MessageLevel level = MessageLevel::kWarning;
  const char* text = std::getenv("SUIRO_LOG");
  bool known = text == nullptr || *text == '\0' || parse_message_level(text, &level);
  set_message_level(level);
  if (!known) log_warning(std::string("SUIRO_LOG=") + text + " is not one of error, warning, info, debug; using warning");
  return level;
}

void message(MessageLevel level, std::string_view text) {
  if (static_cast<int>(level) > static_cast<int>(message_level())) return;
  try {
    static RepeatFilter* filter = new RepeatFilter;  // leaked like the logger
    int times = filter->count(text);
    if (times > kRepeatLimit + 1) return;
    if (times == kRepeatLimit + 1)
      logger().log(spdlog_level(level), "{} (further repetitions are not shown)", text);
    else
      logger().log(spdlog_level(level), "{}", text);
  } catch (...) {
    // A message that cannot be printed must not change what the program does.
  }
}

}  // namespace suiro
