// Understands command lines such as `timeout 60 mpirun -n 4 --host a,b ./app : -n 1 ./other` well enough to find the
// launcher and the programs. Pure but for the lookup of programs, which is passed in.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace suiro::command {

enum class LauncherKind { kNone, kHydra, kOpenMpi, kSrun, kOther };

struct LaunchLine {
  LauncherKind kind = LauncherKind::kNone;
  size_t launcher = 0;               // index of its word in the command, when kind is not kNone
  std::vector<size_t> programs;      // indices of the words that name the programs; more than one for `a : b`
  std::vector<std::string> options;  // the launcher's option words with their values
};

/// The full path of a program, or nothing when the word names none.
using FindProgram = std::function<std::optional<std::string>(std::string_view word)>;
/// The path without symbolic links, by which launchers of different MPIs behind one name are told apart.
using RealPath = std::function<std::string(const std::string& path)>;

LaunchLine understand(const std::vector<std::string>& command, const FindProgram& find, const RealPath& real_path);

/// True when an option of that name, as "-x", "--x" or "--x=value", is among the options.
bool has_option(const LaunchLine& line, std::string_view name);
/// The value of the option, from "--x value" or "--x=value".
std::optional<std::string> option_value(const LaunchLine& line, std::string_view name);

}  // namespace suiro::command
