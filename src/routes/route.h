// A Route takes bytes to storage and brings them back: the last part of the one data path (log -> sorter -> route).
// `direct` reads and writes the file itself; ring and stripe will pass bytes on to other processes.
//
// A route sees patterns, not lists of pieces: which bytes of the file (a range of a view's data) and which bytes of
// memory (tiles of a datatype). Every route writes exactly the bytes named, never their neighbours.
#pragma once

#include <cstddef>
#include <cstdint>

#include "access/tiling.h"
#include "base/status.h"

namespace suiro {

/// Data bytes [begin, begin + size) of a tiling laid over the file. The caller has checked that all positions are
/// non-negative and fit in 64 bits.
struct FileBytes {
  const Tiling& view;
  int64_t begin = 0;
  int64_t size = 0;
};

/// Data bytes [0, size) of a tiling laid over memory, `base` being its offset 0; size is FileBytes::size. A write only
/// reads this memory.
struct MemoryBytes {
  const Tiling& layout;
  void* base = nullptr;
};

/// One per open file and rank. Functions may be called from several threads at once. None is collective.
class Route {
 public:
  virtual ~Route() = default;

  /// Ok: every byte is visible to any reader of the file on this node. After an error an unknown part is written.
  virtual Status write(const FileBytes& where, const MemoryBytes& data) = 0;
  /// Fills the memory in data order up to the end of the file; returns the data bytes read.
  virtual Result<int64_t> read(const FileBytes& where, const MemoryBytes& data) = 0;

  /// Ok: everything this rank wrote is on the storage device and visible to all; later reads see what others synced.
  virtual Status sync() = 0;
  virtual Result<int64_t> size() = 0;
  virtual Status set_size(int64_t size) = 0;
  /// Reserves storage for the first `size` bytes; the file grows to `size` if it is shorter.
  virtual Status preallocate(int64_t size) = 0;
  /// Reports errors kept back until now. Call once, last.
  virtual Status close() = 0;
};

}  // namespace suiro
