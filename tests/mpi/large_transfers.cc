// One call that moves more than 2^31 bytes (label check-long: writes a file of 2.2 GiB per rank). The memory stays
// small: the send type selects the same mebibyte again and again.
#include "test.h"

int main(int argc, char** argv) {
  Session s(argc, argv);
  const int64_t mebibyte = 1 << 20;
  const int pieces = 2253;  // 2.2 GiB
  std::vector<unsigned char> data(static_cast<size_t>(mebibyte));
  for (size_t i = 0; i < data.size(); ++i) data[i] = stamp(static_cast<uint64_t>(s.rank), 1, i);
  MPI_Datatype one, many;
  MPI_Type_contiguous(static_cast<int>(mebibyte), MPI_BYTE, &one);
  MPI_Type_create_hvector(pieces, 1, 0, one, &many);
  MPI_Type_commit(&many);
  const std::string name = "large" + std::to_string(s.rank);
  MPI_File file = s.open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
  MPI_Status status;
  CHECK_OK(MPI_File_write(file, data.data(), 1, many, &status));
  CHECK_EQ(status_bytes(status), pieces * mebibyte);
  int count = 0;
  CHECK_OK(MPI_Get_count(&status, many, &count));
  CHECK_EQ(count, 1);
  CHECK_OK(MPI_Get_count(&status, MPI_BYTE, &count));
  CHECK_EQ(count, MPI_UNDEFINED);  // does not fit an int
  CHECK_OK(MPI_File_sync(file));
  MPI_Offset position = -1;
  CHECK_OK(MPI_File_get_position(file, &position));
  CHECK_EQ(position, pieces * mebibyte);
  CHECK_EQ(posix_size(s.path(name)), pieces * mebibyte);
  for (int piece : {0, 1, 1000, 2047, 2048, 2252}) {  // both sides of 2^31
    CHECK_BYTES(posix_read_range(s.path(name), piece * mebibyte, data.size()), data, "a mebibyte of the large file");
  }
  MPI_Type_free(&many);
  MPI_Type_free(&one);
  CHECK_OK(MPI_File_close(&file));
  return s.finish();
}
