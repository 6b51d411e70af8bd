// The access mode of an open file (MPI-4.0 section 14.2.1, amode), as named flags.
#pragma once

#include "base/status.h"

namespace suiro {

struct AccessMode {
  bool read = false;
  bool write = false;
  bool create = false;
  bool exclusive = false;  // fail if the file exists
  bool append = false;     // pointers start at the end of the file
  bool delete_on_close = false;
  bool sequential = false;   // shared file pointer only
  bool unique_open = false;  // nobody else has the file open

  /// kAmode when the flags contradict each other.
  Status validate() const;
  /// The flags of open(2) for the process that creates the file, and for all others.
  int creator_flags() const;
  int follower_flags() const;
};

}  // namespace suiro
