// Which bytes: a Pattern is a finite, ordered selection of bytes relative to an origin, as an MPI datatype describes it
// (its type map, MPI-4.0 section 5.1, without the basic types). It is kept as nested strided repetitions, so a regular
// datatype costs a few nodes however many pieces it has; only irregular block lists cost memory, at most 16 bytes per
// listed block.
//
// Invariants
//   - A Pattern is immutable and shared by reference count; copying one is cheap. All functions are pure.
//   - Order is the type map's order: byte number d of the *data* (0 <= d < size()) is at offset_of(d) from the origin.
//     Offsets may be negative, may repeat (overlap) and need not ascend.
//   - Adjacent pieces are joined when a Pattern is made: contiguous(4, Bytes(8)) with stride 8 is Bytes(32).
//   - Seeking costs O(depth x log(listed blocks)), never O(pieces).
//   - Nothing here calls the system or MPI, and nothing grows with the number of pieces of a regular pattern.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/extent.h"
#include "base/status.h"

namespace suiro {

class Cursor;
namespace access_internal { struct Node; }

class Pattern {
 public:
  /// No bytes at all.
  Pattern();

  /// `length` contiguous bytes starting at the origin. length >= 0.
  static Pattern Bytes(int64_t length);

  /// `count` copies of `child`, copy i shifted by i * stride bytes. count >= 0; stride may be negative or zero.
  /// Error kCount / kArgument when the size or a bound does not fit in 64 bits.
  static Result<Pattern> Repeat(int64_t count, int64_t stride, const Pattern& child);

  /// `child` shifted by `offset` bytes.
  static Result<Pattern> Shift(int64_t offset, const Pattern& child);

  /// For each i, `lengths[i]` copies of `child` spaced `child_extent` bytes apart, the first at displacements[i] bytes.
  /// This is MPI's hindexed (and with equal lengths hindexed_block; pass one-element `lengths` for that: it then holds
  /// for every block and the pattern costs 8 bytes per block). Blocks of length 0 are dropped; regularly spaced equal
  /// blocks become a Repeat; neighbouring blocks are joined.
  static Result<Pattern> Indexed(std::span<const int64_t> lengths, std::span<const int64_t> displacements,
                                 int64_t child_extent, const Pattern& child);

  /// The patterns in `children` one after the other, child i shifted by displacements[i] bytes. This is MPI's struct.
  static Result<Pattern> Concat(std::span<const int64_t> displacements, std::span<const Pattern> children);

  /// Data bytes selected (MPI_Type_size).
  int64_t size() const;
  /// Lowest offset selected and one past the highest (MPI's true lower and upper bound); both 0 when size() is 0.
  int64_t lower() const;
  int64_t upper() const;
  /// One block of bytes without a gap, in order: size() == upper() - lower(). True for an empty pattern.
  bool is_contiguous() const;
  /// Offsets never descend in data order: what MPI asks of a filetype (monotonically nondecreasing displacements,
  /// MPI-4.0 section 14.1.1), looked at per byte, so overlapping neighbours count as descending.
  bool is_monotonic() const;
  /// The starts of the contiguous pieces never descend in data order (pieces may overlap). The lenient form of the rule,
  /// used to reject filetypes that no MPI can accept.
  bool starts_ascend() const;
  /// No byte is selected twice. May say false for exotic descending patterns that it cannot prove free of overlap;
  /// exact for monotonic patterns.
  bool is_free_of_overlap() const;

  /// Offset of data byte `data_offset` from the origin. 0 <= data_offset < size().
  int64_t offset_of(int64_t data_offset) const;

  /// How many data bytes have an offset < `limit`. Requires is_monotonic().
  int64_t data_below(int64_t limit) const;

  /// Bytes of memory that this pattern occupies (shared nodes counted once).
  size_t memory_bytes() const;
  /// For messages and tests: "repeat(3, 16, bytes(8))".
  std::string describe() const;

 private:
  friend class Cursor;
  friend struct access_internal::Node;
  explicit Pattern(std::shared_ptr<const access_internal::Node> node);
  std::shared_ptr<const access_internal::Node> node_;
};

}  // namespace suiro
