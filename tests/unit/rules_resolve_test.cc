// Which source wins, what a bad one does, and which names belong to us.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "rules/config_file.h"
#include "rules/rules.h"

namespace suiro {
namespace {

namespace fs = std::filesystem;
using HintList = std::vector<std::pair<std::string, std::string>>;

class RulesTest : public testing::Test {
 protected:
  RulesTest() {
    std::string pattern = (fs::temp_directory_path() / "suiro-rules-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    fs::create_directories(root_ / "cwd");
    fs::create_directories(root_ / "home/.config/suiro");
    environment_.working_directory = (root_ / "cwd").string();
    environment_.variables["HOME"] = (root_ / "home").string();
    environment_.site_file = site_file();
  }
  ~RulesTest() override { fs::remove_all(root_); }

  std::string site_file() const { return (root_ / "site.toml").string(); }
  std::string cwd_file() const { return (root_ / "cwd/suiro.toml").string(); }
  std::string home_file() const { return (root_ / "home/.config/suiro/suiro.toml").string(); }

  static void write(const std::string& path, std::string_view text) {
    std::ofstream out(path, std::ios::binary);
    out << text;
    ASSERT_TRUE(out.good());
  }
  void variable(const std::string& name, const std::string& value) { environment_.variables[name] = value; }

  Rules load() const { return Rules::Load(environment_); }

  FileSettings resolve(std::string_view name, const HintList& hints = {}) const {
    Result<FileSettings> settings = load().resolve(name, hints);
    EXPECT_TRUE(settings.ok()) << settings.status().message();
    return settings.ok() ? *settings : FileSettings{};
  }
  Status refusal(std::string_view name, const HintList& hints = {}) const {
    Result<FileSettings> settings = load().resolve(name, hints);
    EXPECT_FALSE(settings.ok()) << name;
    return settings.ok() ? Status() : settings.status();
  }
  /// What resolving prints on standard error.
  std::string printed(std::string_view name, const HintList& hints = {}) const {
    Rules rules = load();
    testing::internal::CaptureStderr();
    (void)rules.resolve(name, hints).ok();
    (void)rules.resolve(name, hints).ok();
    return testing::internal::GetCapturedStderr();
  }

  fs::path root_;
  Environment environment_;
};

void expect_contains(std::string_view text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string_view::npos) << "'" << part << "' is not in: " << text;
}

std::string preset_place(const FileSettings& settings) { return settings.origin(find_setting_by_name("preset")).place; }

TEST_F(RulesTest, WithoutAnySourceAFileIsUnroutedAndItsNameUntouched) {
  for (const char* name : {"out.h5", "/a//b/../c", "ufs:/a", "pvfs2:/a", "name:with:colons", ""}) {
    FileSettings settings = resolve(name);
    EXPECT_EQ(settings.preset, Preset::kNone) << name;
    EXPECT_EQ(settings.path, name);
    EXPECT_TRUE(settings.origins.empty());
  }
}

TEST_F(RulesTest, EachSourceOverridesTheWeakerOnes) {
  write(site_file(), "[defaults]\npreset='direct'\nstage_bytes='8K'\n");
  EXPECT_EQ(resolve("x").stage_bytes, 8 << 10);
  EXPECT_EQ(preset_place(resolve("x")), site_file() + ":2");

  write(home_file(), "[defaults]\nstage_bytes='16K'\n");
  EXPECT_EQ(resolve("x").stage_bytes, 16 << 10);
  EXPECT_EQ(resolve("x").preset, Preset::kDirect);  // key by key

  write(cwd_file(), "[defaults]\nstage_bytes='32K'\n");  // hides the one in the home directory
  EXPECT_EQ(resolve("x").stage_bytes, 32 << 10);

  write((root_ / "chosen.toml").string(), "[defaults]\nstage_bytes='64K'\n");  // hides both
  variable("SUIRO_CONFIG", (root_ / "chosen.toml").string());
  EXPECT_EQ(resolve("x").stage_bytes, 64 << 10);

  variable("SUIRO_STAGE_BYTES", "128K");
  EXPECT_EQ(resolve("x").stage_bytes, 128 << 10);
  EXPECT_EQ(resolve("x").origin(find_setting_by_name("stage_bytes")).place, "SUIRO_STAGE_BYTES");

  variable("SUIRO_RULES", "y=none;x=direct,stage_bytes=256K");
  EXPECT_EQ(resolve("x").stage_bytes, 256 << 10);
  EXPECT_EQ(resolve("y").stage_bytes, 128 << 10);
  EXPECT_EQ(resolve("y").preset, Preset::kNone);

  EXPECT_EQ(resolve("x", {{"suiro_stage_bytes", "512K"}}).stage_bytes, 512 << 10);
  EXPECT_EQ(resolve("x", {{"suiro_preset", "none"}}).preset, Preset::kNone);
  EXPECT_EQ(resolve("direct:x", {{"suiro_preset", "none"}}).preset, Preset::kDirect);
  EXPECT_EQ(preset_place(resolve("direct:x")), "prefix direct:");
}

TEST_F(RulesTest, LaterRulesOverrideEarlierOnesKeyByKey) {
  write(cwd_file(),
        "[[rule]]\nmatch = '*.h5'\npreset = 'direct'\nstage_bytes = 8192\non_error='fail'\n"
        "[[rule]]\nmatch = ['special.*', '/other/**']\nstage_bytes = '16KiB'\n"
        "[defaults]\nfile_perm = 0o640\nstage_bytes = '4K'\n");  // defaults come first wherever they stand
  FileSettings special = resolve("special.h5");
  EXPECT_EQ(special.preset, Preset::kDirect);
  EXPECT_EQ(special.stage_bytes, 16384);
  EXPECT_EQ(special.on_error, OnError::kFail);
  EXPECT_EQ(special.file_perm, 0640);
  EXPECT_EQ(special.origin(find_setting_by_name("stage_bytes")).place, cwd_file() + ":8");
  EXPECT_EQ(resolve("plain.h5").stage_bytes, 8192);
  EXPECT_EQ(resolve("/other/deep/x").stage_bytes, 16384);
  EXPECT_EQ(resolve("/other/deep/x").preset, Preset::kNone);
  EXPECT_EQ(resolve("unnamed").stage_bytes, 4096);
}

TEST_F(RulesTest, GlobsSeeTheAbsolutePathWithoutPrefixes) {
  write(cwd_file(), "[[rule]]\nmatch = '" + environment_.working_directory + "/*.dat'\npreset = 'direct'\n" +
                        "[[rule]]\nmatch = '~/**'\non_error = 'fail'\n");
  EXPECT_EQ(resolve("a.dat").preset, Preset::kDirect);
  EXPECT_EQ(resolve("./sub/../a.dat").preset, Preset::kDirect);
  EXPECT_EQ(resolve("sub/a.dat").preset, Preset::kNone);
  EXPECT_EQ(resolve("ufs:a.dat").preset, Preset::kDirect);
  EXPECT_EQ(resolve("ufs:a.dat").path, "a.dat");
  EXPECT_EQ(resolve((root_ / "home/x").string()).on_error, OnError::kFail);
}

TEST_F(RulesTest, PrefixesAreStrippedAndReservedOnesRefused) {
  EXPECT_EQ(resolve("direct:/a/b").path, "/a/b");
  EXPECT_EQ(resolve("direct:a:b").path, "a:b");
  EXPECT_EQ(resolve("direct:ufs:/a").path, "/a");
  EXPECT_EQ(resolve("direct:./ufs:a").path, "./ufs:a");
  for (const char* name : {"ring:x", "burst:x", "pmem:x", "stripe:x"}) {
    Status status = refusal(name);
    EXPECT_EQ(status.kind(), ErrorKind::kUnsupportedOperation);
    expect_contains(status.message(), "is not built in yet (this is suiro ");
    expect_contains(status.message(), "); use direct: or no prefix");
  }
  expect_contains(refusal("pmem:x").message(), "'burst' (prefix pmem:)");
  EXPECT_EQ(refusal("direct:pvfs2:/a").kind(), ErrorKind::kUnsupportedOperation);
}

TEST_F(RulesTest, WordsThatAreNoPrefixBelongToTheName) {
  variable("SUIRO_PRESET", "direct");
  for (const char* name : {"results:2026", "none:x", "Direct:x", "./direct:x", "a/ufs:x", ":x", "C:/x", "direct"})
    EXPECT_EQ(resolve(name).path, name);
}

TEST_F(RulesTest, NamesOfOtherLibrariesStayWithTheNativeOne) {
  variable("SUIRO_PRESET", "direct");
  for (const char* name : {"pvfs2:/a", "daos:a", "testfs:a", "gsiftp:a", "xfs:/a", "lustre:/a", "panfs:/a"}) {
    EXPECT_EQ(resolve(name).preset, Preset::kNone) << name;
    EXPECT_EQ(resolve(name).path, name);
  }
  for (const char* name : {"ufs:/a", "nfs:/a"})
    EXPECT_EQ(resolve(name).path, "/a") << name;
}

TEST_F(RulesTest, UnusableNamesOfRoutedFilesAreRefused) {
  EXPECT_EQ(refusal("direct:").kind(), ErrorKind::kBadFile);
  EXPECT_EQ(refusal("direct:/" + std::string(256, 'c')).kind(), ErrorKind::kBadFile);
  std::string long_path = "direct:";
  for (int i = 0; i < 50; ++i) long_path += "/" + std::string(100, 'd');
  Status status = refusal(long_path);
  EXPECT_EQ(status.kind(), ErrorKind::kBadFile);
  EXPECT_LT(status.message().size(), 400u);
  EXPECT_EQ(refusal(std::string_view("direct:a\0b", 10)).kind(), ErrorKind::kBadFile);
  EXPECT_EQ(resolve("direct:/" + std::string(255, 'c')).preset, Preset::kDirect);
}

TEST_F(RulesTest, ABadPresetVariableFailsEveryOpen) {
  variable("SUIRO_PRESET", "dirct");
  Status status = refusal("x");
  expect_contains(status.message(), "SUIRO_PRESET");
  expect_contains(status.message(), "'dirct' is not allowed");
  expect_contains(status.message(), "none, direct");
  EXPECT_FALSE(load().status().ok());
  variable("SUIRO_PRESET", "ring");
  EXPECT_EQ(refusal("x").kind(), ErrorKind::kUnsupportedOperation);
  expect_contains(refusal("x").message(), "SUIRO_PRESET");
  variable("SUIRO_PRESET", "");
  EXPECT_EQ(resolve("x").preset, Preset::kNone);
}

TEST_F(RulesTest, OtherBadVariablesWarnOnceAndAreIgnored) {
  variable("SUIRO_STAGE_BYTES", "many");
  variable("SUIRO_PRESETS", "direct");
  variable("SUIRO_FOO", "1");  // near to nothing: that all names begin alike does not count
  variable("SUIRO_TEST_SOMETHING", "1");
  EXPECT_EQ(resolve("x").stage_bytes, 1 << 20);
  std::string text = printed("x");
  expect_contains(text, "SUIRO_STAGE_BYTES: 'many' is not allowed; allowed: 4 KiB to 1 GiB");
  expect_contains(text, "SUIRO_PRESETS is unknown and has no effect; did you mean 'SUIRO_PRESET'?");
  expect_contains(text, "SUIRO_FOO is unknown and has no effect\n");
  EXPECT_EQ(text.find("SUIRO_TEST"), std::string::npos);
  EXPECT_EQ(std::ranges::count(text, '\n'), 3) << text;  // two opens, each line once
}

TEST_F(RulesTest, SwitchedOffNothingIsRoutedOrEvenRead) {
  write(cwd_file(), "this is not toml");
  for (const char* off : {"off", "0", "no", "false", "OFF"}) {
    variable("SUIRO", off);
    variable("SUIRO_PRESET", "nonsense");
    EXPECT_TRUE(load().disabled());
    EXPECT_EQ(resolve("x").preset, Preset::kNone);
    EXPECT_EQ(resolve("direct:x").preset, Preset::kNone);
    EXPECT_EQ(resolve("direct:x").path, "x");  // the same program still finds its file
    EXPECT_EQ(resolve("ufs:x").path, "ufs:x");
  }
  variable("SUIRO", "maybe");
  EXPECT_FALSE(load().disabled());
  ASSERT_FALSE(load().problems().empty());
  expect_contains(load().problems()[0].text, "SUIRO: 'maybe' is not allowed; allowed: on, off");
}

TEST_F(RulesTest, BadHintsFailTheOpenUnknownOnesWarnOnce) {
  Status status = refusal("/some/file", {{"suiro_stage_bytes", "lots"}});
  EXPECT_EQ(status.kind(), ErrorKind::kInfoValue);
  for (const char* part : {"/some/file", "suiro_stage_bytes", "'lots'", "4 KiB to 1 GiB"})
    expect_contains(status.message(), part);
  EXPECT_EQ(refusal("x", {{"suiro_preset", "ring"}}).kind(), ErrorKind::kUnsupportedOperation);

  std::string text = printed("x", {{"suiro_stage_byte", "1M"}, {"cb_nodes", "4"}, {"romio_ds_write", "disable"}});
  expect_contains(text, "the hint suiro_stage_byte is unknown and has no effect; did you mean 'suiro_stage_bytes'?");
  EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;

  // MPI's own file_perm may be in another implementation's spelling.
  expect_contains(printed("x", {{"file_perm", "rw"}}), "the hint file_perm: 'rw' is not allowed");
  EXPECT_EQ(resolve("x", {{"file_perm", "600"}}).file_perm, 0600);
}

TEST_F(RulesTest, APrefixOverridesAConflictingHintWithAWarning) {
  expect_contains(printed("direct:x", {{"suiro_preset", "ring"}}),
                  "opening 'direct:x': the prefix direct: overrides the hint suiro_preset=ring");
  EXPECT_EQ(printed("direct:x", {{"suiro_preset", "direct"}}), "");
}

TEST_F(RulesTest, TheHintsOfOneFileCanOpenAnother) {
  FileSettings first = resolve("direct:x", {{"suiro_stage_bytes", "8K"}});
  FileSettings second = resolve("y", hints_in_force(first));
  EXPECT_EQ(second.preset, Preset::kDirect);
  EXPECT_EQ(second.stage_bytes, 8192);
}

TEST_F(RulesTest, BadUserFilesFailAndNameThePlace) {
  struct Case {
    const char* text;
    const char* place;  // line:column
    const char* message;
  };
  const Case kCases[] = {
      {"[defaults\n", ":1:10: ", "not valid TOML"},
      {"[defaults]\npreset = direct\n", ":2:", "not valid TOML"},
      {"[defaults]\npreset = 'dirct'\n", ":2:10: ", "preset: 'dirct' is not allowed; allowed: none, direct"},
      {"[defaults]\nstage_bytes = 1\n", ":2:15: ", "stage_bytes: '1' is not allowed; allowed: 4 KiB to 1 GiB"},
      {"[defaults]\nstage_bytes = 1.5\n", ":2:15: ", "stage_bytes: this kind of value"},
      {"[defaults]\nstage_bytes = [1]\n", ":2:15: ", "stage_bytes: this kind of value"},
      {"[defaults]\nfile_perm = 640\n", ":2:13: ", "file_perm: this kind of value is not allowed; allowed: octal"},
      {"[defaults]\nstage_byte = 1\n", ":2:1: ", "unknown key 'stage_byte' in [defaults]; did you mean 'stage_bytes'?"},
      {"[default]\n",
       ":1:", "unknown key 'default'; allowed at the top of the file: [defaults], [[rule]]; did you mean"},
      {"stage_bytes = 1\n", ":1:1: ", "unknown key 'stage_bytes'"},
      {"[rule]\nmatch = 'x'\n", ":1:1: ", "rule must be written as [[rule]]"},
      {"rule = [1]\n", ":1:9: ", "a rule must be written as [[rule]]"},
      {"defaults = 1\n", ":1:12: ", "defaults must be written as [defaults]"},
      {"[[rule]]\npreset = 'direct'\n", ":1:1: ", "no match"},
      {"[[rule]]\nmatch = 7\n", ":2:9: ", "match must be a glob"},
      {"[[rule]]\nmatch = ''\n", ":2:9: ", "match must be a glob"},
      {"[[rule]]\nmatch = ['a', 7]\n", ":2:15: ", "match must be a glob"},
      {"[[rule]]\nmatch = []\n", ":2:9: ", "empty list"},
      {"[[rule]]\nmach = 'x'\nmatch = 'y'\n", ":2:1: ", "unknown key 'mach' in [rule]; did you mean 'match'?"},
      {"[defaults]\nmatch = 'x'\n", ":2:1: ", "unknown key 'match' in [defaults]"},
      {"\xff\xfe\n", ":1:", "not valid TOML"},
      {"[defaults]\npr\xc3\xa9set = 'direct'\n", ":2:", "not valid TOML"},
      {"[\xc3\xa9]\n", ":1:", "not valid TOML"},
  };
  for (const Case& c : kCases) {
    write(cwd_file(), c.text);
    Status status = refusal("direct:x");
    expect_contains(status.message(), cwd_file() + c.place);
    expect_contains(status.message(), c.message);
  }
}

TEST_F(RulesTest, AFileTheUserChoseMustBeReadable) {
  variable("SUIRO_CONFIG", (root_ / "missing.toml").string());
  Status status = refusal("x");
  // Not "no such file": a program takes that for an answer about the file it opens.
  EXPECT_EQ(status.kind(), ErrorKind::kOther);
  expect_contains(status.message(), "missing.toml: No such file or directory");
  variable("SUIRO_CONFIG", root_.string());
  expect_contains(refusal("x").message(), "is not a regular file");
  write((root_ / "big.toml").string(), std::string((1 << 20) + 1, '#'));
  variable("SUIRO_CONFIG", (root_ / "big.toml").string());
  expect_contains(refusal("x").message(), "longer than 1 MiB");
}

TEST_F(RulesTest, ABadSiteFileIsIgnoredWithAWarning) {
  write(site_file(), "[defaults]\npreset = 'direct'\nbad = 1\n");
  EXPECT_EQ(resolve("x").preset, Preset::kNone);
  expect_contains(printed("x"), site_file() + ":3:1: unknown key 'bad'");
  expect_contains(printed("x"), "the whole file is ignored");
}

TEST_F(RulesTest, BadRuleListsFail) {
  for (const char* text : {"direct", "=direct", "*.h5=", "*.h5=dirct", "*.h5=direct,stage", "*.h5=direct,stage=1",
                           "*.h5=direct,=1", "a=direct;b"}) {
    variable("SUIRO_RULES", text);
    expect_contains(refusal("x").message(), "SUIRO_RULES: in '");
  }
  variable("SUIRO_RULES", "a=b.dat=direct; ;");
  EXPECT_EQ(resolve("a=b.dat").preset, Preset::kDirect);
}

TEST_F(RulesTest, RulesOfAProcessFollowItsWorkingDirectory) {
  environment_.follow_working_directory = true;
  write(cwd_file(), "[[rule]]\nmatch = '" + fs::canonical(root_).string() + "/elsewhere/*'\npreset = 'direct'\n");
  Rules rules = load();
  fs::path before = fs::current_path();
  fs::create_directories(root_ / "elsewhere");
  fs::current_path(root_ / "elsewhere");
  Preset there = rules.resolve("x", {}).value().preset;
  fs::current_path(before);
  EXPECT_EQ(there, Preset::kDirect);
  EXPECT_EQ(rules.resolve("x", {}).value().preset, Preset::kNone);
}

TEST_F(RulesTest, RandomTextNeverCrashesTheReader) {
  std::mt19937_64 random(99);
  const std::string kPieces[] = {"[defaults]\n",
                                 "[[rule]]\n",
                                 "match",
                                 "=",
                                 "'*.h5'",
                                 "\n",
                                 "preset",
                                 "'direct'",
                                 "[",
                                 "]",
                                 "\"",
                                 "{",
                                 "}",
                                 ",",
                                 "0o640",
                                 "1e9",
                                 "true",
                                 "stage_bytes",
                                 "1979-05-27",
                                 "\\u00",
                                 "#",
                                 ".",
                                 "'''",
                                 "-",
                                 "\xc3\xa9",
                                 "\xff",
                                 "rule",
                                 std::string(1, '\0'),
                                 "[[[[[[[["};
  // check-long asks for more rounds than the 20000 that take a fraction of a second.
  const char* asked = std::getenv("SUIRO_TEST_ROUNDS");
  int rounds = std::max(20000, asked != nullptr ? 100 * std::atoi(asked) : 0);
  int accepted = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string text;
    for (size_t n = random() % 24; n > 0; --n) {
      if (random() % 4 == 0) text.push_back(static_cast<char>(random()));
      else text += kPieces[random() % std::size(kPieces)];
    }
    Result<std::vector<Rule>> rules = parse_config(text, "fuzz.toml", "/home/x");
    accepted += rules.ok();
    EXPECT_TRUE(rules.ok() || rules.status().message().starts_with("fuzz.toml:")) << rules.status().message();
    (void)parse_rule_list(text, "SUIRO_RULES", "").ok();
  }
  EXPECT_GT(accepted, 10);
  std::string deep = "x = " + std::string(100000, '[');
  EXPECT_FALSE(parse_config(deep, "fuzz.toml", "").ok());
}

TEST_F(RulesTest, ResolvingAnUnroutedNameIsCheap) {
  Rules rules = load();
  constexpr int kRounds = 20000;
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kRounds; ++i) ASSERT_EQ(rules.resolve("/data/out.h5", {})->preset, Preset::kNone);
  auto took = std::chrono::steady_clock::now() - start;
  // About 0.2 us here; the limit leaves room for sanitizers and a busy machine.
  EXPECT_LT(took / kRounds, std::chrono::microseconds(20));
}

}  // namespace
}  // namespace suiro
