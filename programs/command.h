// The commands behind `suiro NAME`. Each takes what the command line said, prints, and returns the exit status: 0 done,
// 1 a problem was found, 2 the command was used wrongly.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace suiro::command {

inline constexpr int kExitOk = 0;
inline constexpr int kExitProblem = 1;
inline constexpr int kExitUsage = 2;
// As shells report them, so that a script sees through `suiro run`.
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;

struct RunOptions {
  std::string preset;
  std::vector<std::string> settings;  // "key=value"
  std::vector<std::string> rules;  // "GLOB=PRESET[,KEY=VALUE]..."
  std::string config;
  std::string log;
  std::string on_error;
  bool dry_run = false;
  std::vector<std::string> command;
};
/// Returns only when the command was not started.
int run(const RunOptions& options);

struct DoctorOptions {
  std::vector<std::string> paths;  // whose file systems to look at; the current directory when empty
  bool json = false;
};
int doctor(const DoctorOptions& options);

struct SettingsOptions {
  std::string path;  // "" for the table of all settings
  std::vector<std::string> hints;  // "key=value"
  bool json = false;
  bool markdown = false;
};
int settings(const SettingsOptions& options);

/// "suiro: error: TEXT" on standard error; returns `status`.
int failed(int status, std::string_view text);

/// Splits at the first '='; false when there is none or nothing stands before it.
bool split_pair(std::string_view text, std::pair<std::string, std::string>* pair);

}  // namespace suiro::command
