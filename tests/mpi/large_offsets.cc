// Positions beyond 2^31 and 2^32 in sparse files, extents beyond 2^31, and types larger than 2^31 bytes whose reads are
// cut by the end of a small file. Needs neither disk space nor memory.
#include <sys/mman.h>

#include <algorithm>

#include "operations.h"

namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

void far_positions(const Session& s) {
  const int64_t bases[] = {2 * kGiB - 2, 4 * kGiB - 3, 700 * kGiB + 1};
  for (int64_t base : bases) {
    MPI_File file = s.open(MPI_COMM_WORLD, "far", MPI_MODE_RDWR | MPI_MODE_CREATE);
    const int64_t value = base + s.rank;
    CHECK_OK(MPI_File_write_at(file, base + s.rank * 8, &value, 1, MPI_INT64_T, MPI_STATUS_IGNORE));
    make_visible(file, MPI_COMM_WORLD);
    MPI_Offset size = -1, position = -1;
    CHECK_OK(MPI_File_get_size(file, &size));
    CHECK_EQ(size, base + s.size * 8);
    CHECK_OK(MPI_File_seek(file, -8, MPI_SEEK_END));
    CHECK_OK(MPI_File_get_position(file, &position));
    CHECK_EQ(position, base + (s.size - 1) * 8);
    int64_t back = 0;
    CHECK_OK(MPI_File_read(file, &back, 1, MPI_INT64_T, MPI_STATUS_IGNORE));
    CHECK_EQ(back, base + s.size - 1);
    // the same place through the displacement of a view, and through the shared pointer
    CHECK_OK(MPI_File_set_view(file, base, MPI_INT64_T, MPI_INT64_T, "native", MPI_INFO_NULL));
    CHECK_OK(MPI_File_read_at_all(file, s.rank, &back, 1, MPI_INT64_T, MPI_STATUS_IGNORE));
    CHECK_EQ(back, value);
    CHECK_OK(MPI_File_read_ordered(file, &back, 1, MPI_INT64_T, MPI_STATUS_IGNORE));
    CHECK_EQ(back, value);
    CHECK_OK(MPI_File_get_byte_offset(file, kGiB, &position));
    CHECK_EQ(position, base + 8 * kGiB);
    CHECK_OK(MPI_File_set_size(file, base - 1));
    CHECK_OK(MPI_File_get_size(file, &size));
    CHECK_EQ(size, base - 1);
    CHECK_OK(MPI_File_close(&file));
    s.remove("far");
  }
}

// Pieces 1.5 GiB apart: offsets inside one filetype pass 2^32.
void wide_filetype(const Session& s) {
  MPI_File file = s.open(MPI_COMM_WORLD, "wide", MPI_MODE_RDWR | MPI_MODE_CREATE);
  const int64_t stride = 3 * kGiB / 2 + 4;
  MPI_Datatype filetype;
  MPI_Type_create_hvector(4, 1, stride, MPI_INT, &filetype);
  MPI_Type_commit(&filetype);
  CHECK_OK(MPI_File_set_view(file, s.rank * 4, MPI_INT, filetype, "native", MPI_INFO_NULL));
  MPI_Type_free(&filetype);
  int data[4], back[4] = {0, 0, 0, 0};
  for (int i = 0; i < 4; ++i) data[i] = s.rank * 10 + i + 1;
  CHECK_OK(MPI_File_write_at_all(file, 0, data, 4, MPI_INT, MPI_STATUS_IGNORE));
  MPI_Offset byte = -1;
  CHECK_OK(MPI_File_get_byte_offset(file, 3, &byte));
  CHECK_EQ(byte, s.rank * 4 + 3 * stride);
  CHECK_OK(MPI_File_get_byte_offset(file, 5, &byte));  // second tile: the extent is 3 strides + 4
  CHECK_EQ(byte, s.rank * 4 + 3 * stride + 4 + stride);
  CHECK_OK(MPI_File_read_at(file, 0, back, 4, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(std::equal(data, data + 4, back));
  CHECK_OK(MPI_File_close(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 4; ++i) {
    const auto bytes = posix_read_range(s.path("wide"), s.rank * 4 + i * stride, 4);
    int value = 0;
    if (bytes.size() == 4) std::memcpy(&value, bytes.data(), 4);
    CHECK_EQ(value, data[i]);
  }
  s.remove("wide");
}

// A request for 3 GiB from a file of 100 bytes: one item of a large type, and where MPI has them, the _c calls.
void request_larger_than_int(const Session& s) {
  const std::vector<unsigned char> content(100, 'z');
  if (s.rank == 0) CHECK(posix_write(s.path("small"), content.data(), content.size()));
  MPI_Barrier(MPI_COMM_WORLD);
  const size_t room = static_cast<size_t>(3 * kGiB);
  void* memory = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  MPI_File file = s.open(MPI_COMM_WORLD, "small", MPI_MODE_RDONLY);
  MPI_Datatype mebibyte, large;
  MPI_Type_contiguous(1 << 20, MPI_BYTE, &mebibyte);
  MPI_Type_contiguous(3 * 1024, mebibyte, &large);
  MPI_Type_commit(&large);
  MPI_Status status;
  CHECK_OK(MPI_File_read_at(file, 10, memory, 1, large, &status));
  CHECK_EQ(status_bytes(status), 90);
  CHECK_EQ(static_cast<unsigned char*>(memory)[89], 'z');
  CHECK_EQ(static_cast<unsigned char*>(memory)[90], 0);
  int count = 0;
  CHECK_OK(MPI_Get_count(&status, large, &count));
  CHECK_EQ(count, MPI_UNDEFINED);
#if MPI_VERSION >= 4
  std::memset(memory, 0, 200);
  CHECK_OK(MPI_File_read_at_c(file, 20, memory, static_cast<MPI_Count>(room), MPI_BYTE, &status));
  CHECK_EQ(status_bytes(status), 80);
  CHECK_EQ(static_cast<unsigned char*>(memory)[79], 'z');
  CHECK_OK(MPI_File_read_all_c(file, memory, static_cast<MPI_Count>(room), MPI_BYTE, &status));
  CHECK_EQ(status_bytes(status), 100);
  MPI_Request request;
  CHECK_OK(MPI_File_iread_at_c(file, 95, memory, static_cast<MPI_Count>(room), MPI_BYTE, &request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_EQ(status_bytes(status), 5);
  MPI_Count extent = -1;
  CHECK_OK(MPI_File_get_type_extent_c(file, large, &extent));
  CHECK_EQ(extent, 3 * kGiB);
#endif
  MPI_Aint short_extent = -1;
  CHECK_OK(MPI_File_get_type_extent(file, large, &short_extent));
  CHECK_EQ(short_extent, 3 * kGiB);
  MPI_Type_free(&large);
  MPI_Type_free(&mebibyte);
  CHECK_OK(MPI_File_close(&file));
  munmap(memory, room);
  s.remove("small");
}

#if MPI_VERSION >= 4
// All large-count data calls move data and agree with the small ones.
void large_count_calls(const Session& s) {
  MPI_File f = s.open(MPI_COMM_WORLD, "counts", MPI_MODE_RDWR | MPI_MODE_CREATE);
  CHECK_OK(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  const MPI_Count n = 3;
  int out[3] = {s.rank, s.rank + 1, s.rank + 2}, in[3];
  MPI_Status status;
  MPI_Request request;
  int slot = 0;
  auto place = [&] { return static_cast<MPI_Offset>((slot++ * s.size + s.rank) * 3); };
  auto verify = [&](MPI_Offset at, int line) {
    std::fill(in, in + 3, -1);
    record_class(MPI_File_read_at_c(f, at, in, n, MPI_INT, &status), {MPI_SUCCESS}, __FILE__, line, "read back");
    record(std::equal(in, in + 3, out) && status_bytes(status) == 12, __FILE__, line, "what was written comes back");
  };
  MPI_Offset at = place();
  CHECK_OK(MPI_File_write_at_c(f, at, out, n, MPI_INT, &status));
  verify(at, __LINE__);
  at = place();
  CHECK_OK(MPI_File_write_at_all_c(f, at, out, n, MPI_INT, &status));
  verify(at, __LINE__);
  at = place();
  CHECK_OK(MPI_File_write_at_all_begin_c(f, at, out, n, MPI_INT));
  CHECK_OK(MPI_File_write_at_all_end(f, out, &status));
  verify(at, __LINE__);
  at = place();
  CHECK_OK(MPI_File_iwrite_at_c(f, at, out, n, MPI_INT, &request));
  CHECK_OK(MPI_Wait(&request, &status));
  verify(at, __LINE__);
  at = place();
  CHECK_OK(MPI_File_iwrite_at_all_c(f, at, out, n, MPI_INT, &request));
  CHECK_OK(MPI_Wait(&request, &status));
  verify(at, __LINE__);
  at = place();
  CHECK_OK(MPI_File_seek(f, at, MPI_SEEK_SET));
  CHECK_OK(MPI_File_write_c(f, out, n, MPI_INT, &status));
  verify(at, __LINE__);
  at = place();
  CHECK_OK(MPI_File_seek(f, at, MPI_SEEK_SET));
  CHECK_OK(MPI_File_write_all_c(f, out, n, MPI_INT, &status));
  verify(at, __LINE__);
  at = place();
  CHECK_OK(MPI_File_seek(f, at, MPI_SEEK_SET));
  CHECK_OK(MPI_File_write_all_begin_c(f, out, n, MPI_INT));
  CHECK_OK(MPI_File_write_all_end(f, out, &status));
  verify(at, __LINE__);
  at = place();
  CHECK_OK(MPI_File_seek(f, at, MPI_SEEK_SET));
  CHECK_OK(MPI_File_iwrite_c(f, out, n, MPI_INT, &request));
  CHECK_OK(MPI_Wait(&request, &status));
  verify(at, __LINE__);
  at = place();
  CHECK_OK(MPI_File_seek(f, at, MPI_SEEK_SET));
  CHECK_OK(MPI_File_iwrite_all_c(f, out, n, MPI_INT, &request));
  CHECK_OK(MPI_Wait(&request, &status));
  verify(at, __LINE__);
  at = place();
  CHECK_OK(MPI_File_seek_shared(f, at - s.rank * 3, MPI_SEEK_SET));
  CHECK_OK(MPI_File_write_ordered_c(f, out, n, MPI_INT, &status));
  verify(at, __LINE__);
  at = place();
  CHECK_OK(MPI_File_write_ordered_begin_c(f, out, n, MPI_INT));
  CHECK_OK(MPI_File_write_ordered_end(f, out, &status));
  verify(at, __LINE__);
  make_visible(f, MPI_COMM_WORLD);
  // the reading kinds
  CHECK_OK(MPI_File_seek(f, s.rank * 3, MPI_SEEK_SET));
  CHECK_OK(MPI_File_read_c(f, in, n, MPI_INT, &status));
  CHECK(std::equal(in, in + 3, out));
  CHECK_OK(MPI_File_iread_c(f, in, n, MPI_INT, &request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_EQ(status_bytes(status), 12);
  CHECK_OK(MPI_File_read_at_all_c(f, s.rank * 3, in, n, MPI_INT, &status));
  CHECK(std::equal(in, in + 3, out));
  CHECK_OK(MPI_File_iread_at_all_c(f, s.rank * 3, in, n, MPI_INT, &request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK(std::equal(in, in + 3, out));
  CHECK_OK(MPI_File_read_at_all_begin_c(f, s.rank * 3, in, n, MPI_INT));
  CHECK_OK(MPI_File_read_at_all_end(f, in, &status));
  CHECK(std::equal(in, in + 3, out));
  CHECK_OK(MPI_File_seek(f, s.rank * 3, MPI_SEEK_SET));
  CHECK_OK(MPI_File_read_all_begin_c(f, in, n, MPI_INT));
  CHECK_OK(MPI_File_read_all_end(f, in, &status));
  CHECK(std::equal(in, in + 3, out));
  CHECK_OK(MPI_File_seek(f, s.rank * 3, MPI_SEEK_SET));
  CHECK_OK(MPI_File_iread_all_c(f, in, n, MPI_INT, &request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK(std::equal(in, in + 3, out));
  CHECK_OK(MPI_File_seek_shared(f, 0, MPI_SEEK_SET));
  CHECK_OK(MPI_File_read_ordered_c(f, in, n, MPI_INT, &status));
  CHECK(std::equal(in, in + 3, out));
  CHECK_OK(MPI_File_read_ordered_begin_c(f, in, n, MPI_INT));
  CHECK_OK(MPI_File_read_ordered_end(f, in, &status));
  CHECK(std::equal(in, in + 3, out));
  CHECK_OK(MPI_File_read_shared_c(f, in, n, MPI_INT, &status));
  CHECK_EQ(status_bytes(status), 12);
  CHECK_OK(MPI_File_iread_shared_c(f, in, n, MPI_INT, &request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_EQ(status_bytes(status), 12);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_write_shared_c(f, out, n, MPI_INT, &status));
  CHECK_OK(MPI_File_iwrite_shared_c(f, out, n, MPI_INT, &request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_EQ(status_bytes(status), 12);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Offset position = -1;
  CHECK_OK(MPI_File_get_position_shared(f, &position));
  CHECK_EQ(position, 6 * 3 * s.size);
  CHECK_OK(MPI_File_close(&f));
  s.remove("counts");
}
#endif

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv);
  far_positions(session);
  wide_filetype(session);
  request_larger_than_int(session);
#if MPI_VERSION >= 4
  large_count_calls(session);
#endif
  return session.finish();
}
