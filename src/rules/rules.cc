#include "rules/rules.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <mutex>
#include <new>
#include <set>

#include "rules/config_file.h"
#include "rules/glob.h"

extern char** environ;

namespace suiro {
namespace {

constexpr size_t kLongestPath = PATH_MAX - 1;
constexpr size_t kLongestComponent = NAME_MAX;

/// ROMIO's own prefixes. Those of its plain POSIX drivers are followed by a path that a preset can serve; with any other
/// the user asks for a particular driver of the library (which may be absent: that is the library's error to report).
constexpr std::string_view kPosixPrefixes[] = {"ufs", "nfs"};
constexpr std::string_view kLibraryPrefixes[] = {"xfs",  "lustre", "gpfs",    "panfs",  "pvfs", "pvfs2",  "daos",
                                                 "ime",  "testfs", "quobyte", "zoidfs", "ftp",  "gsiftp", "gridftp",
                                                 "bgl",  "piofs",  "pfs",     "hfs",    "sfs",  "bglockless"};

/// Variables that begin like ours but are read by the build, the tests and the benchmarks only.
bool is_tooling_variable(std::string_view name) {
  return name.starts_with("SUIRO_TEST_") || name.starts_with("SUIRO_BENCH_") || name == "SUIRO_BUILD_DIR" ||
         name == "SUIRO_ROOT";  // set by the environment module
}

struct SplitName {
  std::string_view preset;   // "direct", "pmem", ...; empty without a prefix of ours
  std::string_view foreign;  // "ufs", "pvfs2", ...; empty without one of ROMIO's
  std::string_view path;     // behind both
};

/// The word before the first ':', when it can be a prefix at all: "./a:b" and "a/b:c" have none.
std::string_view word_before_colon(std::string_view name) {
  size_t colon = name.find(':');
  if (colon == std::string_view::npos) return {};
  std::string_view word = name.substr(0, colon);
  bool plain = std::ranges::all_of(word, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
  return plain ? word : std::string_view();
}

bool contains(std::span<const std::string_view> list, std::string_view word) {
  return !word.empty() && std::ranges::find(list, word) != list.end();
}

constexpr int kPresetSetting = 0;
const Setting& preset_row() { return setting_table()[kPresetSetting]; }

bool is_preset_prefix(std::string_view word) {
  if (word.empty() || word == preset_name(Preset::kNone)) return false;
  return parse_setting(preset_row(), word).ok();
}

SplitName split_name(std::string_view name) {
  SplitName split{.preset = {}, .foreign = {}, .path = name};
  std::string_view word = word_before_colon(split.path);
  if (is_preset_prefix(word)) {
    split.preset = word;
    split.path.remove_prefix(word.size() + 1);
    word = word_before_colon(split.path);
  }
  if (contains(kPosixPrefixes, word) || contains(kLibraryPrefixes, word)) {
    split.foreign = word;
    split.path.remove_prefix(word.size() + 1);
  }
  return split;
}

/// For messages: long names are cut.
std::string quoted(std::string_view name) {
  constexpr size_t kShown = 200;
  if (name.size() <= kShown) return "'" + std::string(name) + "'";
  return "'" + std::string(name.substr(0, kShown)) + "...'";
}

Status check_path(std::string_view path) {
  if (path.empty()) return Status(ErrorKind::kBadFile, "the file name is empty");
  if (path.find('\0') != std::string_view::npos)
    return Status(ErrorKind::kBadFile, "the file name contains a zero byte: " + quoted(path));
  if (path.size() > kLongestPath)
    return Status(ErrorKind::kBadFile, "the file name has " + std::to_string(path.size()) + " characters, more than " +
                                           std::to_string(kLongestPath) + ": " + quoted(path));
  for (size_t start = 0; start < path.size();) {
    size_t end = std::min(path.find('/', start), path.size());
    if (end - start > kLongestComponent)
      return Status(ErrorKind::kBadFile, "a part of the file name has more than " + std::to_string(kLongestComponent) +
                                             " characters: " + quoted(path));
    start = end + 1;
  }
  return {};
}

/// Rules of one source; sources stand in order of precedence.
struct Layer {
  Source source;
  std::vector<Rule> rules;
};

}  // namespace

struct Rules::State {
  bool disabled = false;
  Status status;
  std::vector<Problem> problems;
  std::vector<std::string> files_read;
  std::vector<Layer> layers;
  FileSettings base;  // of a file that no glob names
  bool has_globs = false;
  std::string working_directory;
  bool follow_working_directory = false;

  std::once_flag problems_shown;
  std::mutex said_mutex;
  std::set<std::string> said;  // messages about hints and names that were shown already

  void load(const Environment& environment);
  void load_variables(const Environment& environment);
  void load_files(const Environment& environment);
  void load_file(const std::string& path, Source source, std::string_view home, bool must_exist);
  void warn(std::string text) { problems.push_back(Problem{MessageLevel::kWarning, std::move(text)}); }
  void fail(Status why) {
    problems.push_back(Problem{MessageLevel::kError, std::string(why.message())});
    if (status.ok()) status = std::move(why);
  }

  void show_problems() {
    for (const Problem& problem : problems)
      if (problem.level != MessageLevel::kError) message(problem.level, problem.text);  // errors are returned
  }
  /// A program that opens files in a loop is told once.
  void say_once(MessageLevel level, const std::string& text) {
    constexpr size_t kMostRemembered = 256;
    {
      std::lock_guard lock(said_mutex);
      if (said.size() >= kMostRemembered || !said.insert(text).second) return;
    }
    message(level, text);
  }

  void apply(const Rule& rule, Source source, FileSettings* settings) const {
    for (const RuleValue& entry : rule.values) apply_setting(entry.setting, entry.value, source, entry.place, settings);
  }
  FileSettings by_rules(std::string_view path) const;
  Status apply_hints(std::string_view filename, Hints hints, FileSettings* settings);
  void apply_prefix(const SplitName& name, std::string_view filename, FileSettings* settings);
  Result<FileSettings> resolve(std::string_view filename, Hints hints);
};

Environment Environment::of_process() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    std::string_view text(*entry);
    size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    std::string_view name = text.substr(0, equals);
    if (name == "SUIRO" || name.starts_with("SUIRO_") || name == "HOME" || name == "XDG_CONFIG_HOME")
      environment.variables.emplace(name, text.substr(equals + 1));
  }
  char directory[PATH_MAX];
  if (::getcwd(directory, sizeof directory) != nullptr) environment.working_directory = directory;
  environment.follow_working_directory = true;
  return environment;
}

std::optional<std::string_view> Environment::get(std::string_view name) const {
  auto entry = variables.find(name);
  if (entry == variables.end()) return std::nullopt;
  return entry->second;
}

void Rules::State::load(const Environment& environment) {
  working_directory = environment.working_directory;
  follow_working_directory = environment.follow_working_directory;
  if (auto text = environment.get("SUIRO"); text && !text->empty()) {
    const Setting& row = setting_table()[static_cast<size_t>(find_setting_by_environment("SUIRO"))];
    Result<SettingValue> value = parse_setting(row, *text);
    if (value.ok()) disabled = value->number == 0;
    else warn("SUIRO: " + std::string(value.status().message()) + "; Suiro stays on");
  }
  if (disabled) return;
  load_files(environment);
  load_variables(environment);
  for (const Layer& layer : layers) {
    for (const Rule& rule : layer.rules) {
      if (rule.globs.empty()) apply(rule, layer.source, &base);
      else has_globs = true;
    }
  }
}

void Rules::State::load_file(const std::string& path, Source source, std::string_view home, bool must_exist) {
  Result<std::string> text = read_config_file(path);
  if (!text.ok()) {
    int why = text.status().system_errno();
    if (!must_exist && (why == ENOENT || why == ENOTDIR)) return;
    if (source == Source::kSiteFile) warn(std::string(text.status().message()) + "; it is ignored");
    // Not with its own kind: "no such file" would look like an answer about the file that the program opens.
    else fail(Status(ErrorKind::kOther, std::string(text.status().message()), why));
    return;
  }
  files_read.push_back(path);
  Result<std::vector<Rule>> rules = parse_config(*text, path, home);
  if (rules.ok()) {
    layers.push_back(Layer{source, std::move(rules).value()});
  } else if (source == Source::kSiteFile) {
    // The administrator's mistake must not stop every program of the machine.
    warn(std::string(rules.status().message()) + "; the whole file is ignored");
  } else {
    fail(rules.take_status());
  }
}

void Rules::State::load_files(const Environment& environment) {
  std::string home(environment.get("HOME").value_or(""));
  if (!environment.site_file.empty()) load_file(environment.site_file, Source::kSiteFile, home, false);
  if (auto chosen = environment.get("SUIRO_CONFIG"); chosen && !chosen->empty()) {
    load_file(std::string(*chosen), Source::kUserFile, home, true);
    return;
  }
  std::vector<std::string> candidates;
  if (!environment.working_directory.empty()) candidates.push_back(environment.working_directory + "/suiro.toml");
  if (auto xdg = environment.get("XDG_CONFIG_HOME"); xdg && xdg->starts_with('/'))
    candidates.push_back(std::string(*xdg) + "/suiro/suiro.toml");
  else if (!home.empty()) candidates.push_back(home + "/.config/suiro/suiro.toml");
  size_t files_before = files_read.size();
  for (const std::string& path : candidates) {
    load_file(path, Source::kUserFile, home, false);
    if (files_read.size() > files_before || !status.ok()) return;
  }
}

void Rules::State::load_variables(const Environment& environment) {
  std::vector<std::string_view> known;
  for (const Setting& row : setting_table()) known.push_back(row.environment);
  Layer layer{Source::kEnvironment, {}};
  Rule direct;
  for (const auto& [name, text] : environment.variables) {
    if (!name.starts_with("SUIRO_") || is_tooling_variable(name)) continue;
    int setting = find_setting_by_environment(name);
    if (setting < 0) {
      warn("the environment variable " + name + " is unknown and has no effect" + did_you_mean(name, known, "SUIRO_"));
      continue;
    }
    const Setting& row = setting_table()[static_cast<size_t>(setting)];
    if (row.scope != SettingScope::kFile || text.empty()) continue;
    Result<SettingValue> value = parse_setting(row, text);
    if (value.ok()) {
      direct.values.push_back(RuleValue{setting, std::move(value).value(), name});
    } else if (setting == kPresetSetting) {
      // Going on without it would silently not do what the user asked for.
      fail(Status(ErrorKind::kOther, name + ": " + std::string(value.status().message())));
    } else {
      warn(name + ": " + std::string(value.status().message()) + "; the variable is ignored");
    }
  }
  if (!direct.values.empty()) layer.rules.push_back(std::move(direct));
  if (auto text = environment.get("SUIRO_RULES"); text && !text->empty()) {
    Result<std::vector<Rule>> rules = parse_rule_list(*text, "SUIRO_RULES", environment.get("HOME").value_or(""));
    if (!rules.ok()) fail(rules.take_status());
    else std::ranges::move(*rules, std::back_inserter(layer.rules));
  }
  if (!layer.rules.empty()) layers.push_back(std::move(layer));
}

FileSettings Rules::State::by_rules(std::string_view path) const {
  if (!has_globs) return base;
  char buffer[PATH_MAX];
  std::string_view directory = working_directory;
  if (follow_working_directory && ::getcwd(buffer, sizeof buffer) != nullptr) directory = buffer;
  std::string absolute = absolute_path(path, directory);
  FileSettings settings;
  for (const Layer& layer : layers) {
    for (const Rule& rule : layer.rules) {
      bool matches = rule.globs.empty() ||
                     std::ranges::any_of(rule.globs, [&](const auto& glob) { return glob_matches(glob, absolute); });
      if (matches) apply(rule, layer.source, &settings);
    }
  }
  return settings;
}

Status Rules::State::apply_hints(std::string_view filename, Hints hints, FileSettings* settings) {
  for (const auto& [key, text] : hints) {
    int setting = find_setting_by_hint(key);
    if (setting < 0) {
      if (!key.starts_with("suiro_")) continue;  // the native library's, or nobody's
      std::vector<std::string_view> known;
      for (const Setting& row : setting_table())
        if (!row.hint.empty()) known.push_back(row.hint);
      say_once(MessageLevel::kWarning,
               "the hint " + key + " is unknown and has no effect" + did_you_mean(key, known, "suiro_"));
      continue;
    }
    Result<SettingValue> value = parse_setting(setting_table()[static_cast<size_t>(setting)], text);
    if (value.ok()) {
      apply_setting(setting, *value, Source::kHint, "hint " + key, settings);
    } else if (key.starts_with("suiro_")) {
      return Status(ErrorKind::kInfoValue,
                    "opening " + quoted(filename) + ": the hint " + key + ": " + std::string(value.status().message()));
    } else {
      // A hint that MPI itself defines may carry a value that another implementation understands.
      say_once(MessageLevel::kWarning,
               "the hint " + key + ": " + std::string(value.status().message()) + "; it is ignored");
    }
  }
  return {};
}

void Rules::State::apply_prefix(const SplitName& name, std::string_view filename, FileSettings* settings) {
  SettingValue value = parse_setting(preset_row(), name.preset).value();
  Origin before = settings->origin(kPresetSetting);
  if (before.source == Source::kHint && settings->preset != static_cast<Preset>(value.number))
    say_once(MessageLevel::kWarning,
             "opening " + quoted(filename) + ": the prefix " + std::string(name.preset) +
                 ": overrides the hint suiro_preset=" + std::string(preset_name(settings->preset)));
  apply_setting(kPresetSetting, value, Source::kPrefix, "prefix " + std::string(name.preset) + ":", settings);
}

Result<FileSettings> Rules::State::resolve(std::string_view filename, Hints hints) {
  std::call_once(problems_shown, [this] { show_problems(); });
  SplitName name = split_name(filename);
  if (disabled) {
    FileSettings unrouted;
    unrouted.path = name.preset.empty() ? filename : filename.substr(name.preset.size() + 1);
    return unrouted;
  }
  if (!status.ok()) return status;

  FileSettings settings = by_rules(name.path);
  SUIRO_RETURN_IF_ERROR(apply_hints(filename, hints, &settings));
  if (!name.preset.empty()) apply_prefix(name, filename, &settings);
  settings.path = filename;
  if (settings.preset == Preset::kNone) return settings;

  if (!preset_is_built_in(settings.preset))
    return Status(ErrorKind::kUnsupportedOperation,
                  "opening " + quoted(filename) + ": the preset '" + std::string(preset_name(settings.preset)) + "' (" +
                      settings.origin(kPresetSetting).place +
                      ") is not built in yet (this is suiro " SUIRO_VERSION "); use direct: or no prefix");
  if (contains(kLibraryPrefixes, name.foreign)) {
    if (!name.preset.empty())
      return Status(ErrorKind::kUnsupportedOperation, "opening " + quoted(filename) + ": the preset '" +
                                                          std::string(name.preset) + "' serves files, not what " +
                                                          std::string(name.foreign) + ": names");
    say_once(MessageLevel::kInfo,
             "files named " + std::string(name.foreign) + ":... stay with the MPI library's own MPI-IO");
    settings.preset = Preset::kNone;
    return settings;
  }
  settings.path = name.path;
  SUIRO_RETURN_IF_ERROR(check_path(settings.path));
  return settings;
}

Rules::Rules(std::unique_ptr<State> state) : state_(std::move(state)) {}
Rules::Rules(Rules&&) noexcept = default;
Rules::~Rules() = default;

Rules Rules::Load(const Environment& environment) {
  auto state = std::make_unique<State>();
  try {
    state->load(environment);
  } catch (const std::bad_alloc&) {
    state->status = Status(ErrorKind::kNoMemory, "no memory for reading the rules");
  } catch (...) {
    state->status = Status(ErrorKind::kOther, "the rules cannot be read");
  }
  return Rules(std::move(state));
}

const Rules& Rules::of_process() {
  static const Rules* rules = new Rules(Load(Environment::of_process()));  // leaked: files may be closed at exit
  return *rules;
}

bool Rules::disabled() const { return state_->disabled; }
bool Rules::may_route() const {
  for (const Layer& layer : state_->layers)
    for (const Rule& rule : layer.rules)
      for (const RuleValue& entry : rule.values)
        if (entry.setting == kPresetSetting && entry.value.number != static_cast<int64_t>(Preset::kNone)) return true;
  return false;
}
const Status& Rules::status() const { return state_->status; }
const std::vector<Problem>& Rules::problems() const { return state_->problems; }
const std::vector<std::string>& Rules::files_read() const { return state_->files_read; }
FileSettings Rules::defaults() const { return state_->base; }

Result<FileSettings> Rules::resolve(std::string_view filename, Hints hints) const {
  try {
    return state_->resolve(filename, hints);
  } catch (const std::bad_alloc&) {
    return Status(ErrorKind::kNoMemory, "no memory for resolving a file name");
  } catch (...) {
    return Status(ErrorKind::kOther, "the rules cannot be applied");
  }
}

}  // namespace suiro
