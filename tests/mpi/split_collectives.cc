// Split collectives: all five kinds, writing and reading, with work between begin and end; and the rule that a handle
// has at most one of them under way (MPI-4.0 section 14.4.5).
#include "operations.h"

int main(int argc, char** argv) {
  Session s(argc, argv);
  const int kCount = 100;
  MPI_File file = s.open(MPI_COMM_WORLD, "split", MPI_MODE_RDWR | MPI_MODE_CREATE);
  CHECK_OK(MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  std::vector<int> data(kCount), back(kCount);
  auto fill = [&](int round) {
    for (int i = 0; i < kCount; ++i) data[static_cast<size_t>(i)] = round * 1000000 + s.rank * 1000 + i;
    std::fill(back.begin(), back.end(), -1);
  };
  const auto bytes = static_cast<int64_t>(kCount) * 4;
  for (int round = 0; round < 4; ++round) {
    MPI_Status status;
    // explicit offsets
    fill(round);
    CHECK_OK(MPI_File_write_at_all_begin(file, s.rank * kCount, data.data(), kCount, MPI_INT));
    int token = s.rank, sum = 0;
    MPI_Allreduce(&token, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);  // other communication between begin and end
    CHECK_OK(MPI_File_write_at_all_end(file, data.data(), &status));
    CHECK_EQ(status_bytes(status), bytes);
    CHECK_OK(MPI_File_read_at_all_begin(file, s.rank * kCount, back.data(), kCount, MPI_INT));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_OK(MPI_File_read_at_all_end(file, back.data(), &status));
    CHECK_EQ(status_bytes(status), bytes);
    CHECK(back == data);
    // individual pointers: position moves at begin
    fill(round + 10);
    CHECK_OK(MPI_File_seek(file, s.rank * kCount, MPI_SEEK_SET));
    CHECK_OK(MPI_File_write_all_begin(file, data.data(), kCount, MPI_INT));
    CHECK_OK(MPI_File_write_all_end(file, data.data(), &status));
    CHECK_EQ(status_bytes(status), bytes);
    MPI_Offset position = -1;
    CHECK_OK(MPI_File_get_position(file, &position));
    CHECK_EQ(position, (s.rank + 1) * kCount);
    CHECK_OK(MPI_File_seek(file, s.rank * kCount, MPI_SEEK_SET));
    CHECK_OK(MPI_File_read_all_begin(file, back.data(), kCount, MPI_INT));
    CHECK_OK(MPI_File_read_all_end(file, back.data(), &status));
    CHECK_EQ(status_bytes(status), bytes);
    CHECK(back == data);
    // ordered
    make_visible(file, MPI_COMM_WORLD);
    fill(round + 20);
    CHECK_OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    CHECK_OK(MPI_File_write_ordered_begin(file, data.data(), kCount, MPI_INT));
    CHECK_OK(MPI_File_write_ordered_end(file, data.data(), &status));
    CHECK_EQ(status_bytes(status), bytes);
    CHECK_OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    CHECK_OK(MPI_File_read_ordered_begin(file, back.data(), kCount, MPI_INT));
    CHECK_OK(MPI_File_read_ordered_end(file, back.data(), &status));
    CHECK_EQ(status_bytes(status), bytes);
    CHECK(back == data);
    MPI_Barrier(MPI_COMM_WORLD);
  }

  if (!native()) {  // misuse; the MPIs differ and partly crash
    CHECK(MPI_File_write_all_end(file, data.data(), MPI_STATUS_IGNORE) != MPI_SUCCESS);  // nothing was begun
    CHECK_OK(MPI_File_write_at_all_begin(file, s.rank * kCount, data.data(), kCount, MPI_INT));
    CHECK(MPI_File_write_at_all_begin(file, 0, data.data(), 0, MPI_INT) != MPI_SUCCESS);  // a second one
    CHECK(MPI_File_read_all_begin(file, back.data(), 0, MPI_INT) != MPI_SUCCESS);
    CHECK(MPI_File_read_at_all_end(file, back.data(), MPI_STATUS_IGNORE) != MPI_SUCCESS);  // the wrong end
    CHECK_OK(MPI_File_write_at_all_end(file, data.data(), MPI_STATUS_IGNORE));  // the right one still works
  }
  CHECK_OK(MPI_File_close(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQ(posix_size(s.path("split")), 8 + bytes * s.size);
  s.remove("split");
  return s.finish();
}
