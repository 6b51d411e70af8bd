#include "file/access_mode.h"

#include <fcntl.h>

namespace suiro {

Status AccessMode::validate() const {
  if (!read && !write)
    return Status(ErrorKind::kAmode, "the access mode needs exactly one of RDONLY, WRONLY, RDWR");
  if (!write && (create || exclusive))
    return Status(ErrorKind::kAmode, "CREATE and EXCL cannot be combined with RDONLY");
  if (read && write && sequential) return Status(ErrorKind::kAmode, "SEQUENTIAL cannot be combined with RDWR");
  return Status();
}

int AccessMode::follower_flags() const {
  // Opened for reading too where permissions allow it (open_file.cc falls back): a shared mapping needs both.
  return write ? O_RDWR : O_RDONLY;
}

int AccessMode::creator_flags() const {
  return follower_flags() | (create ? O_CREAT : 0) | (exclusive ? O_EXCL : 0);
}

}  // namespace suiro
