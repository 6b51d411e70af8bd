// What a file system can do, from one table. Decides how small pieces are written (mapping or not), whether sync must
// reopen the descriptor, and what `suiro doctor` prints.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace suiro {

struct FileSystemTraits {
  std::string name;             // "ext4", "nfs", ...; "unknown (0x...)" for a magic number not in the table
  bool is_local = false;        // storage of this node, not seen by others
  bool coherent_cache = false;  // a write on one client is seen by the next read on another (always true when local)
  bool shared_mapping = false;  // stores through a shared mapping reach the file like writes do
  // Pieces shorter than this are written faster through a mapping than by a call each (bytes; measured, see
  // docs/design/0003): where the two cross depends on the file system's cost per call and per page fault.
  int64_t map_pieces_below = 0;
  bool supports_allocate = false;
};

/// Traits of the file system that holds `path` (the file itself or, when it does not exist, its directory).
/// For FUSE the mounted program's name ("fuse.mfs") is looked up, as FUSE says nothing about coherence by itself.
Result<FileSystemTraits> file_system_traits(const std::string& path);

}  // namespace suiro
