// Fixed bytes follow the table of MPI-4.0 section 14.5.2 and the IEEE formats, computed by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "access/external32.h"

namespace suiro {
namespace {

using Bytes = std::vector<uint8_t>;

template <class T>
Bytes external_of(BasicType type, std::vector<T> values) {
  EXPECT_EQ(static_cast<size_t>(type.native_bytes), sizeof(T));
  Bytes external(values.size() * static_cast<size_t>(type.external_bytes) + 1, 0xee);
  Status status = to_external32(type, static_cast<int64_t>(values.size()), values.data(), external.data());
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(external.back(), 0xee) << "wrote behind the end";
  external.pop_back();
  return external;
}

template <class T>
std::vector<T> native_of(BasicType type, const Bytes& external) {
  std::vector<T> values(external.size() / static_cast<size_t>(type.external_bytes));
  Status status = from_external32(type, static_cast<int64_t>(values.size()), external.data(), values.data());
  EXPECT_TRUE(status.ok()) << status.message();
  return values;
}

template <class T>
void expect_both_ways(BasicType type, T value, const Bytes& bytes) {
  EXPECT_EQ(external_of<T>(type, {value}), bytes);
  EXPECT_EQ(native_of<T>(type, bytes), std::vector<T>{value});
}

TEST(External32, IntegersAreBigEndian) {
  expect_both_ways<int8_t>(kBasicInt8, -2, {0xfe});
  expect_both_ways<int16_t>(kBasicInt16, 0x0102, {0x01, 0x02});
  expect_both_ways<int32_t>(kBasicInt32, -2, {0xff, 0xff, 0xff, 0xfe});
  expect_both_ways<int64_t>(kBasicInt64, 0x0102030405060708, {1, 2, 3, 4, 5, 6, 7, 8});
  expect_both_ways<uint8_t>(kBasicUint8, 0xfe, {0xfe});
  expect_both_ways<uint16_t>(kBasicUint16, 0xfffe, {0xff, 0xfe});
  expect_both_ways<uint32_t>(kBasicUint32, 0xdeadbeef, {0xde, 0xad, 0xbe, 0xef});
  expect_both_ways<uint64_t>(kBasicUint64, 0xf102030405060708, {0xf1, 2, 3, 4, 5, 6, 7, 8});
  __extension__ typedef __int128 Wide;
  expect_both_ways<Wide>(kBasicInt128, (static_cast<Wide>(0x0102030405060708) << 64) + 0x090a0b0c0d0e0f10,
                         {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
}

TEST(External32, BytesAreNotConverted) {
  expect_both_ways<char>(kBasicByte, 'S', {'S'});
  Bytes text = {'a', 'b', 0, 0xff};
  EXPECT_EQ(external_of<uint8_t>(kBasicByte, text), text);
}

TEST(External32, LongHasFourBytes) {
  expect_both_ways<long>(kBasicLong, 1, {0, 0, 0, 1});
  expect_both_ways<long>(kBasicLong, -2, {0xff, 0xff, 0xff, 0xfe});
  expect_both_ways<long>(kBasicLong, 2147483647, {0x7f, 0xff, 0xff, 0xff});
  expect_both_ways<long>(kBasicLong, -2147483648L, {0x80, 0, 0, 0});
  expect_both_ways<unsigned long>(kBasicUnsignedLong, 4294967295UL, {0xff, 0xff, 0xff, 0xff});
  Bytes room(12);
  long values[] = {1, 2147483648L, 3};
  Status status = to_external32(kBasicLong, 3, values, room.data());
  EXPECT_EQ(status.kind(), ErrorKind::kConversion);
  EXPECT_NE(status.message().find("element 1"), std::string::npos) << status.message();
  values[1] = -2147483649L;
  EXPECT_EQ(to_external32(kBasicLong, 3, values, room.data()).kind(), ErrorKind::kConversion);
  unsigned long unsigned_value = 4294967296UL;
  EXPECT_EQ(to_external32(kBasicUnsignedLong, 1, &unsigned_value, room.data()).kind(), ErrorKind::kConversion);
}

TEST(External32, WideCharactersHaveTwoBytes) {
  expect_both_ways<wchar_t>(kBasicWideChar, L'水', {0x6c, 0x34});
  expect_both_ways<wchar_t>(kBasicWideChar, L'\uffff', {0xff, 0xff});
  wchar_t beyond = L'\U0001f30a';
  Bytes room(2);
  EXPECT_EQ(to_external32(kBasicWideChar, 1, &beyond, room.data()).kind(), ErrorKind::kConversion);
}

TEST(External32, LogicalsAreZeroOrOne) {
  expect_both_ways<uint8_t>(kBasicBool, 1, {1});
  expect_both_ways<uint8_t>(kBasicBool, 0, {0});
  expect_both_ways<int32_t>(kBasicLogical4, 1, {0, 0, 0, 1});
  EXPECT_EQ(external_of<int32_t>(kBasicLogical4, {-1, 0}), (Bytes{0, 0, 0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(native_of<int32_t>(kBasicLogical4, {0x80, 0, 0, 0}), std::vector<int32_t>{1});
  EXPECT_EQ(native_of<uint8_t>(kBasicBool, {0xff}), std::vector<uint8_t>{1});
  expect_both_ways<int16_t>({BasicKind::kLogical, 2, 2}, 1, {0, 1});
  expect_both_ways<int64_t>({BasicKind::kLogical, 8, 8}, 1, {0, 0, 0, 0, 0, 0, 0, 1});
}

TEST(External32, FloatsAreIeee) {
  expect_both_ways<float>(kBasicFloat, 1.0f, {0x3f, 0x80, 0, 0});
  expect_both_ways<float>(kBasicFloat, -2.5f, {0xc0, 0x20, 0, 0});
  expect_both_ways<double>(kBasicDouble, 1.0, {0x3f, 0xf0, 0, 0, 0, 0, 0, 0});
  expect_both_ways<double>(kBasicDouble, 0.1, {0x3f, 0xb9, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a});
  expect_both_ways<double>(kBasicDouble, 5e-324, {0, 0, 0, 0, 0, 0, 0, 1});
  expect_both_ways<uint16_t>(kBasicReal2, 0x3c00, {0x3c, 0x00});  // 1.0 in half precision
  // Not a number, with its payload.
  uint64_t nan = 0x7ff8000000000abc;
  EXPECT_EQ(external_of<uint64_t>(kBasicDouble, {nan}), (Bytes{0x7f, 0xf8, 0, 0, 0, 0, 0x0a, 0xbc}));
  expect_both_ways<std::complex<float>>(kBasicComplexFloat, {1.0f, -2.5f}, {0x3f, 0x80, 0, 0, 0xc0, 0x20, 0, 0});
  expect_both_ways<std::complex<double>>(
      kBasicComplexDouble, {1.0, 0.1}, {0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0x3f, 0xb9, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a});
}

TEST(External32, QuadPrecisionIsSwapped) {
  __extension__ typedef __float128 Quad;
  expect_both_ways<Quad>(kBasicReal16, static_cast<Quad>(1), {0x3f, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  std::vector<Quad> pair = {static_cast<Quad>(1), static_cast<Quad>(-2)};
  Bytes external(32);
  ASSERT_TRUE(to_external32(kBasicComplex32, 1, pair.data(), external.data()).ok());
  EXPECT_EQ(external[0], 0x3f);
  EXPECT_EQ(external[16], 0xc0);
  EXPECT_EQ(external[17], 0x00);
}

Bytes quad(std::initializer_list<int> first) {
  Bytes bytes;
  for (int byte : first) bytes.push_back(static_cast<uint8_t>(byte));
  bytes.resize(16);
  return bytes;
}

TEST(External32, LongDoubleBecomesQuad) {
  expect_both_ways<long double>(kBasicLongDouble, 0.0L, quad({}));
  EXPECT_EQ(external_of<long double>(kBasicLongDouble, {-0.0L}), quad({0x80}));
  EXPECT_TRUE(std::signbit(native_of<long double>(kBasicLongDouble, quad({0x80}))[0]));
  expect_both_ways<long double>(kBasicLongDouble, 1.0L, quad({0x3f, 0xff}));
  expect_both_ways<long double>(kBasicLongDouble, -2.0L, quad({0xc0, 0x00}));
  expect_both_ways<long double>(kBasicLongDouble, 1.5L, quad({0x3f, 0xff, 0x80}));
  // 1 + 2^-63: the last bit of the significand becomes bit 49 of the fraction of 112 bits.
  expect_both_ways<long double>(kBasicLongDouble, 1.0L + 0x1p-63L, quad({0x3f, 0xff, 0, 0, 0, 0, 0, 0, 0, 2}));
  // The largest: 63 fraction bits set.
  expect_both_ways<long double>(kBasicLongDouble, std::numeric_limits<long double>::max(),
                                quad({0x7f, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}));
  expect_both_ways<long double>(kBasicLongDouble, std::numeric_limits<long double>::min(), quad({0x00, 0x01}));
  // The smallest denormal, 2^-16445 = 2^-63 x 2^-16382, and half the smallest normal number.
  expect_both_ways<long double>(kBasicLongDouble, std::numeric_limits<long double>::denorm_min(),
                                quad({0, 0, 0, 0, 0, 0, 0, 0, 0, 2}));
  expect_both_ways<long double>(kBasicLongDouble, std::numeric_limits<long double>::min() / 2, quad({0, 0, 0x80}));
  expect_both_ways<long double>(kBasicLongDouble, std::numeric_limits<long double>::infinity(), quad({0x7f, 0xff}));
  expect_both_ways<long double>(kBasicLongDouble, -std::numeric_limits<long double>::infinity(), quad({0xff, 0xff}));
  EXPECT_EQ(external_of<long double>(kBasicLongDouble, {std::numeric_limits<long double>::quiet_NaN()}),
            quad({0x7f, 0xff, 0x80}));
  EXPECT_TRUE(std::isnan(native_of<long double>(kBasicLongDouble, quad({0x7f, 0xff, 0x80}))[0]));
  EXPECT_TRUE(std::isnan(native_of<long double>(kBasicLongDouble, quad({0x7f, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}))[0]))
      << "a payload that gets lost must not make it infinite";
  expect_both_ways<std::complex<long double>>(kBasicComplexLongDouble, {1.0L, -2.0L}, [] {
    Bytes bytes = quad({0x3f, 0xff});
    Bytes imaginary = quad({0xc0, 0x00});
    bytes.insert(bytes.end(), imaginary.begin(), imaginary.end());
    return bytes;
  }());
}

TEST(External32, QuadIsRoundedToLongDouble) {
  auto native = [](const Bytes& bytes) { return native_of<long double>(kBasicLongDouble, bytes)[0]; };
  constexpr long double kLastBit = 0x1p-63L;
  // Bit 48 of the fraction is half of the last bit that a long double has: byte 9 is 1.
  EXPECT_EQ(native(quad({0x3f, 0xff, 0, 0, 0, 0, 0, 0, 0, 1})), 1.0L) << "tie, to even";
  EXPECT_EQ(native(quad({0x3f, 0xff, 0, 0, 0, 0, 0, 0, 0, 3})), 1.0L + 2 * kLastBit) << "tie, to even";
  EXPECT_EQ(native(quad({0x3f, 0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1})), 1.0L + kLastBit);
  EXPECT_EQ(native(quad({0x3f, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff})), 1.0L);
  // All ones: up to the next power of two, and from the largest number to infinity.
  EXPECT_EQ(native({0x3f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}),
            2.0L);
  EXPECT_EQ(native({0x7f, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}),
            std::numeric_limits<long double>::infinity());
  // The largest quad denormal is the smallest normal number here; the smallest one is lost.
  EXPECT_EQ(native({0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}),
            std::numeric_limits<long double>::min());
  EXPECT_EQ(native(quad({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})), 0.0L);
}

TEST(External32, LongDoubleAgreesWithTheCompiler) {
  // GCC's own conversion to quad precision, over random bit patterns of valid numbers.
  __extension__ typedef __float128 Quad;
  std::mt19937_64 random(20261120);
  for (int i = 0; i < 20000; ++i) {
    uint64_t significand = random();
    auto exponent = static_cast<uint16_t>(random() % 0x7fff);
    if (i % 4 == 0) exponent = static_cast<uint16_t>(exponent % 3);
    significand = exponent == 0 ? significand >> 1 : significand | uint64_t{1} << 63;
    auto sign_and_exponent = static_cast<uint16_t>(exponent | (i % 2) << 15);
    long double value = 0;
    std::memcpy(&value, &significand, 8);
    std::memcpy(reinterpret_cast<char*>(&value) + 8, &sign_and_exponent, 2);
    Quad wide = value;
    Bytes want(16);
    for (size_t b = 0; b < 16; ++b) want[b] = reinterpret_cast<const uint8_t*>(&wide)[15 - b];
    Bytes got = external_of<long double>(kBasicLongDouble, {value});
    ASSERT_EQ(got, want);
    ASSERT_EQ(native_of<long double>(kBasicLongDouble, got)[0], value);
    // And back from any quad number near it, rounded as the compiler rounds.
    Bytes near = got;
    for (size_t b = 9; b < 16; ++b) near[b] = static_cast<uint8_t>(random());
    for (size_t b = 0; b < 16; ++b) reinterpret_cast<uint8_t*>(&wide)[15 - b] = near[b];
    ASSERT_EQ(native_of<long double>(kBasicLongDouble, near)[0], static_cast<long double>(wide));
  }
}

TEST(External32, PaddingOfLongDoubleIsZero) {
  Bytes native(16, 0xee);
  Bytes external = quad({0x3f, 0xff});
  ASSERT_TRUE(from_external32(kBasicLongDouble, 1, external.data(), native.data()).ok());
  EXPECT_EQ(native, (Bytes{0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f, 0, 0, 0, 0, 0, 0}));
}

TEST(External32, BitsThatAreNoLongDoubleAreRefused) {
  Bytes unnormal = {0, 0, 0, 0, 0, 0, 0, 0x40, 0xff, 0x3f, 0, 0, 0, 0, 0, 0};  // no integer bit
  Bytes room(16);
  EXPECT_EQ(to_external32(kBasicLongDouble, 1, unnormal.data(), room.data()).kind(), ErrorKind::kConversion);
  // A denormal with an integer bit is an unusual spelling of the smallest normal number.
  Bytes pseudo_denormal = {0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0};
  ASSERT_TRUE(to_external32(kBasicLongDouble, 1, pseudo_denormal.data(), room.data()).ok());
  EXPECT_EQ(room, quad({0x00, 0x01}));
}

TEST(External32, RefusesImpossibleTypes) {
  char room[64] = {};
  for (BasicType wrong :
       {BasicType{BasicKind::kBytes, 2, 2}, BasicType{BasicKind::kSigned, 3, 3}, BasicType{BasicKind::kSigned, 4, 8},
        BasicType{BasicKind::kFloat, 1, 1}, BasicType{BasicKind::kX87, 16, 8}, BasicType{BasicKind::kWideChar, 2, 2}}) {
    EXPECT_EQ(to_external32(wrong, 1, room, room + 32).kind(), ErrorKind::kType);
    EXPECT_EQ(from_external32(wrong, 1, room, room + 32).kind(), ErrorKind::kType);
  }
  EXPECT_EQ(to_external32(kBasicInt32, -1, room, room + 32).kind(), ErrorKind::kCount);
  EXPECT_TRUE(to_external32(kBasicInt32, 0, nullptr, nullptr).ok());
}

TEST(External32, BuffersNeedNoAlignment) {
  alignas(16) uint8_t native[40] = {};
  alignas(16) uint8_t external[40] = {};
  double values[] = {1.0, -2.5, 0.1};
  std::memcpy(native + 1, values, sizeof(values));
  ASSERT_TRUE(to_external32(kBasicDouble, 3, native + 1, external + 3).ok());
  uint8_t back[40] = {};
  ASSERT_TRUE(from_external32(kBasicDouble, 3, external + 3, back + 5).ok());
  double returned[3];
  std::memcpy(returned, back + 5, sizeof(returned));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(returned[i], values[i]);
}

}  // namespace
}  // namespace suiro
