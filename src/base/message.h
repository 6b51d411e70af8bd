// What Suiro tells the user on standard error: one line a message, "suiro: ...", with a level. Rooms call these; what
// is shown is decided by SUIRO_LOG (error, warning - the default -, info, debug).
#pragma once

#include <string_view>

namespace suiro {

enum class MessageLevel : int { kError = 0, kWarning = 1, kInfo = 2, kDebug = 3 };

/// Sets the least severe level shown. Threads: any.
void set_message_level(MessageLevel level);
MessageLevel message_level();
/// Parses "error", "warning", "info", "debug"; false when it is none of them.
bool parse_message_level(std::string_view text, MessageLevel* level);

/// Prints one line if the level is shown. Never fails, never throws. Identical consecutive messages from a process are
/// shown at most kRepeatLimit times, then once more with a note that further ones are not shown.
void message(MessageLevel level, std::string_view text);
inline constexpr int kRepeatLimit = 5;

inline void log_error(std::string_view text) { message(MessageLevel::kError, text); }
inline void log_warning(std::string_view text) { message(MessageLevel::kWarning, text); }
inline void log_info(std::string_view text) { message(MessageLevel::kInfo, text); }
inline void log_debug(std::string_view text) { message(MessageLevel::kDebug, text); }

}  // namespace suiro
