// `suiro settings`: the table of settings, the values in force and where they come from, and docs/user/settings.md.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/message.h"
#include "command.h"
#include "rules/rules.h"

namespace suiro::command {
namespace {

std::string origin_text(const Origin& origin) {
  if (origin.source == Source::kDefault) return "default";
  return origin.place.empty() ? std::string(source_name(origin.source)) : origin.place;
}

std::string process_value(const Environment& environment, const Setting& row) {
  auto text = environment.get(row.environment);
  return text && !text->empty() ? std::string(*text) : std::string(row.default_text);
}

bool is_set(const Environment& environment, const Setting& row) {
  auto text = environment.get(row.environment);
  return text && !text->empty();
}

/// Breaks at blanks so that no line has more than `width` characters.
std::string folded(std::string_view text, size_t width, std::string_view indent) {
  std::string result;
  while (text.size() > width) {
    size_t blank = text.rfind(' ', width);
    if (blank == std::string_view::npos) break;
    result += fmt::format("{}{}\n", indent, text.substr(0, blank));
    text.remove_prefix(blank + 1);
  }
  return result + fmt::format("{}{}\n", indent, text);
}

nlohmann::json setting_json(const Environment& environment, const Setting& row, const FileSettings& values) {
  nlohmann::json entry = {{"environment", row.environment},
                          {"meaning", row.meaning},
                          {"default", row.default_text},
                          {"allowed", allowed_values(row)}};
  if (row.scope == SettingScope::kProcess) {
    entry["scope"] = "process";
    entry["value"] = process_value(environment, row);
    entry["source"] = is_set(environment, row) ? row.environment : "default";
    return entry;
  }
  entry["scope"] = "file";
  entry["name"] = row.name;
  entry["hint"] = row.hint;
  entry["value"] = setting_text(row, values);
  entry["source"] = origin_text(values.origin(find_setting_by_name(row.name)));
  return entry;
}

void print_table(const Environment& environment, const FileSettings& values) {
  fmt::print("For each file: key in suiro.toml, value in force, where the value comes from.\n\n");
  for (const Setting& row : setting_table()) {
    if (row.scope != SettingScope::kFile) continue;
    fmt::print("{} = {}   ({})\n", row.name, setting_text(row, values),
               origin_text(values.origin(find_setting_by_name(row.name))));
    fmt::print("{}", folded(row.meaning, 100, "    "));
    fmt::print("    allowed: {}; default: {}\n    variable {}, hint {}\n", allowed_values(row), row.default_text,
               row.environment, row.hint);
  }
  fmt::print("\nFor the process: variable, value in force.\n\n");
  for (const Setting& row : setting_table()) {
    if (row.scope != SettingScope::kProcess) continue;
    std::string value = process_value(environment, row);
    fmt::print("{} = {}   ({})\n", row.environment, value, is_set(environment, row) ? "environment" : "default");
    fmt::print("{}", folded(row.meaning, 100, "    "));
  }
}

void print_file(const Rules& rules, const FileSettings& values, const std::string& path) {
  fmt::print("file     {}\n", path);
  Origin preset = values.origin(find_setting_by_name("preset"));
  fmt::print("preset   {}   ({})\n", preset_name(values.preset), origin_text(preset));
  if (values.preset == Preset::kNone) {
    fmt::print("         {}\n", rules.disabled() ? "SUIRO is off: the MPI library's own MPI-IO serves every file"
                                                 : "the MPI library's own MPI-IO serves this file");
    return;
  }
  if (values.path != path) fmt::print("opened as {}\n", values.path);
  for (const Setting& row : setting_table()) {
    if (row.scope != SettingScope::kFile || row.name == "preset") continue;
    fmt::print("{} = {}   ({})\n", row.name, setting_text(row, values),
               origin_text(values.origin(find_setting_by_name(row.name))));
  }
}

constexpr std::string_view kIntroduction = R"(# Settings

This page is made by `suiro settings --markdown` from the table in `src/rules/settings.cc`; a test compares the two.

## Where settings come from

Weakest first; a later source overrides an earlier one, key by key:

1. the defaults below
2. the site's rules, `/etc/suiro/suiro.toml`
3. the user's rules: the file that `SUIRO_CONFIG` names, else `suiro.toml` in the directory in which the program opens
   its first file, else `~/.config/suiro/suiro.toml` (`$XDG_CONFIG_HOME/suiro/suiro.toml` where that is set); only one of
   them is read
4. environment variables: first `SUIRO_<NAME>`, then the rules in `SUIRO_RULES`
5. hints of the `MPI_Info` that the program passes to `MPI_File_open`
6. a prefix of the file name, for the preset alone: `direct:/data/out` opens `/data/out` with the preset `direct`

Rank 0 of the communicator decides for all ranks, so files and variables count as they are on its host.
`suiro settings PATH` shows what a file would get and which line says so. `MPI_File_get_info` returns every hint below
with its value in force.

## Rules: suiro.toml

```toml
[defaults]                     # for every file
on_error = "fail"

[[rule]]                       # any number; a later rule overrides an earlier one, key by key
match = "*.h5"
preset = "direct"

[[rule]]
match = ["/scratch/**/checkpoint-*", "~/runs/**"]
preset = "direct"
stage_bytes = "4MiB"
```

A glob is matched with the absolute path, without prefixes; symbolic links are not followed. `*`, `?`, `[a-z]` and
`[!a-z]` stay within one component, `**` as a whole component stands for any number of them, `\` takes the next character
literally, a leading `~/` is the home directory. A glob without `/` is matched with the last component alone; one that has
a `/`, but not at its start, may begin at any component.

The same in one variable, as `suiro run --rule` writes it (no `;` or `,` within a glob):

```sh
SUIRO_RULES='*.h5=direct;/scratch/**/checkpoint-*=direct,stage_bytes=4MiB'
```

Sizes are bytes, or take K, M, G, T (also KiB, MiB, ...), all powers of 1024. Modes are octal, `"0640"` or `0o640`.

## When something is wrong

| where | unknown name | bad value |
|---|---|---|
| user's `suiro.toml`, `SUIRO_RULES` | every open fails, naming the place | every open fails, naming the place |
| `/etc/suiro/suiro.toml` | a warning; the file is ignored | a warning; the file is ignored |
| `SUIRO_PRESET` | | every open fails |
| other variables | a warning | a warning; the variable is ignored |
| `suiro_` hints | a warning | the open fails with `MPI_ERR_INFO_VALUE` |
| `file_perm` hint | | a warning; the hint is ignored |
| preset that is not built in yet | | the open fails with `MPI_ERR_UNSUPPORTED_OPERATION` |

Two words that MPI libraries put before a path, `ufs:` and `nfs:`, are removed when a preset applies. Those that ask for a
particular driver or library (`xfs:`, `lustre:`, `gpfs:`, `panfs:`, `pvfs2:`, `daos:`, `testfs:` and others) keep the file
with the MPI library's own MPI-IO. Any other word in front of a colon is a part of the file name.
)";

std::string table_cell(std::string_view text) {
  std::string cell;
  for (char c : text) cell += c == '|' ? std::string("\\|") : std::string(1, c);
  return cell;
}

void print_markdown() {
  fmt::print("{}\n## Settings of a file\n\n", kIntroduction);
  fmt::print("| suiro.toml | variable | hint | default | allowed | meaning |\n|---|---|---|---|---|---|\n");
  for (const Setting& row : setting_table())
    if (row.scope == SettingScope::kFile)
      fmt::print("| `{}` | `{}` | `{}` | {} | {} | {} |\n", row.name, row.environment, row.hint, row.default_text,
                 table_cell(allowed_values(row)), table_cell(row.meaning));
  fmt::print("\n## Settings of the process\n\n| variable | default | allowed | meaning |\n|---|---|---|---|\n");
  for (const Setting& row : setting_table())
    if (row.scope == SettingScope::kProcess)
      fmt::print("| `{}` | {} | {} | {} |\n", row.environment, row.default_text, table_cell(allowed_values(row)),
                 table_cell(row.meaning));
}

nlohmann::json whole_json(const Environment& environment, const Rules& rules, const FileSettings& values,
                          const std::string& path) {
  nlohmann::json document = {
      {"settings", nlohmann::json::array()}, {"files_read", rules.files_read()}, {"disabled", rules.disabled()}};
  for (const Setting& row : setting_table())
    if (path.empty() || row.scope == SettingScope::kFile)
      document["settings"].push_back(setting_json(environment, row, values));
  if (!path.empty()) {
    document["path"] = path;
    document["opened_as"] = values.path;
    document["preset"] = preset_name(values.preset);
  }
  return document;
}

}  // namespace

int settings(const SettingsOptions& options) {
  if (options.markdown) {
    print_markdown();
    return kExitOk;
  }
  Environment environment = Environment::of_process();
  Rules rules = Rules::Load(environment);
  if (!rules.status().ok()) return failed(kExitProblem, rules.status().message());

  std::vector<std::pair<std::string, std::string>> hints;
  for (const std::string& text : options.hints) {
    std::pair<std::string, std::string> pair;
    if (!split_pair(text, &pair)) return failed(kExitUsage, "--hint '" + text + "': expected KEY=VALUE");
    hints.push_back(pair);
  }
  FileSettings values = rules.defaults();
  if (options.path.empty()) {
    if (!hints.empty()) return failed(kExitUsage, "--hint needs the PATH of the file that would be opened with it");
    for (const Problem& problem : rules.problems()) message(problem.level, problem.text);
  } else {
    Result<FileSettings> resolved = rules.resolve(options.path, hints);
    if (!resolved.ok()) return failed(kExitProblem, resolved.status().message());
    values = std::move(resolved).value();
  }
  if (options.json) {
    auto document = whole_json(environment, rules, values, options.path);
    fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else if (options.path.empty()) {
    print_table(environment, values);
    for (const std::string& file : rules.files_read()) fmt::print("\nrules were read from {}", file);
    fmt::print("{}", rules.files_read().empty() ? "\nno suiro.toml was found\n" : "\n");
  } else {
    print_file(rules, values, options.path);
  }
  return kExitOk;
}

}  // namespace suiro::command
