// The external32 representation (MPI-4.0 section 14.5.2): bytes compared with values worked out by hand, extents in the
// file, views and derived types, conversion both ways; and that "native" and "internal" keep memory's bytes.
#include <algorithm>
#include <complex>
#include <cstddef>

#include "operations.h"

namespace {

using Bytes = std::vector<unsigned char>;

template <class T>
void round_trip(const Session& s, MPI_Datatype type, const std::vector<T>& values, const Bytes& in_file,
                const char* what) {
  tally().context = what;
  const std::string name = "external" + std::to_string(s.rank);
  MPI_File file = s.open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_CREATE);
  CHECK_OK(MPI_File_set_view(file, 0, type, type, "external32", MPI_INFO_NULL));
  MPI_Aint extent = -1;
  CHECK_OK(MPI_File_get_type_extent(file, type, &extent));
  CHECK_EQ(extent, in_file.size() / values.size());
  MPI_Status status;
  const auto count = static_cast<int>(values.size());
  CHECK_OK(MPI_File_write_at(file, 0, values.data(), count, type, &status));
  int moved = -1;
  CHECK_OK(MPI_Get_count(&status, type, &moved));
  CHECK_EQ(moved, count);
  CHECK_OK(MPI_File_sync(file));
  CHECK_BYTES(posix_read(s.path(name)), in_file, "bytes in the file");
  std::vector<T> back(values.size() + 1);
  std::memset(static_cast<void*>(back.data()), 0x5a, back.size() * sizeof(T));
  CHECK_OK(MPI_File_read_at(file, 0, back.data(), count + 1, type, &status));  // one more than there is
  CHECK_OK(MPI_Get_count(&status, type, &moved));
  CHECK_EQ(moved, count);
  for (size_t i = 0; i < values.size(); ++i) CHECK(back[i] == values[i]);
  // the second item alone: offsets count etypes as they are in the file
  if (count > 1) {
    T second{};
    CHECK_OK(MPI_File_read_at(file, 1, &second, 1, type, &status));
    CHECK(second == values[1]);
    MPI_Offset byte = -1;
    CHECK_OK(MPI_File_get_byte_offset(file, 1, &byte));
    CHECK_EQ(byte, in_file.size() / values.size());
  }
  CHECK_OK(MPI_File_close(&file));
  unlink(s.path(name).c_str());
  tally().context.clear();
}

void basic_types(const Session& s) {
  round_trip<char>(s, MPI_CHAR, {'A', 'z'}, {0x41, 0x7a}, "CHAR");
  round_trip<short>(s, MPI_SHORT, {0x0102, -2}, {0x01, 0x02, 0xff, 0xfe}, "SHORT");
  round_trip<int>(s, MPI_INT, {0x01020304, -2}, {1, 2, 3, 4, 0xff, 0xff, 0xff, 0xfe}, "INT");
  round_trip<unsigned>(s, MPI_UNSIGNED, {0xdeadbeef}, {0xde, 0xad, 0xbe, 0xef}, "UNSIGNED");
  round_trip<long>(s, MPI_LONG, {0x01020304, -2}, {1, 2, 3, 4, 0xff, 0xff, 0xff, 0xfe}, "LONG: four bytes in the file");
  round_trip<unsigned long>(s, MPI_UNSIGNED_LONG, {0xfffefdfcul}, {0xff, 0xfe, 0xfd, 0xfc}, "UNSIGNED_LONG");
  round_trip<long long>(s, MPI_LONG_LONG, {0x0102030405060708ll}, {1, 2, 3, 4, 5, 6, 7, 8}, "LONG_LONG");
  round_trip<int64_t>(s, MPI_INT64_T, {-2}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}, "INT64_T");
  round_trip<uint16_t>(s, MPI_UINT16_T, {0xabcd}, {0xab, 0xcd}, "UINT16_T");
  round_trip<float>(s, MPI_FLOAT, {1.0f, -2.5f}, {0x3f, 0x80, 0, 0, 0xc0, 0x20, 0, 0}, "FLOAT");
  round_trip<double>(s, MPI_DOUBLE, {1.0, -2.5}, {0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0xc0, 0x04, 0, 0, 0, 0, 0, 0},
                     "DOUBLE");
  round_trip<std::complex<float>>(s, MPI_C_FLOAT_COMPLEX, {{1.0f, -2.5f}}, {0x3f, 0x80, 0, 0, 0xc0, 0x20, 0, 0},
                                  "C_FLOAT_COMPLEX");
  // IEEE quad: sign 1, exponent 15, fraction 112 bits. 1.5 = 0x3fff 8000..., -0.1L has a long fraction but must come
  // back
  round_trip<long double>(s, MPI_LONG_DOUBLE, {1.5L}, {0x3f, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                          "LONG_DOUBLE");
  round_trip<MPI_Offset>(s, MPI_OFFSET, {0x0102030405060708ll}, {1, 2, 3, 4, 5, 6, 7, 8}, "OFFSET");
  round_trip<MPI_Aint>(s, MPI_AINT, {258}, {0, 0, 0, 0, 0, 0, 1, 2}, "AINT");
}

void derived_types(const Session& s) {
  // every rank owns every size-th long; in the file a long takes four bytes, so the stride is 4 * size
  MPI_File file = s.open(MPI_COMM_WORLD, "derived", MPI_MODE_RDWR | MPI_MODE_CREATE);
  MPI_Datatype filetype;
  MPI_Type_vector(3, 1, s.size, MPI_LONG, &filetype);
  MPI_Type_commit(&filetype);
  CHECK_OK(MPI_File_set_view(file, s.rank * 4, MPI_LONG, filetype, "external32", MPI_INFO_NULL));
  // memory: every second long
  MPI_Datatype memory;
  MPI_Type_vector(3, 1, 2, MPI_LONG, &memory);
  MPI_Type_commit(&memory);
  long data[6] = {s.rank * 10 + 1, -1, s.rank * 10 + 2, -1, s.rank * 10 + 3, -1};
  CHECK_OK(MPI_File_write_at_all(file, 0, data, 1, memory, MPI_STATUS_IGNORE));
  make_visible(file, MPI_COMM_WORLD);
  Bytes expected;
  for (int i = 0; i < 3; ++i) {
    for (int r = 0; r < s.size; ++r)
      expected.insert(expected.end(), {0, 0, 0, static_cast<unsigned char>(r * 10 + i + 1)});
  }
  if (s.rank == 0) CHECK_BYTES(posix_read(s.path("derived")), expected, "interleaved longs");
  long back[6] = {7, 7, 7, 7, 7, 7};
  CHECK_OK(MPI_File_read_at_all(file, 0, back, 1, memory, MPI_STATUS_IGNORE));
  for (int i = 0; i < 3; ++i) {
    CHECK_EQ(back[2 * i], data[2 * i]);
    CHECK_EQ(back[2 * i + 1], 7);
  }
  char datarep[MPI_MAX_DATAREP_STRING] = "";
  MPI_Offset displacement;
  MPI_Datatype etype_back, filetype_back;
  CHECK_OK(MPI_File_get_view(file, &displacement, &etype_back, &filetype_back, datarep));
  CHECK_EQ(std::string(datarep), "external32");
  free_unless_named(etype_back);
  free_unless_named(filetype_back);
  MPI_Type_free(&filetype);
  MPI_Type_free(&memory);
  CHECK_OK(MPI_File_close(&file));
  s.remove("derived");
}

void structs(const Session& s) {
  struct Mixed {
    int number;
    double value;
    short tail;
  };
  const std::string name = "mixed" + std::to_string(s.rank);
  MPI_File file = s.open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_CREATE);
  const int lengths[3] = {1, 1, 1};
  const MPI_Aint places[3] = {offsetof(Mixed, number), offsetof(Mixed, value), offsetof(Mixed, tail)};
  const MPI_Datatype types[3] = {MPI_INT, MPI_DOUBLE, MPI_SHORT};
  MPI_Datatype packed_struct, mixed;
  MPI_Type_create_struct(3, lengths, places, types, &packed_struct);
  MPI_Type_create_resized(packed_struct, 0, sizeof(Mixed), &mixed);
  MPI_Type_commit(&mixed);
  // the view is plain bytes of external32; the memory type decides what is converted
  CHECK_OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL));
  Mixed out[2] = {{1, 1.0, 2}, {3, -2.5, 4}};
  CHECK_OK(MPI_File_write_at(file, 0, out, 2, mixed, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_sync(file));
  CHECK_BYTES(posix_read(s.path(name)),
              (Bytes{0, 0, 0, 1, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3, 0xc0, 0x04, 0, 0, 0, 0, 0, 0, 0, 4}),
              "struct in the file");
  Mixed in[2] = {};
  CHECK_OK(MPI_File_read_at(file, 0, in, 2, mixed, MPI_STATUS_IGNORE));
  for (int i = 0; i < 2; ++i)
    CHECK(in[i].number == out[i].number && in[i].value == out[i].value && in[i].tail == out[i].tail);
  MPI_Type_free(&packed_struct);
  MPI_Type_free(&mixed);
  CHECK_OK(MPI_File_close(&file));
  unlink(s.path(name).c_str());
}

void all_calls(const Session& s) {  // every way to move data converts
  for (int c = 0; c < kCalls; ++c) {
    const auto call = static_cast<Call>(c);
    tally().context = call_name(call);
    const std::string name = "call" + std::to_string(s.rank);
    MPI_File file = s.open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_CREATE);
    CHECK_OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
    const int out[2] = {0x01020304, 0x05060708};
    int in[2] = {0, 0};
    CHECK_OK(write_by(call, file, 0, out, 2, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_File_sync(file));
    CHECK_BYTES(posix_read(s.path(name)), (Bytes{1, 2, 3, 4, 5, 6, 7, 8}), "big endian");
    CHECK_OK(MPI_File_seek(file, 0, MPI_SEEK_SET));
    CHECK_OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    CHECK_OK(read_by(call, file, 0, in, 2, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(in[0] == out[0] && in[1] == out[1]);
    CHECK_OK(MPI_File_close(&file));
    unlink(s.path(name).c_str());
  }
  tally().context.clear();
}

void internal(const Session& s) {
  const std::string name = "internal" + std::to_string(s.rank);
  MPI_File file = s.open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_CREATE);
  CHECK_OK(MPI_File_set_view(file, 4, MPI_LONG, MPI_LONG, "internal", MPI_INFO_NULL));
  MPI_Aint extent = -1;
  CHECK_OK(MPI_File_get_type_extent(file, MPI_LONG, &extent));
  CHECK(extent > 0);
  const long out[3] = {1, -2, 3};
  long in[3] = {0, 0, 0};
  CHECK_OK(MPI_File_write_at(file, 0, out, 3, MPI_LONG, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at(file, 0, in, 3, MPI_LONG, MPI_STATUS_IGNORE));
  CHECK(std::equal(out, out + 3, in));
  CHECK_OK(MPI_File_close(&file));
  CHECK_EQ(posix_size(s.path(name)), 4 + 3 * extent);
  unlink(s.path(name).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv);
  basic_types(session);
  derived_types(session);
  structs(session);
  all_calls(session);
  internal(session);
  return session.finish();
}
