// A read-only file system (launch.sh --read-only-fs): creating and opening for writing fail with MPI_ERR_READ_ONLY on
// all ranks, reading works.
#include "test.h"

int main(int argc, char** argv) {
  Session s(argc, argv);
  auto refused = [&](const char* name, int amode, int line) {
    MPI_File file = MPI_FILE_NULL;
    const int code = MPI_File_open(MPI_COMM_WORLD, s.path(name).c_str(), amode, MPI_INFO_NULL, &file);
    record_class(code, {MPI_ERR_READ_ONLY}, __FILE__, line, name);
    CHECK(file == MPI_FILE_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
  };
  refused("new", MPI_MODE_RDWR | MPI_MODE_CREATE, __LINE__);
  refused("new", MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL, __LINE__);
  refused("present", MPI_MODE_RDWR, __LINE__);
  refused("present", MPI_MODE_WRONLY, __LINE__);
  MPI_File file = s.open(MPI_COMM_WORLD, "present", MPI_MODE_RDONLY);
  char text[10] = "";
  MPI_Status status;
  CHECK_OK(MPI_File_read_at_all(file, 0, text, 9, MPI_CHAR, &status));
  CHECK_EQ(std::string(text), "read only");
  CHECK_OK(MPI_File_close(&file));
  if (s.rank == 0)
    CHECK_CLASS(MPI_File_delete(s.path("present").c_str(), MPI_INFO_NULL), MPI_ERR_READ_ONLY, MPI_ERR_ACCESS);
  return s.finish();
}
