// Touching a mapped file safely. A page of a mapping that has no file behind it any more (another process truncated the
// file, or the disk failed) raises SIGBUS; here that becomes a return value.
#pragma once

#include <setjmp.h>

#include <cstdint>

#include "os/file.h"

namespace suiro {
namespace mapped_access_internal {
struct Frame {
  sigjmp_buf resume;
  const std::byte* begin;
  const std::byte* end;
};
/// Makes `frame` the place to resume at for this thread; null ends that. Installs the signal handler at the first use.
void enter(Frame* frame);
}  // namespace mapped_access_internal

/// Runs `touch()`, which reads or writes memory of `mapping`. False when a page of it could not be had; an unknown part
/// is done then. `touch` must hold no resources (it is left by a jump) and must not call access_mapped itself. A SIGBUS
/// from anywhere else goes to the handler that the program had before.
template <class Touch>
bool access_mapped(const Mapping& mapping, Touch touch) {
  mapped_access_internal::Frame frame;
  frame.begin = mapping.begin();
  frame.end = mapping.end();
  if (sigsetjmp(frame.resume, 0) != 0) {
    mapped_access_internal::enter(nullptr);
    return false;
  }
  mapped_access_internal::enter(&frame);
  touch();
  mapped_access_internal::enter(nullptr);
  return true;
}

/// True when a page fault of this mapping maps a large piece of the file (its folio in the page cache) and not just a page
/// or a few: tried out on the first part of `length` bytes, changing none. To be asked before the mapping is touched.
/// False for less than 256 KiB, for writing before Linux 5.14, and when the range cannot be touched at all.
bool maps_in_large_pieces(const Mapping& mapping, int64_t length, bool writable);

}  // namespace suiro
