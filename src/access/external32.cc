#include "access/external32.h"

#include <bit>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>

namespace suiro {
namespace {

static_assert(std::endian::native == std::endian::little, "the native representation is little endian");
static_assert(sizeof(long) == 8 && sizeof(wchar_t) == 4 && sizeof(long double) == 16);

using std::byte;
__extension__ typedef unsigned __int128 Bits128;

uint8_t swap_bytes(uint8_t value) { return value; }
uint16_t swap_bytes(uint16_t value) { return __builtin_bswap16(value); }
uint32_t swap_bytes(uint32_t value) { return __builtin_bswap32(value); }
uint64_t swap_bytes(uint64_t value) { return __builtin_bswap64(value); }
Bits128 swap_bytes(Bits128 value) {
  return static_cast<Bits128>(__builtin_bswap64(static_cast<uint64_t>(value))) << 64 |
         __builtin_bswap64(static_cast<uint64_t>(value >> 64));
}

template <class T>
T load(const byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <class T>
void store(byte* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

/// Same size on both sides: only the order of the bytes differs, in both directions alike.
template <class T>
void swap_all(int64_t count, const byte* from, byte* to) {
  constexpr int64_t kSize = sizeof(T);
  for (int64_t i = 0; i < count; ++i) store(to + i * kSize, swap_bytes(load<T>(from + i * kSize)));
}

void swap_elements(int element_bytes, int64_t count, const byte* from, byte* to) {
  switch (element_bytes) {
    case 1: std::memcpy(to, from, static_cast<size_t>(count)); return;
    case 2: swap_all<uint16_t>(count, from, to); return;
    case 4: swap_all<uint32_t>(count, from, to); return;
    case 8: swap_all<uint64_t>(count, from, to); return;
    default: swap_all<Bits128>(count, from, to); return;
  }
}

/// Zero stays zero, all else becomes 1, which C and Fortran alike take for true.
template <class T, bool kFromExternal>
void convert_logicals(int64_t count, const byte* from, byte* to) {
  constexpr int64_t kSize = sizeof(T);
  for (int64_t i = 0; i < count; ++i) {
    T truth = load<T>(from + i * kSize) != 0 ? 1 : 0;
    store(to + i * kSize, kFromExternal ? truth : swap_bytes(truth));
  }
}

template <bool kFromExternal>
void convert_logicals_of(int element_bytes, int64_t count, const byte* from, byte* to) {
  switch (element_bytes) {
    case 1: return convert_logicals<uint8_t, kFromExternal>(count, from, to);
    case 2: return convert_logicals<uint16_t, kFromExternal>(count, from, to);
    case 4: return convert_logicals<uint32_t, kFromExternal>(count, from, to);
    default: return convert_logicals<uint64_t, kFromExternal>(count, from, to);
  }
}

/// Stores integers of type Native as the narrower External. Returns the index of the first that does not fit, or count.
template <class Native, class External>
int64_t narrow_all(int64_t count, const byte* native, byte* external) {
  constexpr int64_t kNative = sizeof(Native);
  constexpr int64_t kExternal = sizeof(External);
  for (int64_t i = 0; i < count; ++i) {
    Native value = load<Native>(native + i * kNative);
    auto narrow = static_cast<External>(value);
    if (static_cast<Native>(narrow) != value) return i;
    store(external + i * kExternal, swap_bytes(static_cast<std::make_unsigned_t<External>>(narrow)));
  }
  return count;
}

template <class Native, class External>
void widen_all(int64_t count, const byte* external, byte* native) {
  constexpr int64_t kNative = sizeof(Native);
  constexpr int64_t kExternal = sizeof(External);
  for (int64_t i = 0; i < count; ++i) {
    auto bits = swap_bytes(load<std::make_unsigned_t<External>>(external + i * kExternal));
    store(native + i * kNative, static_cast<Native>(static_cast<External>(bits)));
  }
}

// x87 extended precision: 64 bits of significand whose highest bit, the integer bit, is stored, then 15 bits of
// exponent and the sign. IEEE quad precision has the same exponent and sign and 112 bits of fraction, with an implicit
// integer bit: the 63 bits of fraction become its highest bits, and nothing is lost.
constexpr int64_t kX87Bytes = 16;
constexpr uint64_t kIntegerBit = uint64_t{1} << 63;
constexpr uint32_t kMaxExponent = 0x7fff;
constexpr int kQuadFractionBits = 112;
constexpr int kExtraFractionBits = kQuadFractionBits - 63;

/// False for the bit patterns that stand for no number (a missing integer bit where the exponent demands one).
bool store_quad(const byte* x87, byte* quad) {
  auto significand = load<uint64_t>(x87);
  auto sign_and_exponent = load<uint16_t>(x87 + 8);
  uint32_t exponent = sign_and_exponent & kMaxExponent;
  Bits128 sign = sign_and_exponent >> 15;
  bool integer_bit = (significand & kIntegerBit) != 0;
  if (exponent != 0 && !integer_bit) return false;
  // A denormal with the integer bit set is the normal number of the same value.
  if (exponent == 0 && integer_bit) exponent = 1;
  Bits128 fraction = static_cast<Bits128>(significand & ~kIntegerBit) << kExtraFractionBits;
  store(quad, swap_bytes(sign << 127 | static_cast<Bits128>(exponent) << kQuadFractionBits | fraction));
  return true;
}

void load_quad(const byte* quad, byte* x87) {
  Bits128 bits = swap_bytes(load<Bits128>(quad));
  auto sign = static_cast<uint32_t>(bits >> 127);
  uint32_t exponent = static_cast<uint32_t>(bits >> kQuadFractionBits) & kMaxExponent;
  Bits128 fraction = bits & ((static_cast<Bits128>(1) << kQuadFractionBits) - 1);
  auto significand = static_cast<uint64_t>(fraction >> kExtraFractionBits);
  if (exponent == kMaxExponent) {
    // A NaN stays one even if only dropped bits made it differ from infinity.
    if (fraction != 0 && significand == 0) significand = kIntegerBit >> 1;
    significand |= kIntegerBit;
  } else {
    if (exponent != 0) significand |= kIntegerBit;
    uint64_t dropped = static_cast<uint64_t>(fraction) & ((uint64_t{1} << kExtraFractionBits) - 1);
    constexpr uint64_t kHalf = uint64_t{1} << (kExtraFractionBits - 1);
    if (dropped > kHalf || (dropped == kHalf && (significand & 1) != 0)) {
      if (++significand == 0) {  // all ones: the next number has the next exponent, at the end infinity
        significand = kIntegerBit;
        ++exponent;
      }
    }
    if (exponent == 0 && (significand & kIntegerBit) != 0) exponent = 1;  // the largest denormal was rounded up
  }
  store(x87, significand);
  store(x87 + 8, static_cast<uint64_t>(sign << 15 | exponent));
}

int64_t x87_to_external(int64_t count, const byte* native, byte* external) {
  for (int64_t i = 0; i < count; ++i) {
    if (!store_quad(native + i * kX87Bytes, external + i * kX87Bytes)) return i;
  }
  return count;
}

void x87_from_external(int64_t count, const byte* external, byte* native) {
  for (int64_t i = 0; i < count; ++i) load_quad(external + i * kX87Bytes, native + i * kX87Bytes);
}

bool one_of(int value, int a, int b, int c, int d) { return value == a || value == b || value == c || value == d; }

bool sizes_match(BasicType type) {
  int n = type.native_bytes;
  bool equal = n == type.external_bytes;
  switch (type.kind) {
    case BasicKind::kBytes: return equal && n == 1;
    case BasicKind::kSigned:
    case BasicKind::kUnsigned: return equal ? n == 1 || one_of(n, 2, 4, 8, 16) : n == 8 && type.external_bytes == 4;
    case BasicKind::kLogical: return equal && one_of(n, 1, 2, 4, 8);
    case BasicKind::kFloat: return equal && one_of(n, 2, 4, 8, 16);
    case BasicKind::kComplex: return equal && one_of(n, 4, 8, 16, 32);
    case BasicKind::kX87: return equal && n == 16;
    case BasicKind::kComplexX87: return equal && n == 32;
    case BasicKind::kWideChar: return n == 4 && type.external_bytes == 2;
  }
  return false;
}

Status check(BasicType type, int64_t count) {
  if (!sizes_match(type)) {
    return Status(ErrorKind::kType, "external32: no basic type of kind " + std::to_string(static_cast<int>(type.kind)) +
                                        " has " + std::to_string(type.native_bytes) + " native and " +
                                        std::to_string(type.external_bytes) + " external bytes");
  }
  if (count < 0) return Status(ErrorKind::kCount, "external32: negative count " + std::to_string(count));
  return Status();
}

Status conversion_error(const char* what, int64_t element) {
  return Status(ErrorKind::kConversion, "external32: element " + std::to_string(element) + ": " + what);
}

}  // namespace

Status to_external32(BasicType type, int64_t count, const void* native, void* external) {
  SUIRO_RETURN_IF_ERROR(check(type, count));
  if (count == 0) return Status();
  auto* from = static_cast<const byte*>(native);
  auto* to = static_cast<byte*>(external);
  int64_t done = 0;
  switch (type.kind) {
    case BasicKind::kSigned:
      if (type.native_bytes == type.external_bytes) break;
      done = narrow_all<int64_t, int32_t>(count, from, to);
      return done == count ? Status() : conversion_error("the value does not fit in the 4 bytes of MPI_LONG", done);
    case BasicKind::kUnsigned:
      if (type.native_bytes == type.external_bytes) break;
      done = narrow_all<uint64_t, uint32_t>(count, from, to);
      return done == count ? Status()
                           : conversion_error("the value does not fit in the 4 bytes of MPI_UNSIGNED_LONG", done);
    case BasicKind::kWideChar:
      done = narrow_all<uint32_t, uint16_t>(count, from, to);
      return done == count ? Status() : conversion_error("the wide character does not fit in 2 bytes", done);
    case BasicKind::kLogical: convert_logicals_of<false>(type.native_bytes, count, from, to); return Status();
    case BasicKind::kX87:
      done = x87_to_external(count, from, to);
      return done == count ? Status() : conversion_error("the bits are not a long double", done);
    case BasicKind::kComplexX87:
      done = x87_to_external(2 * count, from, to);
      return done == 2 * count ? Status() : conversion_error("the bits are not a complex long double", done / 2);
    case BasicKind::kComplex: swap_elements(type.native_bytes / 2, 2 * count, from, to); return Status();
    case BasicKind::kBytes:
    case BasicKind::kFloat: break;
  }
  swap_elements(type.native_bytes, count, from, to);
  return Status();
}

Status from_external32(BasicType type, int64_t count, const void* external, void* native) {
  SUIRO_RETURN_IF_ERROR(check(type, count));
  if (count == 0) return Status();
  auto* from = static_cast<const byte*>(external);
  auto* to = static_cast<byte*>(native);
  switch (type.kind) {
    case BasicKind::kSigned:
      if (type.native_bytes == type.external_bytes) break;
      widen_all<int64_t, int32_t>(count, from, to);
      return Status();
    case BasicKind::kUnsigned:
      if (type.native_bytes == type.external_bytes) break;
      widen_all<uint64_t, uint32_t>(count, from, to);
      return Status();
    case BasicKind::kWideChar: widen_all<uint32_t, uint16_t>(count, from, to); return Status();
    case BasicKind::kLogical: convert_logicals_of<true>(type.native_bytes, count, from, to); return Status();
    case BasicKind::kX87: x87_from_external(count, from, to); return Status();
    case BasicKind::kComplexX87: x87_from_external(2 * count, from, to); return Status();
    case BasicKind::kComplex: swap_elements(type.native_bytes / 2, 2 * count, from, to); return Status();
    case BasicKind::kBytes:
    case BasicKind::kFloat: break;
  }
  swap_elements(type.native_bytes, count, from, to);
  return Status();
}

}  // namespace suiro
