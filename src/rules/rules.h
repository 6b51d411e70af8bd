// Which preset and settings a file gets. Sources, weakest first; a later one overrides an earlier one key by key:
//   built-in defaults < site file < user file < environment < MPI_Info hints < path prefix (preset only)
// Within a suiro.toml: [defaults], then each matching [[rule]] in order. Within the environment: SUIRO_<NAME>, then
// each matching rule of SUIRO_RULES.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/message.h"
#include "base/status.h"
#include "rules/settings.h"

namespace suiro {

/// What Load() looks at, as a value, so that tests need no real environment.
struct Environment {
  std::map<std::string, std::string, std::less<>> variables;  // SUIRO*, HOME, XDG_CONFIG_HOME; others are not used
  std::string working_directory;                              // absolute; "" when unknown
  std::string site_file = "/etc/suiro/suiro.toml";
  bool follow_working_directory = false;  // ask the system at every resolve(), as the program may change it

  /// Of this process, now.
  static Environment of_process();
  std::optional<std::string_view> get(std::string_view name) const;
};

/// Something the user should know about a source: shown once by the first resolve(), listed by `suiro doctor`.
struct Problem {
  MessageLevel level = MessageLevel::kWarning;
  std::string text;
};

/// Loaded once per process, constant afterwards. Threads: any number may call the const functions at once.
/// No function is collective; rank 0 of a communicator resolves and broadcasts the result (see encode()).
class Rules {
 public:
  using Hints = std::span<const std::pair<std::string, std::string>>;

  /// Reads the files and variables. Never fails as a whole: what is wrong is in status() and problems().
  static Rules Load(const Environment& environment);
  /// The rules of this process, loaded at the first call.
  static const Rules& of_process();

  Rules(Rules&&) noexcept;
  ~Rules();

  /// SUIRO=off: nothing is routed, whatever else is set.
  bool disabled() const;
  /// Whether anything but a prefix or a hint can route a file.
  bool may_route() const;
  /// Not ok when a source that the user chose is unusable: resolve() then fails for every file with this status.
  const Status& status() const;
  const std::vector<Problem>& problems() const;
  /// Files that were read, in order of precedence.
  const std::vector<std::string>& files_read() const;

  /// The settings of one file. `filename` is as the program passed it to MPI_File_open; of `hints`, keys that are not
  /// ours are left to the native library. Errors: kBadFile (empty, too long), kInfoValue (bad value of a suiro_ hint),
  /// kUnsupportedOperation (a preset that is not built in yet, or one that cannot serve a foreign prefix), or status().
  /// A result with Preset::kNone is for the native library, under the name in `path`: as the program passed it, but for
  /// a prefix of ours that SUIRO=off made void.
  Result<FileSettings> resolve(std::string_view filename, Hints hints) const;
  /// The settings of a file that no glob, hint or prefix names.
  FileSettings defaults() const;

 private:
  struct State;
  explicit Rules(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace suiro
