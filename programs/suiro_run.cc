// `suiro run`: checks what was asked for, says when it will not help, sets the environment, becomes the command.
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>

#include "base/message.h"
#include "command.h"
#include "elf_program.h"
#include "launcher.h"
#include "rules/rules.h"
#include "system.h"

namespace suiro::command {
namespace {

namespace fs = std::filesystem;

std::string real_path(const std::string& path) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  return error ? path : real.string();
}

std::string environment_text(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? text : "";
}

/// What `suiro run` changes in the environment, remembered for --dry-run and for remote ranks.
class Changes {
 public:
  void set(std::string_view name, std::string_view value) {
    std::string key(name), text(value);
    ::setenv(key.c_str(), text.c_str(), 1);
    for (auto& [known, old] : values_)
      if (known == key) {
        old = text;
        return;
      }
    values_.emplace_back(key, text);
  }
  const std::vector<std::pair<std::string, std::string>>& values() const { return values_; }

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

/// One setting of the command line, validated now rather than by every rank.
Status take_setting(std::string_view option, std::string_view key, std::string_view text, Changes* changes) {
  int index = find_setting_by_name(key);
  if (index < 0) {
    std::vector<std::string_view> known;
    for (const Setting& row : setting_table())
      if (!row.name.empty()) known.push_back(row.name);
    std::string_view nearest = nearest_name(key, known);
    return Status(ErrorKind::kArgument,
                  fmt::format("{}: unknown setting '{}'{} (`suiro settings` lists all)", option, key,
                              nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)));
  }
  const Setting& row = setting_table()[static_cast<size_t>(index)];
  Result<SettingValue> value = parse_setting(row, text);
  if (!value.ok())
    return Status(ErrorKind::kArgument, fmt::format("{}: {}: {}", option, key, value.status().message()));
  if (row.choice_is_built_in != nullptr && !row.choice_is_built_in(value->number))
    return Status(ErrorKind::kUnsupportedOperation,
                  fmt::format("{}: {} is not built in yet; allowed: {}", option, text, allowed_values(row)));
  changes->set(row.environment, text);
  return {};
}

Status take_options(const RunOptions& options, Changes* changes) {
  if (!options.config.empty()) changes->set("SUIRO_CONFIG", fs::absolute(options.config).lexically_normal().string());
  if (!options.preset.empty()) SUIRO_RETURN_IF_ERROR(take_setting("--preset", "preset", options.preset, changes));
  if (!options.on_error.empty())
    SUIRO_RETURN_IF_ERROR(take_setting("--on-error", "on_error", options.on_error, changes));
  for (const std::string& text : options.settings) {
    std::pair<std::string, std::string> pair;
    if (!split_pair(text, &pair)) return Status(ErrorKind::kArgument, "--set '" + text + "': expected KEY=VALUE");
    SUIRO_RETURN_IF_ERROR(take_setting("--set " + text, pair.first, pair.second, changes));
  }
  std::string rules = environment_text("SUIRO_RULES");
  for (const std::string& rule : options.rules) rules += (rules.empty() ? "" : ";") + rule;
  if (!options.rules.empty()) changes->set("SUIRO_RULES", rules);
  if (!options.log.empty()) {
    MessageLevel level;
    if (!parse_message_level(options.log, &level))
      return Status(ErrorKind::kArgument, "--log '" + options.log + "': allowed: error, warning, info, debug");
    changes->set("SUIRO_LOG", options.log);
    set_message_level(level);
  }
  return {};
}

/// Behind what is there already, so that a profiler in front stays in front.
Status preload(Changes* changes, std::string* library) {
  Result<std::string> found = find_preload_library();
  if (!found.ok()) return found.take_status();
  *library = *found;
  if (library->find_first_of(" :") != std::string::npos)
    return Status(ErrorKind::kArgument, "LD_PRELOAD cannot name " + *library + ": its path has a blank or a colon");
  std::string list = environment_text("LD_PRELOAD");
  if ((":" + list + ":").find(":" + *library + ":") == std::string::npos) list += (list.empty() ? "" : ":") + *library;
  changes->set("LD_PRELOAD", list);
  return {};
}

/// The shim that serves an MPI library of that name; "" when it is not one; nothing for an MPI without a shim.
std::optional<std::string> shim_of_library(std::string_view name) {
  if (name.starts_with("libmpi_abi.so")) return "libsuiro-abi.so";
  if (name.starts_with("libmpich.so.12") || name.starts_with("libmpi.so.12")) return "libsuiro-mpich.so";
  if (name.starts_with("libmpi.so.40")) return "libsuiro-ompi.so";
  if (name.starts_with("libmpi.so") || name.starts_with("libmpich.so") || name.starts_with("libmpi_mt.so") ||
      name.starts_with("libmpi_cray") || name.starts_with("libmpi_gnu"))
    return std::nullopt;
  return "";
}

bool gains_privileges(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return false;
  if ((info.st_mode & (S_ISUID | S_ISGID)) != 0) return true;
  return ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

/// PnetCDF with a driver of its own chooses it by this hint; libraries that know the hint can bypass MPI-IO.
bool is_bypassing_pnetcdf(const std::string& file) {
  return file_contains(file, "nc_driver") &&
         environment_text("PNETCDF_HINTS").find("nc_driver=mpiio") == std::string::npos;
}

void warn_about_pnetcdf(const std::string& program, const std::string& file) {
  log_warning(
      fmt::format("{} uses PnetCDF ({}), which writes files without MPI-IO unless told otherwise; set "
                  "PNETCDF_HINTS=\"nc_driver=mpiio\" to let its files pass through Suiro",
                  program, file));
}

void explain_libraries(const std::string& program, const std::string& interpreter, const std::string& library) {
  std::string shims = fs::path(library).parent_path().string() + "/suiro/";
  bool has_mpi = false;
  for (const Library& used : libraries_of(program, interpreter)) {
    if (used.name.starts_with("libpnetcdf.so") && !used.path.empty() && is_bypassing_pnetcdf(used.path))
      warn_about_pnetcdf(program, used.path);
    std::optional<std::string> shim = shim_of_library(used.name);
    if (shim && shim->empty()) continue;
    has_mpi = true;
    if (!shim) {
      log_warning(
          fmt::format("{} uses {}, an MPI library that Suiro has no shim for: its files go to that library's own "
                      "MPI-IO",
                      program, used.name));
    } else if (::access((shims + *shim).c_str(), R_OK) != 0) {
      log_warning(fmt::format("{} uses {}, but {} is not installed in {}: its files go to that library's own MPI-IO",
                              program, used.name, *shim, shims));
    }
  }
  if (!has_mpi)
    log_info(
        fmt::format("{} is not linked with an MPI library: Suiro serves it if it loads one, as Python does, or if "
                    "it starts a program that is",
                    program));
}

/// Says why a preloaded library would not work in this program; silent when it does.
void explain_program(const std::string& program, const std::string& library) {
  static constexpr std::string_view kSymbols[] = {"MPI_File_open", "PMPI_File_open", "ncmpi_create"};
  Result<ElfProgram> elf = read_elf(program, kSymbols);
  if (!elf.ok()) {
    log_info(fmt::format("{} could not be examined: {}", program, elf.status().message()));
    return;
  }
  if (gains_privileges(program))
    log_warning(
        fmt::format("{} is a set-user-ID program or has capabilities: the system ignores LD_PRELOAD for it, so "
                    "Suiro has no effect",
                    program));
  if (!elf->is_elf) return;  // a script: its interpreter takes the preload along
  if (!elf->is_64_bit || !elf->is_x86_64) {
    log_warning(fmt::format("{} is not a 64-bit x86 program, so this Suiro cannot be loaded into it", program));
    return;
  }
  if (elf->interpreter.empty()) {
    log_warning(
        fmt::format("{} is a static binary: LD_PRELOAD has no effect; relink it dynamically or link it with "
                    "-lsuiro",
                    program));
    return;
  }
  bool defines_mpi = false, defines_pnetcdf = false;
  for (const std::string& symbol : elf->defined) (symbol == "ncmpi_create" ? defines_pnetcdf : defines_mpi) = true;
  if (defines_pnetcdf && is_bypassing_pnetcdf(program)) warn_about_pnetcdf(program, "linked in statically");
  if (defines_mpi) {
    log_warning(
        fmt::format("{} has its MPI library linked in statically: its calls cannot be redirected; link it with "
                    "the shared libmpi",
                    program));
    return;
  }
  explain_libraries(program, elf->interpreter, library);
}

bool runs_on_several_hosts(const LaunchLine& line) {
  for (const char* option : {"host", "H", "hostfile", "machinefile", "default-hostfile", "add-host", "add-hostfile"})
    if (has_option(line, option)) return true;
  for (const char* variable : {"PBS_NODEFILE", "PE_HOSTFILE", "LSB_DJOB_HOSTFILE", "OMPI_MCA_orte_default_hostfile"})
    if (!environment_text(variable).empty()) return true;
  std::string nodes = environment_text("SLURM_JOB_NUM_NODES");
  return !nodes.empty() && nodes != "1";
}

/// Open MPI's launcher hands variables to other hosts only when asked.
void export_to_remote_ranks(const LaunchLine& line, const Changes& changes, std::vector<std::string>* command) {
  if (line.kind != LauncherKind::kOpenMpi || !runs_on_several_hosts(line)) return;
  std::set<std::string> names;
  for (const auto& [name, value] : changes.values()) names.insert(name);
  Environment inherited = Environment::of_process();
  for (const auto& [name, value] : inherited.variables)
    if (name.starts_with("SUIRO")) names.insert(name);

  const char* kList = "OMPI_MCA_mca_base_env_list";
  std::string list = environment_text(kList);
  if (!list.empty()) {  // it excludes -x
    for (const std::string& name : names) list += ";" + name;
    ::setenv(kList, list.c_str(), 1);
    return;
  }
  for (size_t i = 0; i + 1 < line.options.size(); ++i)
    if (line.options[i].ends_with("mca") && line.options[i + 1] == "mca_base_env_list") {
      log_warning(
          "the launcher was given --mca mca_base_env_list, which excludes -x: add LD_PRELOAD and the SUIRO_ "
          "variables to that list, or ranks on other hosts run without Suiro");
      return;
    }
  std::vector<std::string> exports;
  for (const std::string& name : names) {
    bool given = false;
    for (size_t i = 0; i + 1 < line.options.size(); ++i)
      given |= line.options[i] == "-x" && line.options[i + 1].substr(0, line.options[i + 1].find('=')) == name;
    if (given && name == "LD_PRELOAD")
      log_warning("the launcher was given -x LD_PRELOAD: if it sets a value, that replaces Suiro in the ranks");
    if (!given) exports.insert(exports.end(), {"-x", name});
  }
  command->insert(command->begin() + static_cast<std::ptrdiff_t>(line.launcher) + 1, exports.begin(), exports.end());
}

void explain_launcher(const LaunchLine& line) {
  if (line.kind == LauncherKind::kHydra)
    for (const char* option : {"genvnone", "genvlist", "envnone", "envlist"})
      if (has_option(line, option))
        log_warning(
            fmt::format("the launcher was given -{}: unless LD_PRELOAD and the SUIRO_ variables are passed too, "
                        "the ranks run without Suiro",
                        option));
  if (line.kind == LauncherKind::kSrun) {
    std::string exported = option_value(line, "export").value_or(environment_text("SLURM_EXPORT_ENV"));
    if (!exported.empty() && ("," + exported + ",").find(",ALL,") == std::string::npos)
      log_warning(
          "srun was given --export without ALL: unless LD_PRELOAD and the SUIRO_ variables are named too, the "
          "ranks run without Suiro");
  }
}

void explain_rules(const Rules& rules) {
  if (rules.disabled()) log_warning("SUIRO is set to off: the command runs without Suiro; unset SUIRO to change that");
  else if (!rules.may_route())
    log_warning(
        "no option, variable or rule names a preset, so only files opened with a prefix such as direct: or with "
        "the hint suiro_preset pass through Suiro; --preset direct takes all");
}

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

void print_plan(const Changes& changes, const std::vector<std::string>& command) {
  std::string line;
  for (const auto& [name, value] : changes.values()) line += name + "=" + shell_word(value) + " ";
  if (std::string list = environment_text("OMPI_MCA_mca_base_env_list"); !list.empty())
    line += "OMPI_MCA_mca_base_env_list=" + shell_word(list) + " ";
  for (const std::string& word : command) line += shell_word(word) + " ";
  line.pop_back();
  fmt::print("{}\n", line);
}

/// What the shell says in the same place, and its exit status.
int cannot_start(const std::string& name) {
  struct stat info;
  bool is_path = name.find('/') != std::string::npos;
  if (is_path && ::stat(name.c_str(), &info) == 0)
    return failed(kExitNotExecutable, S_ISDIR(info.st_mode) ? name + ": is a directory" : name + ": is not executable");
  return failed(kExitNotFound, is_path ? name + ": no such file" : name + ": command not found in the PATH");
}

}  // namespace

int run(const RunOptions& options) {
  Changes changes;
  if (Status status = take_options(options, &changes); !status.ok()) return failed(kExitUsage, status.message());
  Rules rules = Rules::Load(Environment::of_process());
  if (!rules.status().ok()) return failed(kExitUsage, rules.status().message());
  if (!find_program(options.command[0])) return cannot_start(options.command[0]);
  std::string library;
  if (Status status = preload(&changes, &library); !status.ok()) return failed(kExitProblem, status.message());

  std::vector<std::string> command = options.command;
  LaunchLine line = understand(command, find_program, real_path);
  explain_rules(rules);
  explain_launcher(line);
  std::set<std::string> explained;
  for (size_t index : line.programs)
    if (std::optional<std::string> path = find_program(command[index]); path && explained.insert(*path).second)
      explain_program(*path, library);
  export_to_remote_ranks(line, changes, &command);

  if (options.dry_run) {
    print_plan(changes, command);
    return kExitOk;
  }
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  int why = errno;
  return failed(why == ENOENT ? kExitNotFound : kExitNotExecutable,
                fmt::format("cannot start {}: {}", command[0], std::strerror(why)));
}

}  // namespace suiro::command
