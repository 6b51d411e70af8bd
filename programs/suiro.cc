// The `suiro` command: understands the command line and leads to the command's body. `suiro NAME` with an unknown NAME
// runs the program suiro-NAME, as git does.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>

#include "command.h"
#include "install_paths.h"
#include "rules/settings.h"
#include "system.h"

namespace suiro::command {

int failed(int status, std::string_view text) {
  fmt::print(stderr, "suiro: error: {}\n", text);
  return status;
}

bool split_pair(std::string_view text, std::pair<std::string, std::string>* pair) {
  size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  *pair = {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
  return true;
}

namespace {

constexpr const char* kAbout =
    "Suiro: parallel I/O for MPI programs, without changing them.\n"
    "\n"
    "  suiro run --preset direct mpirun -n 4 ./app     run a program with its MPI-IO going through Suiro\n"
    "  suiro settings out.h5                           which settings would this file get, and why\n"
    "  suiro doctor /scratch                           is this machine, is this file system fit for it";

constexpr const char* kAboutRun =
    "Runs COMMAND with Suiro preloaded. COMMAND is a launcher with a program, or a program alone; its exit status and\n"
    "signals are those of `suiro run`. Options of `suiro run` stand before COMMAND.\n"
    "\n"
    "  suiro run --preset direct mpirun -n 4 ./app\n"
    "  suiro run --rule '*.h5=direct' --rule '/scratch/**=direct,stage_bytes=4M' srun ./app\n"
    "  suiro run --preset direct --set shared_dir=/run/user/1000 --log info mpiexec -n 2 python3 job.py\n"
    "  suiro run --dry-run --preset direct mpirun --host a,b ./app      print what would be run";

constexpr const char* kAboutDoctor =
    "Checks this machine: Suiro's libraries, the MPI libraries, shared memory, file systems, limits, rules.\n"
    "Every line says ok, note or problem, and what to do. Exit status 0 without a problem, else 1.\n"
    "\n"
    "  suiro doctor                    looks at the file system of the current directory\n"
    "  suiro doctor /scratch ~/runs    looks at these";

constexpr const char* kAboutSettings =
    "Without PATH: all settings, the values in force, where they come from. With PATH: the preset and settings which "
    "a\n"
    "file opened under that name would get, and why. The file need not exist.\n"
    "\n"
    "  suiro settings\n"
    "  suiro settings direct:/scratch/out.h5 --hint suiro_stage_bytes=4M\n"
    "  suiro settings --json";

const std::vector<std::string_view> kCommands = {"run", "doctor", "settings", "help"};

/// suiro-NAME in this installation's private folder, else in the PATH.
std::optional<std::string> find_extension(const std::string& name) {
  if (name.find('/') != std::string::npos) return std::nullopt;
  std::string program = "suiro-" + name;
  std::string own = executable_folder() + "/" SUIRO_LIBEXECDIR_FROM_BINDIR "/" + program;
  if (auto found = find_program(own)) return std::filesystem::path(*found).lexically_normal().string();
  return find_program(program);
}

int run_extension(const std::string& name, char** arguments) {
  std::optional<std::string> program = find_extension(name);
  if (!program) {
    std::string_view nearest = nearest_name(name, kCommands);
    std::string hint = nearest.empty() ? "" : fmt::format("; did you mean 'suiro {}'?", nearest);
    return failed(kExitUsage, fmt::format("'{}' is no suiro command, and there is no program suiro-{} in the PATH{} "
                                          "(`suiro --help` lists the commands)",
                                          name, name, hint));
  }
  ::execv(program->c_str(), arguments);
  return failed(kExitNotExecutable, fmt::format("cannot start {}: {}", *program, std::strerror(errno)));
}

void describe(CLI::App* command, const char* about) {
  command->footer(about);
  command->set_help_flag("-h,--help", "Print this help");
}

/// The command behind the options of `suiro run` is not an option, so the parser does not show it by itself.
class RunHelp : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: suiro run [OPTIONS] COMMAND...\n";
  }
};

class CommandLine {
 public:
  CommandLine() : app_(kAbout, "suiro") {
    app_.set_help_flag("-h,--help", "Print this help");
    app_.set_version_flag("--version", "suiro " SUIRO_VERSION, "Print the version");
    app_.require_subcommand(0, 1);
    app_.footer("`suiro help COMMAND` explains a command. `suiro NAME` runs the program suiro-NAME, if there is one.");
    add_run();
    add_doctor();
    add_settings();
    help_ = app_.add_subcommand("help", "Explain a command");
    describe(help_, "");
    help_->add_option("COMMAND", help_topic_, "The command to explain");
  }

  int parse_and_run(int argc, char** argv) {
    // The parser would take what stands behind "--" for its own positional arguments.
    int end = 1;
    while (end < argc && std::string_view(argv[end]) != "--") ++end;
    behind_dashes_.assign(argv + end, argv + argc);
    try {
      app_.parse(end, argv);
    } catch (const CLI::CallForVersion& version) {
      fmt::print("{}\n", version.what());
      return kExitOk;
    } catch (const CLI::Success& wanted) {  // --help
      return app_.exit(wanted);
    } catch (const CLI::ParseError& error) {
      return usage(error.what());
    }
    if (*run_) return start_run();
    if (behind_dashes_.size() > 1) return usage(fmt::format("unexpected argument {}", behind_dashes_[1]));
    if (*doctor_) return doctor(doctor_options_);
    if (*settings_) return settings(settings_options_);
    if (*help_ && !help_topic_.empty()) return explain();
    // Not of this parser: having seen a command, it would explain that one.
    fmt::print("{}", CommandLine().app_.help());
    return *help_ ? kExitOk : kExitUsage;
  }

 private:
  void add_run() {
    run_ = app_.add_subcommand("run", "Run a program with its MPI-IO going through Suiro");
    describe(run_, kAboutRun);
    run_->formatter(std::make_shared<RunHelp>());
    run_->prefix_command();
    run_->add_option("-p,--preset", run_options_.preset, "Preset of every file that no stronger rule names: direct")
        ->type_name("NAME");
    run_->add_option("-s,--set", run_options_.settings, "A setting for every file (`suiro settings` lists them)")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    run_->add_option("-r,--rule", run_options_.rules, "Settings for the files that a glob matches")
        ->type_name("GLOB=PRESET[,KEY=VALUE]...")
        ->allow_extra_args(false);
    run_->add_option("-c,--config", run_options_.config,
                     "The rules file, instead of ./suiro.toml or the one of the user")
        ->type_name("FILE");
    run_->add_option("--log", run_options_.log, "Least severe messages shown: error, warning, info, debug")
        ->type_name("LEVEL");
    run_->add_option("--on-error", run_options_.on_error, "What to do without a needed resource: degrade, fail")
        ->type_name("WHAT");
    run_->add_flag("-n,--dry-run", run_options_.dry_run, "Print environment and command instead of running it");
  }

  void add_doctor() {
    doctor_ = app_.add_subcommand("doctor", "Check whether this machine is fit for Suiro");
    describe(doctor_, kAboutDoctor);
    doctor_->add_option("PATH", doctor_options_.paths, "Files or directories whose file systems to check");
    doctor_->add_flag("--json", doctor_options_.json, "Print JSON");
  }

  void add_settings() {
    settings_ = app_.add_subcommand("settings", "Show settings, and which of them a file would get");
    describe(settings_, kAboutSettings);
    settings_->add_option("PATH", settings_options_.path, "A file name as the program passes it to MPI_File_open");
    settings_->add_option("--hint", settings_options_.hints, "A hint that the program passes along")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    settings_->add_flag("--json", settings_options_.json, "Print JSON");
    settings_->add_flag("--markdown", settings_options_.markdown, "Print the documentation of all settings")
        ->excludes(settings_->get_option("--json"))
        ->excludes(settings_->get_option("PATH"));
  }

  int start_run() {
    run_options_.command = run_->remaining();
    std::vector<std::string>& command = run_options_.command;
    bool separated = command.empty() && !behind_dashes_.empty();
    command.insert(command.end(), behind_dashes_.begin() + (separated ? 1 : 0), behind_dashes_.end());
    if (command.empty()) return usage("run: a COMMAND is missing, as in: suiro run --preset direct mpirun -n 4 ./app");
    if (!separated && command[0].starts_with('-')) {
      static constexpr std::string_view kOptions[] = {"--preset", "--set",      "--rule",    "--config",
                                                      "--log",    "--on-error", "--dry-run", "--help"};
      std::string_view nearest = nearest_name(command[0].substr(0, command[0].find('=')), kOptions);
      return usage(fmt::format("run: unknown option {}{}", command[0],
                               nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
    }
    return run(run_options_);
  }

  int explain() {
    for (CLI::App* command : {run_, doctor_, settings_, help_})
      if (command->get_name() == help_topic_) {
        fmt::print("{}", command->help("suiro"));
        return kExitOk;
      }
    std::string_view nearest = nearest_name(help_topic_, kCommands);
    return usage(fmt::format("help: '{}' is no suiro command{}", help_topic_,
                             nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)));
  }

  static int usage(std::string_view text) {
    failed(kExitUsage, text);
    fmt::print(stderr, "`suiro --help` and `suiro COMMAND --help` explain the usage.\n");
    return kExitUsage;
  }

  CLI::App app_;
  CLI::App* run_ = nullptr;
  CLI::App* doctor_ = nullptr;
  CLI::App* settings_ = nullptr;
  CLI::App* help_ = nullptr;
  RunOptions run_options_;
  DoctorOptions doctor_options_;
  SettingsOptions settings_options_;
  std::string help_topic_;
  std::vector<std::string> behind_dashes_;  // the first "--" and everything after it
};

int main_of_command(int argc, char** argv) {
  if (argc > 1 && argv[1][0] != '-' && std::ranges::find(kCommands, argv[1]) == kCommands.end())
    return run_extension(argv[1], argv + 1);
  return CommandLine().parse_and_run(argc, argv);
}

}  // namespace
}  // namespace suiro::command

int main(int argc, char** argv) {
  try {
    return suiro::command::main_of_command(argc, argv);
  } catch (const std::exception& error) {
    return suiro::command::failed(suiro::command::kExitProblem, error.what());
  }
}
