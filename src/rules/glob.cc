#include "rules/glob.h"

#include <cstddef>
#include <vector>

namespace suiro {
namespace {

std::vector<std::string_view> components_of(std::string_view path) {
  std::vector<std::string_view> components;
  size_t start = 0;
  while (start <= path.size()) {
    size_t end = path.find('/', start);
    if (end == std::string_view::npos) end = path.size();
    if (end > start) components.push_back(path.substr(start, end - start));
    start = end + 1;
  }
  return components;
}

/// Matches `c` with the bracket expression that starts at glob[at]. Sets `*next` behind it; false in `*is_class` when
/// it is never closed, so that '[' is an ordinary character.
bool class_contains(std::string_view glob, size_t at, char c, size_t* next, bool* is_class) {
  size_t i = at + 1;
  bool negated = i < glob.size() && (glob[i] == '!' || glob[i] == '^');
  if (negated) ++i;
  bool found = false;
  bool first = true;
  for (; i < glob.size(); first = false) {
    if (glob[i] == ']' && !first) {
      *next = i + 1;
      *is_class = true;
      return found != negated;
    }
    char low = glob[i];
    char high = low;
    if (i + 2 < glob.size() && glob[i + 1] == '-' && glob[i + 2] != ']') {
      high = glob[i + 2];
      i += 2;
    }
    ++i;
    auto byte = [](char x) { return static_cast<unsigned char>(x); };
    if (byte(low) <= byte(c) && byte(c) <= byte(high)) found = true;
  }
  *is_class = false;
  return false;
}

/// Whether the single token of the glob at `at` accepts `c`; `*next` is the index behind the token.
bool token_accepts(std::string_view glob, size_t at, char c, size_t* next) {
  *next = at + 1;
  switch (glob[at]) {
    case '?': return true;
    case '\\':
      if (at + 1 < glob.size()) {
        *next = at + 2;
        return glob[at + 1] == c;
      }
      return c == '\\';
    case '[': {
      bool is_class = false;
      bool accepted = class_contains(glob, at, c, next, &is_class);
      if (is_class) return accepted;
      *next = at + 1;
      return c == '[';
    }
    default: return glob[at] == c;
  }
}

/// The greedy two-pointer match: after a failure only the last '*' takes one more character, so no input makes it
/// exponential.
bool component_matches(std::string_view glob, std::string_view name) {
  constexpr size_t kNoStar = std::string_view::npos;
  size_t g = 0, n = 0, star = kNoStar, star_name = 0;
  while (n < name.size()) {
    size_t next = 0;
    if (g < glob.size() && glob[g] == '*') {
      star = ++g;
      star_name = n;
    } else if (g < glob.size() && token_accepts(glob, g, name[n], &next)) {
      g = next;
      ++n;
    } else if (star != kNoStar) {
      g = star;
      n = ++star_name;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

/// The same algorithm one level up: "**" is the star, a component the character.
bool components_match(const std::vector<std::string_view>& globs, const std::vector<std::string_view>& names) {
  constexpr size_t kNoStar = static_cast<size_t>(-1);
  size_t g = 0, n = 0, star = kNoStar, star_name = 0;
  while (n < names.size()) {
    if (g < globs.size() && globs[g] == "**") {
      star = ++g;
      star_name = n;
    } else if (g < globs.size() && component_matches(globs[g], names[n])) {
      ++g;
      ++n;
    } else if (star != kNoStar) {
      g = star;
      n = ++star_name;
    } else {
      return false;
    }
  }
  while (g < globs.size() && globs[g] == "**") ++g;
  return g == globs.size();
}

}  // namespace

bool glob_matches(std::string_view glob, std::string_view path) {
  std::vector<std::string_view> names = components_of(path);
  if (glob.find('/') == std::string_view::npos) return !names.empty() && component_matches(glob, names.back());
  std::vector<std::string_view> globs = components_of(glob);
  if (glob.front() != '/') globs.insert(globs.begin(), "**");
  return components_match(globs, names);
}

std::string absolute_path(std::string_view path, std::string_view working_directory) {
  std::vector<std::string_view> kept;
  auto add = [&kept](std::string_view part) {
    for (std::string_view component : components_of(part)) {
      if (component == ".") continue;
      if (component != "..") kept.push_back(component);
      else if (!kept.empty()) kept.pop_back();
    }
  };
  if (path.empty() || path.front() != '/') add(working_directory);
  add(path);
  if (kept.empty()) return "/";
  std::string result;
  for (std::string_view component : kept) {
    result += '/';
    result += component;
  }
  return result;
}

}  // namespace suiro
