// The settings of an open file, as one typed value, and the one table they all come from. Parsing, validation, the
// hints that MPI_File_get_info returns, `suiro settings` and docs/user/settings.md are all driven by the table in
// settings.cc: a new setting is a member of FileSettings plus one row there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace suiro {

/// Which way a file's data takes. kNone: the file stays with the MPI library's own MPI-IO ("unrouted").
enum class Preset : int { kNone = 0, kDirect, kRing, kBurst, kStripe };
/// What to do when a resource of the preset (shared memory, pool, agent) cannot be set up.
enum class OnError : int { kDegrade = 0, kFail };
/// How small non-contiguous pieces reach the file.
enum class StridedWrite : int { kAuto = 0, kPwrite, kMap };

/// The name used in prefixes, rules and hints: "none", "direct", "ring", "burst", "stripe".
std::string_view preset_name(Preset preset);
/// False for presets whose name is reserved but which this version cannot serve yet.
bool preset_is_built_in(Preset preset);

/// Where a value comes from, weakest first: a later source overrides an earlier one.
enum class Source : int { kDefault = 0, kSiteFile, kUserFile, kEnvironment, kHint, kPrefix };
std::string_view source_name(Source source);

/// One setting that does not have its default, and why.
struct Origin {
  int setting = 0;  // index into setting_table()
  Source source = Source::kDefault;
  std::string place;  // "suiro.toml:12", "SUIRO_PRESET", "hint suiro_preset", "prefix direct:"
};

/// Everything that can be set for one file. An ordinary value; decided by rank 0 at open, equal on all ranks after it,
/// constant while the file is open.
struct FileSettings {
  Preset preset = Preset::kNone;
  std::string path;  // prefix stripped; as the program spelled it otherwise
  OnError on_error = OnError::kDegrade;
  int file_perm = 0666;                           // mode bits of a created file; the umask still applies
  int64_t read_sieve_bytes = int64_t{256} << 10;  // staging buffer of non-contiguous reads; 0: no staging
  StridedWrite strided_write = StridedWrite::kAuto;
  int64_t map_piece_below_bytes = int64_t{8} << 10;  // shorter pieces go through a shared mapping (kAuto)
  int64_t stage_bytes = int64_t{1} << 20;  // packing buffer for non-contiguous memory
  std::string shared_dir = "/dev/shm";     // where state shared by the ranks of a node lives

  std::vector<Origin> origins;  // the settings that do not have their defaults, at most one entry each

  /// Where the setting of that table index got its value; kDefault with an empty place when nothing set it.
  Origin origin(int setting) const;
};

/// kPath: the absolute path of a directory.
enum class SettingType : int { kBool, kInteger, kBytes, kOctal, kChoice, kText, kPath };
/// kFile: per file, settable in all ways. kProcess: an environment variable of the process only.
enum class SettingScope : int { kFile, kProcess };

/// A validated value: `text` for kText and kPath, `number` for all other types (a choice is its index).
struct SettingValue {
  int64_t number = 0;
  std::string text;
};

/// One row of the table.
struct Setting {
  std::string_view name = {};         // key in suiro.toml; empty when only the environment sets it
  std::string_view environment = {};  // SUIRO_...
  std::string_view hint = {};         // MPI_Info key; empty when there is none
  SettingScope scope = SettingScope::kFile;
  SettingType type = SettingType::kText;
  std::string_view default_text = {};
  std::string_view unit = {};                                                   // "bytes", ""
  int64_t least = 0, most = 0;  // inclusive; kInteger, kBytes, kOctal
  std::span<const std::string_view> choices = {};  // kChoice, in the order of the enum
  std::span<const std::pair<std::string_view, std::string_view>> aliases = {};  // other spelling -> choice
  bool (*choice_is_built_in)(int64_t) = nullptr;  // null: every choice can be served
  std::string_view meaning = {};  // one sentence
  // Access to the member of FileSettings; null where the scope or the type has none.
  int64_t (*get_number)(const FileSettings&) = nullptr;
  void (*set_number)(FileSettings&, int64_t) = nullptr;
  std::string FileSettings::*text = nullptr;
};

std::span<const Setting> setting_table();
/// Index of the setting with that suiro.toml key, variable, or hint; -1 when there is none.
int find_setting_by_name(std::string_view name);
int find_setting_by_environment(std::string_view variable);
int find_setting_by_hint(std::string_view key);

/// What is allowed, in words: "one of none, direct", "0 to 64 MiB".
std::string allowed_values(const Setting& setting);
/// Parses and validates. A failure (kArgument) says what is allowed; the caller adds where the text stood. Byte counts
/// take the binary suffixes K, M, G, T, also written KiB, MiB, GiB, TiB.
Result<SettingValue> parse_setting(const Setting& setting, std::string_view text);
/// The value in force, in the spelling that parse_setting() reads back. Only for settings of scope kFile.
std::string setting_text(const Setting& setting, const FileSettings& settings);
/// Stores a validated value and remembers where it came from. Only for settings of scope kFile.
void apply_setting(int setting, const SettingValue& value, Source source, std::string_view place,
                   FileSettings* settings);

/// A self-contained byte string from which decode() restores an equal value: rank 0 broadcasts its decision with it.
std::string encode(const FileSettings& settings);
/// Reads what encode() wrote. Anything else - truncated, altered, of another version - is kOther, never a crash.
Result<FileSettings> decode(std::string_view bytes);

/// Every hint with its value in force, for MPI_File_get_info. Keys and values are at most 255 characters.
std::vector<std::pair<std::string, std::string>> hints_in_force(const FileSettings& settings);

/// The element of `known` with the smallest edit distance to `word`, or empty when none is near.
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> known);

}  // namespace suiro
