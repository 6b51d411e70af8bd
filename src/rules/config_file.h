// The rules file suiro.toml, and the same rules spelled in one environment variable.
//
//   [defaults]                       # for every file
//   on_error = "fail"
//   [[rule]]                         # any number, in order; a later one overrides an earlier one key by key
//   match = "*.h5"                   # or a list of globs, of which any may match
//   preset = "direct"
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "rules/settings.h"

namespace suiro {

/// One value of a rule, and where it was written ("suiro.toml:12").
struct RuleValue {
  int setting = 0;  // index into setting_table()
  SettingValue value;
  std::string place;
};

/// Settings for the files that any of the globs names; without globs, for every file.
struct Rule {
  std::vector<std::string> globs;
  std::vector<RuleValue> values;
};

/// The largest suiro.toml that is read.
inline constexpr size_t kMaxConfigBytes = size_t{1} << 20;

/// Parses the text of a suiro.toml; `file_name` is used in messages and places, `home` replaces a leading "~/" of
/// globs. The result has [defaults] first. Any unknown key, bad value or syntax error fails (kOther) and says
/// FILE:LINE:COLUMN, the key, and what is allowed.
Result<std::vector<Rule>> parse_config(std::string_view text, const std::string& file_name, std::string_view home);

/// Parses "GLOB=PRESET[,KEY=VALUE]...[;GLOB=...]" (SUIRO_RULES). `name` is the place of all its values.
Result<std::vector<Rule>> parse_rule_list(std::string_view text, const std::string& name, std::string_view home);

/// Reads a whole regular file of at most kMaxConfigBytes.
Result<std::string> read_config_file(const std::string& path);

/// All keys of suiro.toml, for suggestions.
std::vector<std::string_view> setting_names();

/// "; did you mean X?", or "" when no known name is near. A prefix that the word and all known names share is not
/// compared: it would make any two of them look alike.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known,
                         std::string_view prefix = {});

}  // namespace suiro
