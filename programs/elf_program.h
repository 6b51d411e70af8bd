// What `suiro run` needs to know about a program before it starts it: whether a preloaded library takes effect in it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace suiro::command {

struct ElfProgram {
  bool is_elf = false;  // else a script or anything else; the other members are then empty
  bool is_64_bit = false;
  bool is_x86_64 = false;
  std::string interpreter;           // the dynamic loader; empty for a static program
  std::vector<std::string> needed;   // direct dependencies, as names
  std::vector<std::string> defined;  // those of the symbols asked for that the program itself defines
};

/// Reads headers, dynamic section and symbol tables. Damaged files yield kOther, never a crash.
Result<ElfProgram> read_elf(const std::string& path, std::span<const std::string_view> symbols);

/// The same on bytes in memory.
Result<ElfProgram> parse_elf(std::string_view bytes, std::span<const std::string_view> symbols);

struct Library {
  std::string name;  // "libmpi.so.40"
  std::string path;  // empty when the loader does not find it
};
/// All direct and indirect dependencies, as the program's own dynamic loader finds them; empty when it does not say.
std::vector<Library> libraries_of(const std::string& program, const std::string& interpreter);

}  // namespace suiro::command
