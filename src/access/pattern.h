// Which bytes: a Pattern is a finite, ordered selection of bytes relative to an origin, as an MPI datatype describes it
// (its type map, MPI-4.0 section 5.1, without the basic types). It is kept as nested strided repetitions, so a regular
// datatype costs a few nodes however many pieces it has; only irregular block lists cost memory, at most 16 bytes per
// listed block.
//
// Invariants
//   - A Pattern is immutable and shared by reference count; copying one is cheap. All functions are pure.
//   - Order is the type map's order: byte number d of the *data* (0 <= d < size()) is at offset_of(d) from the origin.
//     Offsets may be negative, may repeat (overlap) and need not ascend.
//   - Adjacent pieces are joined when a Pattern is made: Repeat(4, 8, Bytes(8)) is Bytes(32). So are equal, regularly
//     spaced parts: Indexed and Concat become Repeat where they can. A pattern without a gap is always Bytes.
//   - Every position, and the distance between any two of them, fits in 64 bits: construction fails otherwise.
//   - Seeking costs O(depth x log(listed blocks)), never O(pieces). Properties are computed once, at construction.
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

namespace access_internal {
struct Inside;
struct Shape;
}  // namespace access_internal

class Pattern {
 public:
  /// No bytes at all.
  Pattern();

  /// `length` contiguous bytes starting at the origin. Requires length >= 0.
  static Pattern Bytes(int64_t length);

  /// `count` copies of `child`, copy i shifted by i * stride bytes; the stride may be negative or zero.
  /// Errors, here and below: kCount when a count is negative or the size does not fit in 64 bits; kArgument when a
  /// position or the span does not; kType when the pattern would be nested more than 1024 levels deep; kNoMemory.
  static Result<Pattern> Repeat(int64_t count, int64_t stride, const Pattern& child);

  /// `child` shifted by `offset` bytes.
  static Result<Pattern> Shift(int64_t offset, const Pattern& child);

  /// For each i, `lengths[i]` copies of `child` spaced `child_extent` bytes apart, the first at displacements[i] bytes.
  /// This is MPI's hindexed (and with equal lengths hindexed_block; pass one-element `lengths` for that: it then holds
  /// for every block and the pattern costs 8 bytes per block). Blocks of length 0 are dropped; regularly spaced equal
  /// blocks become a Repeat; neighbouring blocks are joined. kArgument when the two lists do not belong together.
  static Result<Pattern> Indexed(std::span<const int64_t> lengths, std::span<const int64_t> displacements,
                                 int64_t child_extent, const Pattern& child);

  /// The patterns in `children` one after the other, child i shifted by displacements[i] bytes. This is MPI's struct.
  /// Costs at most 16 bytes per block of bytes and 32 bytes per other child.
  static Result<Pattern> Concat(std::span<const int64_t> displacements, std::span<const Pattern> children);

  /// Data bytes selected (MPI_Type_size).
  int64_t size() const;
  /// Lowest offset selected and one past the highest (MPI's true lower and upper bound); both 0 when size() is 0.
  int64_t lower() const;
  int64_t upper() const;
  /// One block of bytes without a gap, in order: size() == upper() - lower(). True for an empty pattern.
  bool is_contiguous() const;
  /// Offsets ascend from each data byte to the next: a filetype as MPI asks for it (monotonically nondecreasing
  /// displacements, MPI-4.0 section 14.1.1) whose pieces do not overlap. Implies is_free_of_overlap().
  bool is_monotonic() const;
  /// The starts of the contiguous pieces never descend in data order (pieces may overlap). The lenient form of the
  /// rule, used to reject filetypes that no MPI can accept.
  bool starts_ascend() const;
  /// No byte is selected twice. True only when proven: for monotonic patterns, parts that keep apart in any order, and
  /// nested strides that interleave as a transposed array does. May say false for more exotic patterns.
  bool is_free_of_overlap() const;

  /// Offset of data byte `data_offset` from the origin. 0 <= data_offset < size().
  int64_t offset_of(int64_t data_offset) const;

  /// How many data bytes have an offset < `limit`, which may be any number. Requires is_monotonic().
  int64_t data_below(int64_t limit) const;

  /// Bytes of memory that this pattern occupies (shared nodes counted once).
  size_t memory_bytes() const;
  /// For messages and tests: "repeat(3, 16, bytes(8))"; long lists are abbreviated.
  std::string describe() const;

 private:
  friend struct access_internal::Inside;
  Pattern(std::shared_ptr<const access_internal::Shape> shape, int64_t offset);
  std::shared_ptr<const access_internal::Shape> shape_;  // null: no bytes
  int64_t offset_ = 0;  // of the first data byte
};

}  // namespace suiro
