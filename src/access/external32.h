// Conversion of basic elements between the native representation (little endian, LP64, x87 long double) and MPI's
// portable external32 (MPI-4.0 section 14.5.2): big endian, IEEE floating point, sizes fixed by the standard.
//
// All functions are pure and thread safe; the buffers are contiguous, need no alignment and must not overlap.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace suiro {

/// How the bytes of an element are to be understood.
enum class BasicKind : uint8_t {
  kBytes,       // not converted: bytes, packed data, 8-bit characters
  kSigned,      // two's complement integer
  kUnsigned,    // unsigned integer
  kLogical,     // C _Bool, C++ bool, Fortran LOGICAL: zero is false; every other value is true, and written as 1
  kFloat,       // IEEE binary floating point of 2, 4, 8 or 16 bytes
  kX87,         // x87 extended precision, 16 bytes in memory; IEEE quad precision in external32
  kComplex,     // two kFloat; the sizes are those of the pair
  kComplexX87,  // two kX87
  kWideChar,    // wchar_t, 4 bytes; 2 bytes in external32
};

/// One basic datatype. Which sizes go together:
///   kBytes 1 : 1            kSigned, kUnsigned n : n for n = 1, 2, 4, 8, 16, and 8 : 4 (MPI_LONG, MPI_UNSIGNED_LONG)
///   kLogical n : n for n = 1, 2, 4, 8     kFloat n : n for n = 2, 4, 8, 16     kComplex n : n for n = 4, 8, 16, 32
///   kX87 16 : 16            kComplexX87 32 : 32            kWideChar 4 : 2
struct BasicType {
  BasicKind kind = BasicKind::kBytes;
  int native_bytes = 1;
  int external_bytes = 1;
  friend bool operator==(const BasicType&, const BasicType&) = default;
};

/// MPI_BYTE, MPI_PACKED, MPI_CHAR, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_CHARACTER.
inline constexpr BasicType kBasicByte{BasicKind::kBytes, 1, 1};
inline constexpr BasicType kBasicInt8{BasicKind::kSigned, 1, 1};
inline constexpr BasicType kBasicInt16{BasicKind::kSigned, 2, 2};
inline constexpr BasicType kBasicInt32{BasicKind::kSigned, 4, 4};
/// MPI_INT64_T, MPI_LONG_LONG, MPI_AINT, MPI_OFFSET, MPI_COUNT, MPI_INTEGER8.
inline constexpr BasicType kBasicInt64{BasicKind::kSigned, 8, 8};
inline constexpr BasicType kBasicInt128{BasicKind::kSigned, 16, 16};
inline constexpr BasicType kBasicUint8{BasicKind::kUnsigned, 1, 1};
inline constexpr BasicType kBasicUint16{BasicKind::kUnsigned, 2, 2};
inline constexpr BasicType kBasicUint32{BasicKind::kUnsigned, 4, 4};
inline constexpr BasicType kBasicUint64{BasicKind::kUnsigned, 8, 8};
/// MPI_LONG and MPI_UNSIGNED_LONG: external32 gives them 4 bytes.
inline constexpr BasicType kBasicLong{BasicKind::kSigned, 8, 4};
inline constexpr BasicType kBasicUnsignedLong{BasicKind::kUnsigned, 8, 4};
inline constexpr BasicType kBasicBool{BasicKind::kLogical, 1, 1};       // MPI_C_BOOL, MPI_CXX_BOOL
inline constexpr BasicType kBasicLogical4{BasicKind::kLogical, 4, 4};   // MPI_LOGICAL
inline constexpr BasicType kBasicWideChar{BasicKind::kWideChar, 4, 2};  // MPI_WCHAR
inline constexpr BasicType kBasicReal2{BasicKind::kFloat, 2, 2};
inline constexpr BasicType kBasicFloat{BasicKind::kFloat, 4, 4};
inline constexpr BasicType kBasicDouble{BasicKind::kFloat, 8, 8};
inline constexpr BasicType kBasicReal16{BasicKind::kFloat, 16, 16};  // MPI_REAL16: gfortran's REAL(16) is IEEE quad
inline constexpr BasicType kBasicLongDouble{BasicKind::kX87, 16, 16};
inline constexpr BasicType kBasicComplexFloat{BasicKind::kComplex, 8, 8};
inline constexpr BasicType kBasicComplexDouble{BasicKind::kComplex, 16, 16};
inline constexpr BasicType kBasicComplex32{BasicKind::kComplex, 32, 32};
inline constexpr BasicType kBasicComplexLongDouble{BasicKind::kComplexX87, 32, 32};

/// Converts `count` >= 0 elements from `native` (count * native_bytes) to `external` (count * external_bytes).
/// kConversion: an element has no external32 form - a long outside 32 bits, a wide character above U+FFFF, x87 bits
/// that are no number; the message says which element. kType: sizes that do not go with the kind. On failure `external`
/// holds the elements before the failing one and is otherwise unspecified.
Status to_external32(BasicType type, int64_t count, const void* native, void* external);

/// The way back. Never fails for a valid type: every external32 value has a native form. Quad precision is rounded to
/// the nearest long double (ties to even); values written by to_external32 come back exactly. The padding of a long
/// double is written as zeros.
Status from_external32(BasicType type, int64_t count, const void* external, void* native);

}  // namespace suiro
