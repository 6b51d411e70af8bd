#include "rules/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <iterator>
#include <limits>

namespace suiro {
namespace {

constexpr size_t kLongestValue = 255;  // Open MPI's MPI_MAX_INFO_VAL leaves no more

constexpr std::string_view kPresets[] = {"none", "direct", "ring", "burst", "stripe"};
constexpr std::pair<std::string_view, std::string_view> kPresetAliases[] = {{"pmem", "burst"}};
constexpr std::string_view kOnErrors[] = {"degrade", "fail"};
constexpr std::string_view kStridedWrites[] = {"auto", "pwrite", "map"};
constexpr std::string_view kLogLevels[] = {"error", "warning", "info", "debug"};

template <auto Member>
int64_t get(const FileSettings& settings) {
  return static_cast<int64_t>(settings.*Member);
}
template <auto Member>
void set(FileSettings& settings, int64_t number) {
  using Value = std::remove_reference_t<decltype(settings.*Member)>;
  settings.*Member = static_cast<Value>(number);
}

constexpr int64_t kMiB = int64_t{1} << 20;

// THE table. Rows of one scope stand in the order in which the documentation shows them. encode() writes the rows of
// scope kFile in this order.
constexpr Setting kSettings[] = {
    {.name = "preset",
     .environment = "SUIRO_PRESET",
     .hint = "suiro_preset",
     .type = SettingType::kChoice,
     .default_text = "none",
     .choices = kPresets,
     .aliases = kPresetAliases,
     .choice_is_built_in = [](int64_t choice) { return preset_is_built_in(static_cast<Preset>(choice)); },
     .meaning = "The way the file's data takes; none leaves the file to the MPI library's own MPI-IO.",
     .get_number = get<&FileSettings::preset>,
     .set_number = set<&FileSettings::preset>},
    {.name = "on_error",
     .environment = "SUIRO_ON_ERROR",
     .hint = "suiro_on_error",
     .type = SettingType::kChoice,
     .default_text = "degrade",
     .choices = kOnErrors,
     .meaning =
         "When shared memory or another resource of the preset cannot be set up: degrade goes on with the direct "
         "preset and one warning, fail makes the open fail.",
     .get_number = get<&FileSettings::on_error>,
     .set_number = set<&FileSettings::on_error>},
    {.name = "file_perm",
     .environment = "SUIRO_FILE_PERM",
     .hint = "file_perm",
     .type = SettingType::kOctal,
     .default_text = "0666",
     .least = 0,
     .most = 07777,
     .meaning = "Permission bits of a file that the open creates; the umask still applies.",
     .get_number = get<&FileSettings::file_perm>,
     .set_number = set<&FileSettings::file_perm>},
    {.name = "read_sieve_bytes",
     .environment = "SUIRO_READ_SIEVE_BYTES",
     .hint = "suiro_read_sieve_bytes",
     .type = SettingType::kBytes,
     .default_text = "256KiB",
     .unit = "bytes",
     .least = 0,
     .most = 1024 * kMiB,
     .meaning = "Buffer of a rank for non-contiguous reads: pieces that fit are read together with the gaps between "
                "them; 0 reads every piece by itself.",
     .get_number = get<&FileSettings::read_sieve_bytes>,
     .set_number = set<&FileSettings::read_sieve_bytes>},
    {.name = "strided_write",
     .environment = "SUIRO_STRIDED_WRITE",
     .hint = "suiro_strided_write",
     .type = SettingType::kChoice,
     .default_text = "auto",
     .choices = kStridedWrites,
     .meaning = "How non-contiguous pieces are written: pwrite uses system calls, map stores through a shared mapping, "
                "auto takes map for short pieces where the file system keeps mappings coherent.",
     .get_number = get<&FileSettings::strided_write>,
     .set_number = set<&FileSettings::strided_write>},
    {.name = "map_piece_below_bytes",
     .environment = "SUIRO_MAP_PIECE_BELOW_BYTES",
     .hint = "suiro_map_piece_below_bytes",
     .type = SettingType::kBytes,
     .default_text = "8KiB",
     .unit = "bytes",
     .least = 0,
     .most = kMiB,
     .meaning = "With strided_write = auto, pieces shorter than this that go to new pages of the file are stored through a "
                "shared mapping, where that is the faster way on the file system; 0 never maps a write.",
     .get_number = get<&FileSettings::map_piece_below_bytes>,
     .set_number = set<&FileSettings::map_piece_below_bytes>},
    {.name = "stage_bytes",
     .environment = "SUIRO_STAGE_BYTES",
     .hint = "suiro_stage_bytes",
     .type = SettingType::kBytes,
     .default_text = "1MiB",
     .unit = "bytes",
     .least = 4096,
     .most = 1024 * kMiB,
     .meaning = "Buffer of a rank in which non-contiguous memory is packed for the file and unpacked from it.",
     .get_number = get<&FileSettings::stage_bytes>,
     .set_number = set<&FileSettings::stage_bytes>},
    {.name = "shared_dir",
     .environment = "SUIRO_SHARED_DIR",
     .hint = "suiro_shared_dir",
     .type = SettingType::kPath,
     .default_text = "/dev/shm",
     .meaning =
         "Directory for what the ranks of one node share (shared file pointers, tickets); every rank of the node "
         "must see the same one, in memory.",
     .text = &FileSettings::shared_dir},
    {.environment = "SUIRO",
     .scope = SettingScope::kProcess,
     .type = SettingType::kBool,
     .default_text = "on",
     .meaning = "off switches Suiro off: every file goes to the MPI library's own MPI-IO."},
    {.environment = "SUIRO_CONFIG",
     .scope = SettingScope::kProcess,
     .type = SettingType::kText,
     .meaning = "The user's rules file; without it ./suiro.toml, else ~/.config/suiro/suiro.toml."},
    {.environment = "SUIRO_RULES",
     .scope = SettingScope::kProcess,
     .type = SettingType::kText,
     .meaning = "Rules as in suiro.toml, GLOB=PRESET[,KEY=VALUE]..., separated by semicolons."},
    {.environment = "SUIRO_LOG",
     .scope = SettingScope::kProcess,
     .type = SettingType::kChoice,
     .default_text = "warning",
     .choices = kLogLevels,
     .meaning = "The least severe messages that are shown on standard error."},
    {.environment = "SUIRO_LIB",
     .scope = SettingScope::kProcess,
     .type = SettingType::kText,
     .meaning = "The libsuiro.so that suiro run preloads, instead of the one installed with it."},
};
constexpr int kSettingCount = static_cast<int>(std::size(kSettings));
static_assert(kSettings[0].name == "preset", "rules.cc takes the preset from the first row");

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string short_bytes(int64_t bytes) {
  constexpr std::string_view kUnits[] = {"", " KiB", " MiB", " GiB", " TiB"};
  size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + std::string(kUnits[unit]);
}

std::string octal(int64_t number) {
  char text[32];
  std::snprintf(text, sizeof text, "%04llo", static_cast<unsigned long long>(number));
  return text;
}

Status not_allowed(const Setting& setting, std::string_view text) {
  return Status(ErrorKind::kArgument, "'" + std::string(text.substr(0, kLongestValue)) +
                                          "' is not allowed; allowed: " + allowed_values(setting));
}

/// The number in front of `*rest` in the given base; false when there is none or it does not fit.
bool take_number(std::string_view text, int base, int64_t* number, std::string_view* rest) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number, base);
  if (error != std::errc()) return false;
  *rest = text.substr(static_cast<size_t>(end - text.data()));
  return true;
}

bool parse_bytes(std::string_view text, int64_t* bytes) {
  std::string_view suffix;
  if (!take_number(text, 10, bytes, &suffix)) return false;
  std::string unit = lower(trimmed(suffix));
  if (unit.empty() || unit == "b") return true;
  size_t power = std::string_view("kmgt").find(unit[0]);
  if (power == std::string_view::npos || (unit.size() > 1 && unit.substr(1) != "ib")) return false;
  return !__builtin_mul_overflow(*bytes, int64_t{1} << (10 * (power + 1)), bytes);
}

bool parse_bool(std::string_view text, int64_t* number) {
  constexpr std::string_view kTrue[] = {"true", "yes", "on", "1", "enable"};
  constexpr std::string_view kFalse[] = {"false", "no", "off", "0", "disable"};
  std::string word = lower(text);
  if (std::ranges::find(kTrue, word) != std::end(kTrue)) *number = 1;
  else if (std::ranges::find(kFalse, word) != std::end(kFalse)) *number = 0;
  else return false;
  return true;
}

bool parse_choice(const Setting& setting, std::string_view text, int64_t* number) {
  std::string word = lower(text);
  for (const auto& [alias, choice] : setting.aliases)
    if (word == alias) word = choice;
  for (size_t i = 0; i < setting.choices.size(); ++i) {
    if (setting.choices[i] != word) continue;
    *number = static_cast<int64_t>(i);
    return true;
  }
  return false;
}

bool parse_text(const Setting& setting, std::string_view text, std::string* value) {
  if (text.size() > kLongestValue || text.find('\0') != std::string_view::npos) return false;
  if (setting.type == SettingType::kPath && (text.empty() || text.front() != '/')) return false;
  *value = text;
  return true;
}

// encode() and decode(): a magic line, then strings with a 4-byte little-endian length in front.
constexpr std::string_view kMagic = "suiro file settings 1\n";

void put_number(std::string* out, uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>((number >> shift) & 0xff));
}

void put_string(std::string* out, std::string_view text) {
  put_number(out, static_cast<uint32_t>(text.size()));
  out->append(text);
}

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : rest_(bytes) {}

  bool number(uint32_t* value) {
    if (rest_.size() < 4) return false;
    *value = 0;
    for (size_t i = 0; i < 4; ++i) *value |= static_cast<uint32_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
    rest_.remove_prefix(4);
    return true;
  }
  bool string(std::string_view* value) {
    uint32_t length = 0;
    if (!number(&length) || rest_.size() < length) return false;
    *value = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return true;
  }
  bool literal(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

Status undecodable(std::string_view why) {
  return Status(ErrorKind::kOther, "the file settings sent by another rank cannot be read (" + std::string(why) +
                                       "); do all ranks run the same version of suiro?");
}

}  // namespace

std::string_view preset_name(Preset preset) { return kPresets[static_cast<size_t>(preset)]; }

bool preset_is_built_in(Preset preset) { return preset == Preset::kNone || preset == Preset::kDirect; }

std::string_view source_name(Source source) {
  switch (source) {
    case Source::kDefault: return "default";
    case Source::kSiteFile: return "site file";
    case Source::kUserFile: return "user file";
    case Source::kEnvironment: return "environment";
    case Source::kHint: return "hint";
    case Source::kPrefix: return "path prefix";
  }
  return "";
}

Origin FileSettings::origin(int setting) const {
  for (const Origin& origin : origins)
    if (origin.setting == setting) return origin;
  return Origin{.setting = setting, .source = Source::kDefault, .place = {}};
}

std::span<const Setting> setting_table() { return kSettings; }

int find_setting_by_name(std::string_view name) {
  for (int i = 0; i < kSettingCount; ++i)
    if (!name.empty() && kSettings[i].name == name) return i;
  return -1;
}

int find_setting_by_environment(std::string_view variable) {
  for (int i = 0; i < kSettingCount; ++i)
    if (kSettings[i].environment == variable) return i;
  return -1;
}

int find_setting_by_hint(std::string_view key) {
  for (int i = 0; i < kSettingCount; ++i)
    if (!key.empty() && kSettings[i].hint == key) return i;
  return -1;
}

std::string allowed_values(const Setting& setting) {
  switch (setting.type) {
    case SettingType::kBool: return "on, off (also true, false, yes, no, 1, 0)";
    case SettingType::kInteger: return std::to_string(setting.least) + " to " + std::to_string(setting.most);
    case SettingType::kBytes:
      return short_bytes(setting.least) + " to " + short_bytes(setting.most) + ", in bytes or with K, M, G";
    case SettingType::kOctal: return "octal " + octal(setting.least) + " to " + octal(setting.most);
    case SettingType::kText:
      return setting.scope == SettingScope::kProcess ? "any text" : "text of at most 255 characters";
    case SettingType::kPath: return "an absolute path of at most 255 characters";
    case SettingType::kChoice: break;
  }
  std::string served, reserved;
  for (size_t i = 0; i < setting.choices.size(); ++i) {
    bool built_in = setting.choice_is_built_in == nullptr || setting.choice_is_built_in(static_cast<int64_t>(i));
    std::string& list = built_in ? served : reserved;
    if (!list.empty()) list += ", ";
    list += setting.choices[i];
  }
  if (!reserved.empty()) served += " (not built in yet: " + reserved + ")";
  return served;
}

Result<SettingValue> parse_setting(const Setting& setting, std::string_view text) {
  std::string_view word = trimmed(text);
  SettingValue value;
  bool good = false;
  switch (setting.type) {
    case SettingType::kBool: good = parse_bool(word, &value.number); break;
    case SettingType::kChoice: good = parse_choice(setting, word, &value.number); break;
    case SettingType::kText:
    case SettingType::kPath: good = parse_text(setting, word, &value.text); break;
    case SettingType::kBytes:
      good = parse_bytes(word, &value.number) && value.number >= setting.least && value.number <= setting.most;
      break;
    case SettingType::kInteger:
    case SettingType::kOctal: {
      std::string_view rest;
      if (setting.type == SettingType::kOctal && (word.starts_with("0o") || word.starts_with("0O")))
        word.remove_prefix(2);
      good = take_number(word, setting.type == SettingType::kOctal ? 8 : 10, &value.number, &rest) && rest.empty() &&
             value.number >= setting.least && value.number <= setting.most;
      break;
    }
  }
  if (!good) return not_allowed(setting, text);
  return value;
}

std::string setting_text(const Setting& setting, const FileSettings& settings) {
  if (setting.text != nullptr) return settings.*setting.text;
  if (setting.get_number == nullptr) return {};
  int64_t number = setting.get_number(settings);
  switch (setting.type) {
    case SettingType::kBool: return number != 0 ? "true" : "false";
    case SettingType::kChoice: return std::string(setting.choices[static_cast<size_t>(number)]);
    case SettingType::kOctal: return octal(number);
    default: return std::to_string(number);
  }
}

void apply_setting(int setting, const SettingValue& value, Source source, std::string_view place,
                   FileSettings* settings) {
  const Setting& row = kSettings[setting];
  if (row.text != nullptr) settings->*row.text = value.text;
  else if (row.set_number != nullptr) row.set_number(*settings, value.number);
  else return;
  auto known = std::ranges::find(settings->origins, setting, &Origin::setting);
  if (known == settings->origins.end()) known = settings->origins.insert(known, Origin{});
  *known = Origin{.setting = setting, .source = source, .place = std::string(place)};
}

std::string encode(const FileSettings& settings) {
  std::string out(kMagic);
  put_string(&out, settings.path);
  for (const Setting& row : kSettings) {
    if (row.scope != SettingScope::kFile) continue;
    put_string(&out, row.name);
    put_string(&out, setting_text(row, settings));
  }
  put_number(&out, static_cast<uint32_t>(settings.origins.size()));
  for (const Origin& origin : settings.origins) {
    put_number(&out, static_cast<uint32_t>(origin.setting));
    put_number(&out, static_cast<uint32_t>(origin.source));
    put_string(&out, origin.place);
  }
  return out;
}

Result<FileSettings> decode(std::string_view bytes) {
  Decoder decoder(bytes);
  if (!decoder.literal(kMagic)) return undecodable("they do not start as expected");
  FileSettings settings;
  std::string_view text;
  if (!decoder.string(&text)) return undecodable("the path is cut off");
  settings.path = text;
  for (int i = 0; i < kSettingCount; ++i) {
    if (kSettings[i].scope != SettingScope::kFile) continue;
    std::string_view name;
    if (!decoder.string(&name) || name != kSettings[i].name) return undecodable("a setting is missing");
    if (!decoder.string(&text)) return undecodable("a value is cut off");
    Result<SettingValue> value = parse_setting(kSettings[i], text);
    if (!value.ok()) return undecodable(std::string(name) + ": " + std::string(value.status().message()));
    if (kSettings[i].text != nullptr) settings.*kSettings[i].text = value->text;
    else kSettings[i].set_number(settings, value->number);
  }
  uint32_t count = 0;
  if (!decoder.number(&count) || count > kSettingCount) return undecodable("the list of origins is malformed");
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t setting = 0, source = 0;
    std::string_view place;
    if (!decoder.number(&setting) || setting >= kSettingCount || !decoder.number(&source) ||
        source > static_cast<uint32_t>(Source::kPrefix) || !decoder.string(&place))
      return undecodable("the list of origins is malformed");
    settings.origins.push_back(Origin{static_cast<int>(setting), static_cast<Source>(source), std::string(place)});
  }
  if (!decoder.at_end()) return undecodable("bytes follow their end");
  return settings;
}

std::vector<std::pair<std::string, std::string>> hints_in_force(const FileSettings& settings) {
  std::vector<std::pair<std::string, std::string>> hints;
  for (const Setting& row : kSettings)
    if (!row.hint.empty()) hints.emplace_back(row.hint, setting_text(row, settings));
  return hints;
}

std::string_view nearest_name(std::string_view word, std::span<const std::string_view> known) {
  constexpr size_t kLongestWord = 64;
  if (word.empty() || word.size() > kLongestWord) return {};
  std::string given = lower(word);
  std::string_view nearest;
  // A third of the letters may differ; more would make the suggestion a guess.
  size_t best = std::max<size_t>(1, given.size() / 3) + 1;
  for (std::string_view candidate : known) {
    if (candidate.empty() || candidate.size() > kLongestWord) continue;
    std::string target = lower(candidate);
    std::array<std::array<size_t, kLongestWord + 1>, kLongestWord + 1> distance;
    for (size_t i = 0; i <= given.size(); ++i) distance[i][0] = i;
    for (size_t j = 0; j <= target.size(); ++j) distance[0][j] = j;
    for (size_t i = 1; i <= given.size(); ++i) {
      for (size_t j = 1; j <= target.size(); ++j) {
        size_t changed = distance[i - 1][j - 1] + (given[i - 1] == target[j - 1] ? 0 : 1);
        size_t cost = std::min({changed, distance[i - 1][j] + 1, distance[i][j - 1] + 1});
        if (i > 1 && j > 1 && given[i - 1] == target[j - 2] && given[i - 2] == target[j - 1])
          cost = std::min(cost, distance[i - 2][j - 2] + 1);
        distance[i][j] = cost;
      }
    }
    if (distance[given.size()][target.size()] < best) {
      best = distance[given.size()][target.size()];
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace suiro
