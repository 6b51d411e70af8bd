// Paths and globs, as pure functions.
#pragma once

#include <string>
#include <string_view>

namespace suiro {

/// A glob on an absolute, lexically normal path. `*`, `?`, `[a-z]`, `[!a-z]` stay within one component, `**` as a whole
/// component stands for any number of them, `\` takes the next character literally. A glob without '/' is matched with
/// the last component; one with '/' but not at its start may begin at any component. Cost: O(glob * path).
bool glob_matches(std::string_view glob, std::string_view path);

/// `path` made absolute with `working_directory` and freed of "//", "." and ".."; symbolic links are not followed.
std::string absolute_path(std::string_view path, std::string_view working_directory);

}  // namespace suiro
