// User-defined data representations (MPI-4.0 section 14.5.3): conversion functions and the extent function are called
// and obeyed, conversion may come in pieces (position), NULL functions mean "as in memory", names are registered once.
// The representation "wide_not" stores an int as eight bytes: zero, then the complement, big endian.
#include "operations.h"

namespace {

struct Calls {
  int reads = 0, writes = 0, extents = 0;
};

int extent_in_file(MPI_Datatype type, MPI_Aint* extent, void* state) {
  ++static_cast<Calls*>(state)->extents;
  int bytes = 0;
  MPI_Type_size(type, &bytes);
  *extent = bytes * 2;  // int: 4 in memory, 8 in the file
  return MPI_SUCCESS;
}

int to_memory(void* user, MPI_Datatype, int count, void* file, MPI_Offset position, void* state) {
  ++static_cast<Calls*>(state)->reads;
  for (int i = 0; i < count; ++i) {
    const unsigned char* from = static_cast<unsigned char*>(file) + 8 * i;
    const unsigned value = ~(static_cast<unsigned>(from[4]) << 24 | static_cast<unsigned>(from[5]) << 16 |
                             static_cast<unsigned>(from[6]) << 8 | from[7]);
    std::memcpy(static_cast<char*>(user) + 4 * (position + i), &value, 4);
  }
  return MPI_SUCCESS;
}

int to_file(void* user, MPI_Datatype, int count, void* file, MPI_Offset position, void* state) {
  ++static_cast<Calls*>(state)->writes;
  for (int i = 0; i < count; ++i) {
    unsigned value = 0;
    std::memcpy(&value, static_cast<char*>(user) + 4 * (position + i), 4);
    value = ~value;
    const unsigned char bytes[8] = {0,
                                    0,
                                    0,
                                    0,
                                    static_cast<unsigned char>(value >> 24),
                                    static_cast<unsigned char>(value >> 16),
                                    static_cast<unsigned char>(value >> 8),
                                    static_cast<unsigned char>(value)};
    std::memcpy(static_cast<char*>(file) + 8 * i, bytes, 8);
  }
  return MPI_SUCCESS;
}

int refusing(void*, MPI_Datatype, int, void*, MPI_Offset, void*) { return MPI_ERR_OTHER; }

int same_extent(MPI_Datatype type, MPI_Aint* extent, void*) {
  MPI_Aint lower;
  return MPI_Type_get_extent(type, &lower, extent);
}

}  // namespace

int main(int argc, char** argv) {
  Session s(argc, argv);
  static Calls calls;
  CHECK_OK(MPI_Register_datarep("wide_not", to_memory, to_file, extent_in_file, &calls));
  CHECK_CLASS(MPI_Register_datarep("wide_not", to_memory, to_file, extent_in_file, &calls), MPI_ERR_DUP_DATAREP);
  CHECK_CLASS(MPI_Register_datarep("native", to_memory, to_file, extent_in_file, &calls), MPI_ERR_DUP_DATAREP);
  CHECK_OK(MPI_Register_datarep("plain", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, same_extent, nullptr));
  CHECK_OK(MPI_Register_datarep("refusing", refusing, refusing, same_extent, nullptr));

  // contiguous, long enough that an implementation may convert in pieces
  const int kCount = 5000;
  MPI_File file = s.open(MPI_COMM_WORLD, "datarep", MPI_MODE_RDWR | MPI_MODE_CREATE);
  CHECK_OK(MPI_File_set_view(file, 16, MPI_INT, MPI_INT, "wide_not", MPI_INFO_NULL));
  MPI_Aint extent = -1;
  CHECK_OK(MPI_File_get_type_extent(file, MPI_INT, &extent));
  CHECK_EQ(extent, 8);
  CHECK(calls.extents > 0);
  std::vector<int> out(kCount), in(kCount, -1);
  for (int i = 0; i < kCount; ++i) out[static_cast<size_t>(i)] = s.rank * 100000 + i;
  const std::vector<int> original = out;
  MPI_Status status;
  CHECK_OK(MPI_File_write_at_all(file, s.rank * kCount, out.data(), kCount, MPI_INT, &status));
  int moved = -1;
  CHECK_OK(MPI_Get_count(&status, MPI_INT, &moved));
  CHECK_EQ(moved, kCount);
  CHECK(out == original);
  CHECK(calls.writes > 0);
  CHECK_EQ(calls.reads, 0);
  MPI_Offset byte = -1;
  CHECK_OK(MPI_File_get_byte_offset(file, 3, &byte));
  CHECK_EQ(byte, 16 + 24);
  make_visible(file, MPI_COMM_WORLD);
  if (s.rank == 0) {
    std::vector<unsigned char> expected(16, 0);
    for (int r = 0; r < s.size; ++r) {
      for (int i = 0; i < kCount; ++i) {
        const unsigned value = ~static_cast<unsigned>(r * 100000 + i);
        expected.insert(expected.end(),
                        {0, 0, 0, 0, static_cast<unsigned char>(value >> 24), static_cast<unsigned char>(value >> 16),
                         static_cast<unsigned char>(value >> 8), static_cast<unsigned char>(value)});
      }
    }
    CHECK_BYTES(posix_read(s.path("datarep")), expected, "converted file");
  }
  CHECK_OK(MPI_File_read_at(file, s.rank * kCount, in.data(), kCount, MPI_INT, &status));
  CHECK(in == original);
  CHECK(calls.reads > 0);
  CHECK_OK(MPI_File_seek(file, s.rank * kCount + 7, MPI_SEEK_SET));
  std::fill(in.begin(), in.end(), -1);
  MPI_Request request;
  CHECK_OK(MPI_File_iread(file, in.data(), 10, MPI_INT, &request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_EQ(in[0], original[7]);
  CHECK_EQ(in[9], original[16]);
  CHECK_EQ(in[10], -1);
  MPI_Barrier(MPI_COMM_WORLD);

  // an interleaved view: in the file an int is eight bytes wide
  MPI_Datatype filetype;
  MPI_Type_vector(4, 1, s.size, MPI_INT, &filetype);
  MPI_Type_commit(&filetype);
  CHECK_OK(MPI_File_set_view(file, s.rank * 8, MPI_INT, filetype, "wide_not", MPI_INFO_NULL));
  MPI_Type_free(&filetype);
  int four[4] = {s.rank, s.rank + 100, s.rank + 200, s.rank + 300}, back[4] = {0, 0, 0, 0};
  CHECK_OK(MPI_File_write_all(file, four, 4, MPI_INT, &status));
  CHECK_OK(MPI_File_read_at(file, 0, back, 4, MPI_INT, &status));
  CHECK(std::equal(four, four + 4, back));
  make_visible(file, MPI_COMM_WORLD);
  for (int i = 0; i < 4; ++i) {
    const auto bytes = posix_read_range(s.path("datarep"), (i * s.size + s.rank) * 8, 8);
    CHECK_EQ(bytes.size(), 8);
    if (bytes.size() == 8) CHECK_EQ(bytes[7], static_cast<unsigned char>(~static_cast<unsigned>(four[i])));
  }

  char name[MPI_MAX_DATAREP_STRING] = "";
  MPI_Datatype etype;
  CHECK_OK(MPI_File_get_view(file, &byte, &etype, &filetype, name));
  CHECK_EQ(std::string(name), "wide_not");
  free_unless_named(etype);
  free_unless_named(filetype);

  // NULL conversion functions: memory's own bytes
  CHECK_OK(MPI_File_set_size(file, 0));
  CHECK_OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "plain", MPI_INFO_NULL));
  const int plain = 0x01020304 + s.rank;
  CHECK_OK(MPI_File_write_at_all(file, s.rank, &plain, 1, MPI_INT, &status));
  make_visible(file, MPI_COMM_WORLD);
  const auto bytes = posix_read_range(s.path("datarep"), s.rank * 4, 4);
  CHECK(bytes.size() == 4 && std::memcmp(bytes.data(), &plain, 4) == 0);

  // a conversion function that fails
  CHECK_OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "refusing", MPI_INFO_NULL));
  CHECK_CLASS(MPI_File_write_at(file, s.rank, &plain, 1, MPI_INT, &status), MPI_ERR_CONVERSION, MPI_ERR_OTHER);
  CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "never_registered", MPI_INFO_NULL),
              MPI_ERR_UNSUPPORTED_DATAREP);
  CHECK_OK(MPI_File_close(&file));
  s.remove("datarep");
  return s.finish();
}
