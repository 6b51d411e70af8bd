// The table of settings: every row parses its own default, prints what it parses, and travels through encode/decode.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "rules/settings.h"

namespace suiro {
namespace {

const Setting& row(std::string_view name) {
  int index = find_setting_by_name(name);
  EXPECT_GE(index, 0) << name;
  return setting_table()[static_cast<size_t>(index)];
}

int64_t number(std::string_view name, std::string_view text) {
  Result<SettingValue> value = parse_setting(row(name), text);
  EXPECT_TRUE(value.ok()) << name << "=" << text << ": " << value.status().message();
  return value.ok() ? value->number : -1;
}

std::string refusal(std::string_view name, std::string_view text) {
  Result<SettingValue> value = parse_setting(row(name), text);
  EXPECT_FALSE(value.ok()) << name << "=" << text;
  if (value.ok()) return "";
  EXPECT_EQ(value.status().kind(), ErrorKind::kArgument);
  return std::string(value.status().message());
}

void set_value(std::string_view name, std::string_view text, FileSettings* settings) {
  Result<SettingValue> value = parse_setting(row(name), text);
  ASSERT_TRUE(value.ok()) << value.status().message();
  apply_setting(find_setting_by_name(name), *value, Source::kUserFile, "a.toml:3", settings);
}

FileSettings unusual_settings() {
  FileSettings settings;
  settings.path = "/data/a file;with=odd,characters\n";
  set_value("preset", "stripe", &settings);
  set_value("on_error", "fail", &settings);
  set_value("file_perm", "0640", &settings);
  set_value("read_sieve_bytes", "3K", &settings);
  set_value("strided_write", "map", &settings);
  set_value("map_piece_below_bytes", "17", &settings);
  set_value("stage_bytes", "1GiB", &settings);
  set_value("shared_dir", "/run/user/1000/x y", &settings);
  return settings;
}

TEST(SettingTable, NamesFollowTheConventionAndAreUnique) {
  std::set<std::string_view> names, variables, hints;
  for (const Setting& setting : setting_table()) {
    EXPECT_TRUE(variables.insert(setting.environment).second) << setting.environment;
    EXPECT_TRUE(setting.environment.starts_with("SUIRO")) << setting.environment;
    EXPECT_FALSE(setting.meaning.empty()) << setting.environment;
    EXPECT_TRUE(setting.meaning.ends_with('.')) << setting.environment;
    if (setting.scope == SettingScope::kProcess) continue;
    EXPECT_TRUE(names.insert(setting.name).second) << setting.name;
    EXPECT_TRUE(hints.insert(setting.hint).second) << setting.hint;
    std::string upper = "SUIRO_";
    for (char c : setting.name) upper += static_cast<char>(std::toupper(c));
    EXPECT_EQ(setting.environment, upper);
    EXPECT_EQ(setting.hint, setting.name == "file_perm" ? "file_perm" : "suiro_" + std::string(setting.name));
    EXPECT_TRUE(setting.text != nullptr || (setting.get_number != nullptr && setting.set_number != nullptr));
  }
}

TEST(SettingTable, EveryDefaultIsTheOneOfFileSettings) {
  for (const Setting& setting : setting_table()) {
    if (setting.scope == SettingScope::kProcess) continue;
    Result<SettingValue> value = parse_setting(setting, setting.default_text);
    ASSERT_TRUE(value.ok()) << setting.name;
    FileSettings settings;
    std::string before = setting_text(setting, settings);
    int index = find_setting_by_name(setting.name);
    apply_setting(index, *value, Source::kHint, "hint", &settings);
    EXPECT_EQ(setting_text(setting, settings), before) << setting.name;
    EXPECT_EQ(settings.origin(index).source, Source::kHint);
  }
}

TEST(SettingTable, PrintedValuesAreReadBack) {
  FileSettings settings = unusual_settings();
  for (const Setting& setting : setting_table()) {
    if (setting.scope == SettingScope::kProcess) continue;
    std::string text = setting_text(setting, settings);
    Result<SettingValue> value = parse_setting(setting, text);
    ASSERT_TRUE(value.ok()) << setting.name << "=" << text;
    FileSettings again;
    apply_setting(find_setting_by_name(setting.name), *value, Source::kHint, "", &again);
    EXPECT_EQ(setting_text(setting, again), text) << setting.name;
  }
}

TEST(ParseSetting, BytesTakeBinarySuffixes) {
  EXPECT_EQ(number("read_sieve_bytes", "0"), 0);
  EXPECT_EQ(number("read_sieve_bytes", "4096"), 4096);
  EXPECT_EQ(number("read_sieve_bytes", "4K"), 4096);
  EXPECT_EQ(number("read_sieve_bytes", "4KiB"), 4096);
  EXPECT_EQ(number("read_sieve_bytes", " 4 kib "), 4096);
  EXPECT_EQ(number("read_sieve_bytes", "2m"), 2 << 20);
  EXPECT_EQ(number("read_sieve_bytes", "1G"), 1 << 30);
  EXPECT_EQ(number("read_sieve_bytes", "12 B"), 12);
}

TEST(ParseSetting, BytesRefuseWhatIsAmbiguousOrOutOfRange) {
  for (const char* text : {"", " ", "K", "4KB", "4 kilo", "-1", "1.5M", "0x100", "4K4", "2G", "9223372036854775807",
                           "99999999999999999999", "9223372036854775807T", "+4"})
    EXPECT_NE(refusal("read_sieve_bytes", text).find("0 to 1 GiB"), std::string::npos) << text;
  EXPECT_NE(refusal("stage_bytes", "4095").find("4 KiB to 1 GiB"), std::string::npos);
  EXPECT_EQ(number("stage_bytes", "4096"), 4096);
}

TEST(ParseSetting, ModesAreOctal) {
  EXPECT_EQ(number("file_perm", "640"), 0640);
  EXPECT_EQ(number("file_perm", "0640"), 0640);
  EXPECT_EQ(number("file_perm", "0o640"), 0640);
  for (const char* text : {"", "0o", "888", "17777", "-1", "rw-r--r--", "0x1ff"}) refusal("file_perm", text);
}

TEST(ParseSetting, ChoicesNameWhatIsAllowedAndWhatIsNotBuiltIn) {
  EXPECT_EQ(number("preset", "direct"), static_cast<int>(Preset::kDirect));
  EXPECT_EQ(number("preset", "Direct"), static_cast<int>(Preset::kDirect));
  EXPECT_EQ(number("preset", "pmem"), static_cast<int>(Preset::kBurst));
  std::string why = refusal("preset", "dirct");
  EXPECT_NE(why.find("'dirct'"), std::string::npos) << why;
  EXPECT_NE(why.find("none, direct (not built in yet: ring, burst, stripe)"), std::string::npos) << why;
}

TEST(ParseSetting, PathsAreAbsoluteAndFitIntoAHint) {
  EXPECT_TRUE(parse_setting(row("shared_dir"), "/" + std::string(254, 'd')).ok());
  refusal("shared_dir", "/" + std::string(255, 'd'));
  refusal("shared_dir", "relative");
  refusal("shared_dir", "");
  refusal("shared_dir", std::string_view("/a\0b", 4));
}

TEST(Origins, ALaterSourceReplacesTheEarlierOne) {
  FileSettings settings;
  int index = find_setting_by_name("stage_bytes");
  EXPECT_EQ(settings.origin(index).source, Source::kDefault);
  set_value("stage_bytes", "8K", &settings);
  apply_setting(index, SettingValue{16384, ""}, Source::kHint, "hint suiro_stage_bytes", &settings);
  ASSERT_EQ(settings.origins.size(), 1u);
  EXPECT_EQ(settings.origin(index).source, Source::kHint);
  EXPECT_EQ(settings.origin(index).place, "hint suiro_stage_bytes");
  EXPECT_EQ(settings.stage_bytes, 16384);
}

TEST(HintsInForce, HoldEverySettingOfAFileAsShortText) {
  FileSettings settings = unusual_settings();
  auto hints = hints_in_force(settings);
  std::set<std::string> keys;
  for (const auto& [key, value] : hints) {
    EXPECT_TRUE(keys.insert(key).second) << key;
    EXPECT_LE(key.size(), 255u);
    EXPECT_LE(value.size(), 255u);
    EXPECT_FALSE(value.empty()) << key;
  }
  EXPECT_TRUE(keys.contains("suiro_preset"));
  EXPECT_TRUE(keys.contains("file_perm"));
  for (const auto& [key, value] : hints) EXPECT_TRUE(key != "suiro_stage_bytes" || value == "1073741824") << value;
}

TEST(Encoding, RestoresEveryValueAndOrigin) {
  for (const FileSettings& settings : {FileSettings{}, unusual_settings()}) {
    std::string bytes = encode(settings);
    Result<FileSettings> restored = decode(bytes);
    ASSERT_TRUE(restored.ok()) << restored.status().message();
    EXPECT_EQ(encode(*restored), bytes);
    EXPECT_EQ(restored->path, settings.path);
    EXPECT_EQ(restored->preset, settings.preset);
    EXPECT_EQ(restored->on_error, settings.on_error);
    EXPECT_EQ(restored->file_perm, settings.file_perm);
    EXPECT_EQ(restored->read_sieve_bytes, settings.read_sieve_bytes);
    EXPECT_EQ(restored->strided_write, settings.strided_write);
    EXPECT_EQ(restored->map_piece_below_bytes, settings.map_piece_below_bytes);
    EXPECT_EQ(restored->stage_bytes, settings.stage_bytes);
    EXPECT_EQ(restored->shared_dir, settings.shared_dir);
    ASSERT_EQ(restored->origins.size(), settings.origins.size());
    for (size_t i = 0; i < settings.origins.size(); ++i) {
      EXPECT_EQ(restored->origins[i].setting, settings.origins[i].setting);
      EXPECT_EQ(restored->origins[i].place, settings.origins[i].place);
    }
  }
}

TEST(Encoding, EveryTruncationAndExtensionIsRefused) {
  std::string bytes = encode(unusual_settings());
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(decode(std::string_view(bytes).substr(0, length)).ok()) << length;
  EXPECT_FALSE(decode(bytes + "x").ok());
}

TEST(Encoding, DamagedBytesNeverYieldAValueOutsideTheTable) {
  std::mt19937_64 random(20261107);
  std::string good = encode(unusual_settings());
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    size_t changes = 1 + random() % 4;
    for (size_t i = 0; i < changes; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    Result<FileSettings> restored = decode(bytes);
    if (!restored.ok()) {
      EXPECT_FALSE(restored.status().message().empty());
      continue;
    }
    ++accepted;
    for (const Setting& setting : setting_table()) {
      if (setting.scope == SettingScope::kProcess) continue;
      EXPECT_TRUE(parse_setting(setting, setting_text(setting, *restored)).ok()) << setting.name;
    }
    for (const Origin& origin : restored->origins)
      EXPECT_LT(static_cast<size_t>(origin.setting), setting_table().size());
  }
  EXPECT_GT(accepted, 0);      // changes inside the path or a place are legal
  EXPECT_LT(accepted, 20000);  // and the checks do refuse
}

TEST(Encoding, RandomBytesAreRefused) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = round % 2 == 0 ? std::string() : "suiro file settings 1\n";
    for (size_t n = random() % 200; n > 0; --n) bytes.push_back(static_cast<char>(random() % 5 == 0 ? random() : 0));
    EXPECT_FALSE(decode(bytes).ok());
  }
}

TEST(NearestName, SuggestsOnlyWhatIsNear) {
  constexpr std::string_view kKnown[] = {"preset", "on_error", "stage_bytes"};
  EXPECT_EQ(nearest_name("presett", kKnown), "preset");
  EXPECT_EQ(nearest_name("perset", kKnown), "preset");
  EXPECT_EQ(nearest_name("STAGE_BYTE", kKnown), "stage_bytes");
  EXPECT_EQ(nearest_name("quite_different", kKnown), "");
  EXPECT_EQ(nearest_name("", kKnown), "");
  EXPECT_EQ(nearest_name(std::string(100000, 'p'), kKnown), "");
}

}  // namespace
}  // namespace suiro
