#include "launcher.h"

#include <algorithm>
#include <set>

namespace suiro::command {
namespace {

std::string_view base_name(std::string_view path) {
  size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// Programs that start the program named in their arguments.
bool is_wrapper(std::string_view name) {
  static const std::set<std::string_view> kWrappers = {
      "env",  "time",   "timeout", "nice", "ionice",   "nohup", "stdbuf",   "taskset",   "numactl", "setsid",
      "chrt", "strace", "ltrace",  "gdb",  "valgrind", "perf",  "unbuffer", "catchsegv", "prlimit"};
  return kWrappers.contains(name);
}

LauncherKind launcher_kind(std::string_view word, const FindProgram& find, const RealPath& real_path) {
  static const std::set<std::string_view> kOpenMpi = {"orterun", "prterun", "prun"};
  static const std::set<std::string_view> kOther = {"aprun", "jsrun", "lrun", "ibrun", "palsrun", "flux", "poe"};
  std::string_view name = base_name(word);
  bool is_mpi_launcher = name.starts_with("mpirun") || name.starts_with("mpiexec");
  if (name == "srun") return LauncherKind::kSrun;
  if (kOpenMpi.contains(name)) return LauncherKind::kOpenMpi;
  if (kOther.contains(name)) return LauncherKind::kOther;
  if (!is_mpi_launcher) return LauncherKind::kNone;
  // One name, several MPIs: the file behind the symbolic links tells.
  std::optional<std::string> path = find(word);
  std::string real = path ? real_path(*path) : std::string(word);
  std::string_view real_name = base_name(real);
  if (kOpenMpi.contains(real_name) || real_name.find("openmpi") != std::string_view::npos)
    return LauncherKind::kOpenMpi;
  if (real_name.find("hydra") != std::string_view::npos || real_name.find("mpich") != std::string_view::npos)
    return LauncherKind::kHydra;
  return LauncherKind::kOther;
}

std::string_view without_dashes(std::string_view option) {
  size_t dashes = std::min(option.find_first_not_of('-'), option.size());
  return option.substr(dashes);
}

/// How many words behind the option belong to it. Launchers do not agree; this is the union of the common ones.
size_t words_behind(std::string_view option) {
  static const std::set<std::string_view> kTwo = {"mca", "gmca", "pmca", "prtemca", "genv", "env"};
  static const std::set<std::string_view> kOne = {
      // Open MPI
      "n", "np", "c", "N", "H", "host", "hostfile", "machinefile", "default-hostfile", "map-by", "bind-to", "rank-by",
      "wdir", "wd", "x", "path", "prefix", "output-filename", "report-uri", "timeout", "tune", "am", "npernode",
      "npersocket", "cpus-per-proc", "cpus-per-rank", "cpu-set", "cpu-list", "slot-list", "rankfile", "rf", "app",
      "display", "output", "runtime-options", "dvm-uri", "add-host", "add-hostfile", "personality", "stdin",
      "max-restarts", "ompi-server", "preload-files", "set-cwd-to-session-dir", "xterm", "xml-file",
      // Hydra, Intel MPI
      "hosts", "machine", "f", "ppn", "perhost", "grr", "rr", "launcher", "launcher-exec", "rmk", "iface", "demux", "s",
      "outfile-pattern", "errfile-pattern", "genvlist", "envlist", "configfile", "topolib", "usize", "order-nodes",
      "membind", "prepend-pattern", "local-proxy", "bootstrap", "umask",
      // Slurm
      "p", "partition", "t", "time", "A", "account", "J", "job-name", "o", "e", "error", "input", "i", "w", "nodelist",
      "mem", "mem-per-cpu", "cpus-per-task", "ntasks", "nodes", "ntasks-per-node", "gres", "mpi", "export", "D",
      "chdir", "distribution", "m", "q", "qos", "exclude", "reservation", "jobid", "constraint", "C", "cpu-bind",
      "mem-bind", "B", "G", "gpus", "gpus-per-node", "gpus-per-task", "threads-per-core", "r", "relative", "signal",
      "W", "wait"};
  if (option.find('=') != std::string_view::npos) return 0;
  std::string_view name = without_dashes(option);
  return kTwo.contains(name) ? 2 : kOne.contains(name) ? 1 : 0;
}

}  // namespace

LaunchLine understand(const std::vector<std::string>& command, const FindProgram& find, const RealPath& real_path) {
  LaunchLine line;
  bool in_wrapper = false;
  for (size_t i = 0; i < command.size(); ++i) {
    const std::string& word = command[i];
    bool in_launcher = line.kind != LauncherKind::kNone;
    if (in_launcher && word.size() > 1 && word[0] == '-') {
      size_t end = std::min(command.size(), i + 1 + words_behind(word));
      line.options.insert(line.options.end(), command.begin() + static_cast<std::ptrdiff_t>(i),
                          command.begin() + static_cast<std::ptrdiff_t>(end));
      i = end - 1;
      continue;
    }
    if (in_wrapper && (word[0] == '-' || word.find('=') != std::string::npos)) continue;
    if (word.empty() || (i > 0 && !find(word))) continue;  // the value of an option that we do not know
    LauncherKind kind = in_launcher ? LauncherKind::kNone : launcher_kind(word, find, real_path);
    if (kind != LauncherKind::kNone) {
      line.kind = kind;
      line.launcher = i;
      in_wrapper = false;
    } else if (is_wrapper(base_name(word))) {
      in_wrapper = true;
    } else {
      line.programs.push_back(i);
      in_wrapper = false;
      if (!in_launcher) return line;
      // `mpirun a : b`: the next program stands behind the colon.
      auto colon = std::find(command.begin() + static_cast<std::ptrdiff_t>(i), command.end(), ":");
      if (colon == command.end()) return line;
      i = static_cast<size_t>(colon - command.begin());
    }
  }
  return line;
}

bool has_option(const LaunchLine& line, std::string_view name) {
  return std::ranges::any_of(line.options, [&](const std::string& word) {
    std::string_view option = without_dashes(word);
    return word[0] == '-' && option.substr(0, option.find('=')) == name;
  });
}

std::optional<std::string> option_value(const LaunchLine& line, std::string_view name) {
  for (size_t i = 0; i < line.options.size(); ++i) {
    std::string_view option = without_dashes(line.options[i]);
    if (line.options[i][0] != '-' || option.substr(0, option.find('=')) != name) continue;
    size_t equals = option.find('=');
    if (equals != std::string_view::npos) return std::string(option.substr(equals + 1));
    if (i + 1 < line.options.size()) return line.options[i + 1];
  }
  return std::nullopt;
}

}  // namespace suiro::command
