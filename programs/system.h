// What the commands ask of the machine: where the parts of this installation are, which files are programs, what other
// programs print.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace suiro::command {

/// The folder of the running executable, without symbolic links.
std::string executable_folder();

/// libsuiro.so: SUIRO_LIB, else the one installed with this command, else the one of its build tree. An error says
/// where it was looked for.
Result<std::string> find_preload_library();

/// An executable regular file: as given when the name has a '/', else the first one in the PATH.
std::optional<std::string> find_program(std::string_view name);
/// Folders of the PATH, in order.
std::vector<std::string> path_folders();

struct Output {
  bool finished = false;  // it ended by itself within the time and with status 0
  std::string text;       // standard output and standard error
};
/// Runs a program without LD_PRELOAD and returns what it printed (at most 1 MiB).
Output run_and_read(const std::vector<std::string>& command, std::chrono::milliseconds limit);
/// Runs `work` in a child process, which may crash or hang without harm, and returns the string it returned.
Output run_in_child(const std::function<std::string()>& work, std::chrono::milliseconds limit);

/// Whether the file holds these bytes; false too when it cannot be read.
bool file_contains(const std::string& path, std::string_view bytes);

}  // namespace suiro::command
