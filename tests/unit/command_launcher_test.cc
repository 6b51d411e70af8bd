// Finding the launcher and the programs in a command line.
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "launcher.h"

namespace suiro::command {
namespace {

/// Every word that does not look like an option, a number or a setting is a program here, but for a few values.
std::optional<std::string> find(std::string_view word) {
  static constexpr std::string_view kValues = "0123456789./:=,-";
  if (word.empty() || kValues.find(word[0]) != std::string_view::npos) return std::nullopt;
  if (word == "unknown" || word.find('=') != std::string_view::npos) return std::nullopt;
  return "/usr/bin/" + std::string(word);
}

std::string real_path(const std::string& path) {
  if (path.ends_with("mpiexec.openmpi") || path.ends_with("mpirun")) return "/usr/bin/orterun";
  if (path.ends_with("mpiexec.mpich")) return "/usr/bin/mpiexec.hydra";
  return path;
}

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> result;
  for (std::string word; in >> word;) result.push_back(word);
  return result;
}

LaunchLine understood(const std::string& line) { return understand(words(line), find, real_path); }

std::string programs(const std::string& line) {
  std::string names;
  for (size_t index : understood(line).programs) names += (names.empty() ? "" : " ") + words(line)[index];
  return names;
}

TEST(Understand, FindsTheProgramBehindTheOptions) {
  EXPECT_EQ(programs("app"), "app");
  EXPECT_EQ(programs("app mpirun other"), "app");
  EXPECT_EQ(programs("mpirun -n 4 app other"), "app");
  EXPECT_EQ(programs("mpirun app -n other"), "app");
  EXPECT_EQ(programs("mpirun --map-by node --bind-to core -x PATH --mca io romio321 app"), "app");
  EXPECT_EQ(programs("mpirun --np=4 --oversubscribe app"), "app");
  EXPECT_EQ(programs("mpiexec.mpich -genv env value -wdir tmp -hosts a,b app"), "app");
  EXPECT_EQ(programs("srun -p debug --mpi pmi2 -t 10 app"), "app");
  EXPECT_EQ(programs("mpirun --new-option unknown app"), "app");
  EXPECT_EQ(programs("mpirun -n 1 app : -n 2 --host x other : third"), "app other third");
  EXPECT_EQ(programs("timeout -k 5 60 mpirun -n 2 env A=1 nice app"), "app");
  EXPECT_EQ(programs("env -i A=b app"), "app");
  EXPECT_EQ(programs("mpirun -n 4"), "");
  EXPECT_EQ(programs("mpirun --host"), "");
  EXPECT_EQ(programs("mpirun -n 4 unknown"), "");
}

TEST(Understand, TellsLaunchersApart) {
  EXPECT_EQ(understood("app").kind, LauncherKind::kNone);
  EXPECT_EQ(understood("mpirun app").kind, LauncherKind::kOpenMpi);
  EXPECT_EQ(understood("orterun app").kind, LauncherKind::kOpenMpi);
  EXPECT_EQ(understood("/opt/bin/prterun app").kind, LauncherKind::kOpenMpi);
  EXPECT_EQ(understood("mpiexec.mpich app").kind, LauncherKind::kHydra);
  EXPECT_EQ(understood("mpiexec.hydra app").kind, LauncherKind::kHydra);
  EXPECT_EQ(understood("mpiexec app").kind, LauncherKind::kOther);
  EXPECT_EQ(understood("srun app").kind, LauncherKind::kSrun);
  EXPECT_EQ(understood("jsrun app").kind, LauncherKind::kOther);
  EXPECT_EQ(understood("timeout 9 mpirun app").launcher, 2u);
  EXPECT_EQ(understood("mpirun srun").kind, LauncherKind::kOpenMpi);  // the first one counts
}

TEST(Options, AreFoundInAllSpellings) {
  for (const char* line : {"mpirun --host a,b app", "mpirun -host a,b app", "mpirun --host=a,b app"}) {
    EXPECT_TRUE(has_option(understood(line), "host")) << line;
    EXPECT_EQ(option_value(understood(line), "host"), "a,b") << line;
  }
  EXPECT_FALSE(has_option(understood("mpirun -n 2 app --host a"), "host"));
  EXPECT_FALSE(has_option(understood("mpirun -x host app"), "host"));
  EXPECT_EQ(option_value(understood("mpirun -n 2 app"), "host"), std::nullopt);
  EXPECT_EQ(option_value(understood("mpirun --host"), "host"), std::nullopt);
}

TEST(Understand, AnyWordsAreFine) {
  const std::string kWords[] = {"mpirun", "-n",  "4", ":",  "",      "-",       "--",
                                "env",    "app", "=", "-x", "--mca", "unknown", "srun"};
  std::mt19937_64 random(5);
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::string> command;
    for (size_t n = random() % 9; n > 0; --n) command.push_back(kWords[random() % std::size(kWords)]);
    LaunchLine line = understand(command, find, real_path);
    for (size_t index : line.programs) ASSERT_LT(index, command.size());
    if (line.kind != LauncherKind::kNone) {
      ASSERT_LT(line.launcher, command.size());
    }
    for (const std::string& option : line.options) (void)has_option(line, option);
  }
}

}  // namespace
}  // namespace suiro::command
