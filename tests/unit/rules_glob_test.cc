#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>

#include "rules/glob.h"

namespace suiro {
namespace {

struct Case {
  const char* glob;
  const char* path;
  bool matches;
};

TEST(GlobMatches, FollowsTheDocumentedRules) {
  const Case kCases[] = {
      // Without '/': the last component.
      {"*.h5", "/data/run/out.h5", true},
      {"*.h5", "/data/run.h5/out", false},
      {"out.h5", "/data/out.h5", true},
      {"*", "/data/out.h5", true},
      {"out.?5", "/out.h5", true},
      {"out.?5", "/out.5", false},
      // Absolute: every component.
      {"/data/*.h5", "/data/out.h5", true},
      {"/data/*.h5", "/data/run/out.h5", false},
      {"/data/*/out.h5", "/data/run/out.h5", true},
      {"/data", "/data/out.h5", false},
      {"/DATA/*", "/data/out.h5", false},
      // "**": any number of components, none too.
      {"/data/**", "/data/run/1/out.h5", true},
      {"/data/**", "/data", true},
      {"/data/**", "/database/x", false},
      {"/data/**/*.h5", "/data/out.h5", true},
      {"/data/**/*.h5", "/data/a/b/c/out.h5", true},
      {"/data/**/b/**/*.h5", "/data/a/b/c/out.h5", true},
      {"/data/**/b/**/*.h5", "/data/a/c/out.h5", false},
      {"**", "/anything/at/all", true},
      {"**/x", "/a/b/x", true},
      // "**" inside a component is two stars.
      {"/data/o**t.h5", "/data/out.h5", true},
      {"/data/o**t.h5", "/data/o/t.h5", false},
      // With '/' but not at the start: from any component on.
      {"run/*.h5", "/data/run/out.h5", true},
      {"run/*.h5", "/data/rerun/out.h5", false},
      {"run/**", "/data/run/a/b", true},
      // Classes and escapes.
      {"out[0-9].h5", "/out7.h5", true},
      {"out[0-9].h5", "/outx.h5", false},
      {"out[!0-9].h5", "/outx.h5", true},
      {"out[]x].h5", "/out].h5", true},
      {"out[a-].h5", "/out-.h5", true},
      {"out[.h5", "/out[.h5", true},
      {"out\\*.h5", "/out*.h5", true},
      {"out\\*.h5", "/outx.h5", false},
      {"a\\", "/a\\", true},
      {"", "/a", false},
  };
  for (const Case& c : kCases) EXPECT_EQ(glob_matches(c.glob, c.path), c.matches) << c.glob << " on " << c.path;
}

TEST(GlobMatches, AgreesWithARecursiveReference) {
  // The obvious exponential definition, for one component.
  struct Reference {
    static bool match(std::string_view glob, std::string_view name) {
      if (glob.empty()) return name.empty();
      if (glob[0] == '*') return match(glob.substr(1), name) || (!name.empty() && match(glob, name.substr(1)));
      return !name.empty() && (glob[0] == '?' || glob[0] == name[0]) && match(glob.substr(1), name.substr(1));
    }
  };
  std::mt19937_64 random(3);
  int matched = 0;
  for (int round = 0; round < 50000; ++round) {
    std::string glob, name;
    for (size_t n = random() % 7; n > 0; --n) glob += "ab*?"[random() % 4];
    for (size_t n = 1 + random() % 7; n > 0; --n) name += "ab"[random() % 2];
    bool expected = Reference::match(glob, name);
    matched += expected;
    ASSERT_EQ(glob_matches(glob, "/dir/" + name), expected) << glob << " on " << name;
  }
  EXPECT_GT(matched, 1000);
}

TEST(GlobMatches, ComponentsAgreeWithARecursiveReference) {
  using Parts = std::vector<std::string>;
  struct Reference {
    static bool match(const Parts& glob, size_t g, const Parts& path, size_t p) {
      if (g == glob.size()) return p == path.size();
      if (glob[g] == "**") return match(glob, g + 1, path, p) || (p < path.size() && match(glob, g, path, p + 1));
      return p < path.size() && (glob[g] == "*" || glob[g] == path[p]) && match(glob, g + 1, path, p + 1);
    }
  };
  std::mt19937_64 random(4);
  const Parts kGlobParts = {"a", "b", "*", "**"};
  for (int round = 0; round < 50000; ++round) {
    Parts glob, path;
    std::string glob_text, path_text;
    for (size_t n = 1 + random() % 5; n > 0; --n) glob_text += "/" + glob.emplace_back(kGlobParts[random() % 4]);
    for (size_t n = 1 + random() % 6; n > 0; --n) path_text += "/" + path.emplace_back(kGlobParts[random() % 2]);
    ASSERT_EQ(glob_matches(glob_text, path_text), Reference::match(glob, 0, path, 0))
        << glob_text << " on " << path_text;
  }
}

TEST(GlobMatches, HostileGlobsStayCheap) {
  std::string glob, path;
  for (int i = 0; i < 500; ++i) glob += "/**/a*a*a*a*b";
  for (int i = 0; i < 1000; ++i) path += "/aaa";
  auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(glob_matches(glob, path));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST(AbsolutePath, JoinsAndNormalises) {
  EXPECT_EQ(absolute_path("out.h5", "/work"), "/work/out.h5");
  EXPECT_EQ(absolute_path("./a//b/../c", "/work"), "/work/a/c");
  EXPECT_EQ(absolute_path("../../../x", "/work/a"), "/x");
  EXPECT_EQ(absolute_path("/a/./b/", "/work"), "/a/b");
  EXPECT_EQ(absolute_path("", "/work"), "/work");
  EXPECT_EQ(absolute_path("..", "/work"), "/");
}

}  // namespace
}  // namespace suiro
