// Byte ranges and checked 64-bit arithmetic. Offsets and lengths are signed 64-bit everywhere, as MPI_Offset is; an
// overflow is an error value, never a wrap.
#pragma once

#include <cstdint>
#include <optional>

namespace suiro {

/// A contiguous range of bytes: [offset, offset + length). Units: bytes.
struct Extent {
  int64_t offset = 0;
  int64_t length = 0;
  int64_t end() const { return offset + length; }
  friend bool operator==(const Extent&, const Extent&) = default;
};

/// a + b, or nothing when it does not fit in 64 bits.
inline std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

/// a * b, or nothing when it does not fit in 64 bits.
inline std::optional<int64_t> checked_mul(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

}  // namespace suiro
