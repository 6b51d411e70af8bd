// A Tiling repeats a Pattern without end: tile k is the pattern shifted by origin + k * extent bytes. A file view is a
// tiling of the file (origin = displacement, extent = the filetype's extent, MPI-4.0 section 14.3); `count` items of a
// datatype in memory are the first `count` tiles of a tiling of the buffer.
//
// A Cursor walks a tiling and hands out Runs: batches of equally long, equally spaced pieces, so that walking a regular
// pattern costs per run and not per piece.
#pragma once

#include <cstdint>
#include <memory>

#include "access/pattern.h"

namespace suiro {

/// `count` pieces of `length` bytes; piece i starts at offset + i * stride. length > 0, count > 0. With count == 1 the
/// stride is 0.
struct Run {
  int64_t offset = 0;
  int64_t length = 0;
  int64_t stride = 0;
  int64_t count = 0;
  int64_t bytes() const { return length * count; }
  friend bool operator==(const Run&, const Run&) = default;
};

struct Tiling {
  Pattern pattern;
  int64_t origin = 0;  // bytes
  int64_t extent = 0;  // bytes between tiles

  /// All data of the tiling, of any length, is one contiguous range starting at origin + pattern.lower(): the pattern
  /// is contiguous and as long as the extent.
  bool is_contiguous() const { return pattern.is_contiguous() && pattern.size() == extent; }

  /// Offsets ascend over the whole tiling: the pattern is monotonic and the tiles do not interleave (the extent is at
  /// least upper() - lower()). Needed by data_below(). True without any data.
  bool is_monotonic() const;

  /// Position of data byte `data_offset` >= 0. kArgument when it does not fit in 64 bits or pattern.size() is 0.
  Result<int64_t> offset_of(int64_t data_offset) const;

  /// How many data bytes lie below the absolute offset `limit`, at most INT64_MAX. Requires is_monotonic() and
  /// extent > 0.
  int64_t data_below(int64_t limit) const;

  /// A range that holds every position of the data bytes [begin, end), 0 <= begin <= end: exact for a monotonic tiling,
  /// otherwise that of the whole tiles touched. Empty at 0 when begin == end. kArgument when a position does not fit in
  /// 64 bits, so this is also the check that a Cursor, pack or unpack needs beforehand.
  Result<Extent> bounds(int64_t begin, int64_t end) const;
};

/// Walks the data bytes [begin, end) of a tiling. Holds a reference to the pattern. Not thread safe; make one per call:
/// it never allocates. Patterns of more than 8 levels are walked by seeking anew at every run, which costs O(depth).
class Cursor {
 public:
  /// 0 <= begin <= end; the caller has checked with Tiling::bounds(begin, end) that the positions fit in 64 bits. A
  /// tiling without data has nothing to walk, whatever the range.
  Cursor(const Tiling& tiling, int64_t begin, int64_t end);
  ~Cursor();
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  /// The next pieces in data order, at most `max_bytes` data bytes of them (max_bytes > 0); false at the end. Pieces
  /// that touch are joined, also across parts and tiles; a piece is cut only by max_bytes and by the two ends of the
  /// range, and a piece that was cut is handed out in runs of count 1. Equally long and equally spaced pieces come in
  /// one run as far as the walk finds them (it looks at no more than a few thousand parts ahead).
  bool next(int64_t max_bytes, Run* run);
  bool next(Run* run) { return next(INT64_MAX, run); }

  /// Data bytes not handed out yet.
  int64_t remaining() const;

 private:
  struct Impl;
  alignas(16) unsigned char storage_[640];
  Impl* impl_;
};

/// Copies data bytes [begin, begin + size) of the tiling laid over `memory` to the contiguous buffer `packed`, or back.
/// `memory` is the address of the tiling's offset 0; the two memories do not overlap. The positions fit in 64 bits (see
/// Tiling::bounds). Runs at memcpy speed for pieces >= 256 bytes, with loops of their own for short ones. Pieces are
/// copied in data order, so where unpacked pieces overlap the later one wins.
void pack(const Tiling& tiling, const void* memory, int64_t begin, int64_t size, void* packed);
void unpack(const Tiling& tiling, void* memory, int64_t begin, int64_t size, const void* packed);

/// The same for one run: gathers run.count pieces from memory + run.offset into packed (run.bytes() bytes), or scatters
/// them back.
void gather_run(const Run& run, const void* memory, void* packed);
void scatter_run(const Run& run, void* memory, const void* packed);

}  // namespace suiro
