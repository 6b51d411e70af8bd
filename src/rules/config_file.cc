#include "rules/config_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace suiro {
namespace {

std::string with_home(std::string_view glob, std::string_view home) {
  if (!glob.starts_with("~/") || home.empty()) return std::string(glob);
  return std::string(home) + std::string(glob.substr(1));
}

/// Builds the rules of one file, and every message with the place it is about.
class ConfigReader {
 public:
  ConfigReader(const std::string& file_name, std::string_view home) : file_name_(file_name), home_(home) {}

  Result<std::vector<Rule>> read(const toml::table& root) {
    Rule defaults;
    std::vector<Rule> rules;
    for (const auto& [key, node] : root) {
      if (key.str() == "defaults" && node.is_table()) {
        SUIRO_RETURN_IF_ERROR(read_values(*node.as_table(), "defaults", &defaults));
      } else if (key.str() == "rule" && node.is_array()) {
        SUIRO_RETURN_IF_ERROR(read_rules(*node.as_array(), &rules));
      } else if (key.str() == "defaults" || key.str() == "rule") {
        return at(node.source(),
                  std::string(key.str()) + " must be written as " + (key.str() == "rule" ? "[[rule]]" : "[defaults]"));
      } else {
        return at(key.source(), "unknown key '" + std::string(key.str()) +
                                    "'; allowed at the top of the file: [defaults], [[rule]]" +
                                    did_you_mean(key.str(), {"defaults", "rule"}));
      }
    }
    if (!defaults.values.empty()) rules.insert(rules.begin(), std::move(defaults));
    return rules;
  }

 private:
  Status at(const toml::source_region& source, std::string what) const {
    return Status(ErrorKind::kOther, file_name_ + ":" + std::to_string(source.begin.line) + ":" +
                                         std::to_string(source.begin.column) + ": " + std::move(what));
  }

  Status read_rules(const toml::array& entries, std::vector<Rule>* rules) {
    for (const toml::node& entry : entries) {
      const toml::table* table = entry.as_table();
      if (table == nullptr) return at(entry.source(), "a rule must be written as [[rule]]");
      Rule rule;
      const toml::node* match = table->get("match");
      if (match == nullptr) return at(entry.source(), "this [[rule]] has no match = \"glob\"");
      SUIRO_RETURN_IF_ERROR(read_globs(*match, &rule));
      SUIRO_RETURN_IF_ERROR(read_values(*table, "rule", &rule));
      rules->push_back(std::move(rule));
    }
    return {};
  }

  Status read_globs(const toml::node& match, Rule* rule) {
    auto add = [&](const toml::node& node) -> Status {
      const toml::value<std::string>* glob = node.as_string();
      if (glob == nullptr || glob->get().empty())
        return at(node.source(), "match must be a glob such as \"*.h5\", or a list of globs");
      rule->globs.push_back(with_home(glob->get(), home_));
      return {};
    };
    const toml::array* list = match.as_array();
    if (list == nullptr) return add(match);
    if (list->empty()) return at(match.source(), "match is an empty list: the rule names no file");
    for (const toml::node& node : *list) SUIRO_RETURN_IF_ERROR(add(node));
    return {};
  }

  Status read_values(const toml::table& table, std::string_view section, Rule* rule) {
    for (const auto& [key, node] : table) {
      std::string name(key.str());
      if (section == "rule" && name == "match") continue;
      int setting = find_setting_by_name(name);
      if (setting < 0) {
        std::vector<std::string_view> known = setting_names();
        if (section == "rule") known.push_back("match");
        return at(key.source(), "unknown key '" + name + "' in [" + std::string(section) + "]" +
                                    did_you_mean(name, known) + " (`suiro settings` lists all)");
      }
      const Setting& row = setting_table()[static_cast<size_t>(setting)];
      std::optional<std::string> text = text_of(node, row);
      Result<SettingValue> value =
          text ? parse_setting(row, *text)
               : Result<SettingValue>(Status(ErrorKind::kArgument,
                                             "this kind of value is not allowed; allowed: " + allowed_values(row)));
      if (!value.ok()) return at(node.source(), name + ": " + std::string(value.status().message()));
      std::string place = file_name_ + ":" + std::to_string(key.source().begin.line);
      rule->values.push_back(RuleValue{setting, std::move(value).value(), std::move(place)});
    }
    return {};
  }

  /// The value as the text that parse_setting() takes; nothing when the type does not fit the setting.
  static std::optional<std::string> text_of(const toml::node& node, const Setting& row) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* flag = node.as_boolean(); flag != nullptr && row.type == SettingType::kBool)
      return flag->get() ? "true" : "false";
    const auto* number = node.as_integer();
    if (number == nullptr) return std::nullopt;
    if (row.type == SettingType::kInteger || row.type == SettingType::kBytes) return std::to_string(number->get());
    // A decimal 640 would silently mean 01200: only 0o640 says what base it is in.
    if (row.type == SettingType::kOctal && number->get() >= 0 &&
        (number->flags() & toml::value_flags::format_as_octal) != toml::value_flags::none) {
      std::string digits;
      for (int64_t rest = number->get(); digits.empty() || rest != 0; rest /= 8)
        digits.insert(digits.begin(), static_cast<char>('0' + rest % 8));
      return digits;
    }
    return std::nullopt;
  }

  const std::string& file_name_;
  std::string_view home_;
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  size_t start = 0;
  for (size_t end; (end = text.find(separator, start)) != std::string_view::npos; start = end + 1)
    parts.push_back(text.substr(start, end - start));
  parts.push_back(text.substr(start));
  return parts;
}

}  // namespace

std::vector<std::string_view> setting_names() {
  std::vector<std::string_view> names;
  for (const Setting& row : setting_table())
    if (!row.name.empty()) names.push_back(row.name);
  return names;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known) {
  std::string_view nearest = nearest_name(word, known);
  return nearest.empty() ? std::string() : "; did you mean '" + std::string(nearest) + "'?";
}

Result<std::vector<Rule>> parse_config(std::string_view text, const std::string& file_name, std::string_view home) {
  toml::parse_result parsed = toml::parse(text, file_name);
  if (!parsed) {
    const toml::source_position& where = parsed.error().source().begin;
    return Status(ErrorKind::kOther, file_name + ":" + std::to_string(where.line) + ":" + std::to_string(where.column) +
                                         ": not valid TOML: " + std::string(parsed.error().description()));
  }
  return ConfigReader(file_name, home).read(parsed.table());
}

Result<std::vector<Rule>> parse_rule_list(std::string_view text, const std::string& name, std::string_view home) {
  std::vector<Rule> rules;
  for (std::string_view entry : split(text, ';')) {
    if (entry.find_first_not_of(" \t\n") == std::string_view::npos) continue;
    auto failed = [&](const std::string& why) {
      return Status(ErrorKind::kOther, name + ": in '" + std::string(entry) + "': " + why);
    };
    Rule rule;
    for (std::string_view item : split(entry, ',')) {
      // A glob may contain '=', a preset cannot.
      size_t equals = rule.globs.empty() ? item.rfind('=') : item.find('=');
      if (equals == std::string_view::npos || equals == 0)
        return failed("expected GLOB=PRESET[,KEY=VALUE]..., as in '*.h5=direct,on_error=fail'");
      std::string_view left = item.substr(0, equals);
      bool is_glob = rule.globs.empty();
      if (is_glob) rule.globs.push_back(with_home(left, home));
      std::string_view key = is_glob ? "preset" : left;
      int setting = find_setting_by_name(key);
      if (setting < 0) return failed("unknown key '" + std::string(key) + "'" + did_you_mean(key, setting_names()));
      Result<SettingValue> value =
          parse_setting(setting_table()[static_cast<size_t>(setting)], item.substr(equals + 1));
      if (!value.ok()) return failed(std::string(key) + ": " + std::string(value.status().message()));
      rule.values.push_back(RuleValue{setting, std::move(value).value(), name});
    }
    rules.push_back(std::move(rule));
  }
  return rules;
}

Result<std::string> read_config_file(const std::string& path) {
  // O_NONBLOCK: a FIFO in the place of the file must not make MPI_File_open wait.
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Status::FromErrno(errno, "cannot read the rules file " + path);
  struct Closer {
    int fd;
    ~Closer() { ::close(fd); }
  } closer{fd};
  struct stat info;
  if (::fstat(fd, &info) != 0) return Status::FromErrno(errno, "cannot read the rules file " + path);
  if (!S_ISREG(info.st_mode)) return Status(ErrorKind::kOther, "the rules file " + path + " is not a regular file");
  std::string text;
  char block[16384];
  for (;;) {
    ssize_t got = ::read(fd, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Status::FromErrno(errno, "cannot read the rules file " + path);
    if (got == 0) return text;
    text.append(block, static_cast<size_t>(got));
    if (text.size() > kMaxConfigBytes)
      return Status(ErrorKind::kOther, "the rules file " + path + " is longer than 1 MiB");
  }
}

}  // namespace suiro
