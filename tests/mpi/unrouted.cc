// Suiro is preloaded but no rule names the file (launch.sh --no-preset): it goes to the MPI's own MPI-IO and works; a
// path prefix still routes the file it stands before, side by side with the others.
#include "test.h"

int main(int argc, char** argv) {
  Session s(argc, argv);
  const int create = MPI_MODE_RDWR | MPI_MODE_CREATE;
  MPI_File plain = MPI_FILE_NULL, routed = MPI_FILE_NULL;
  int code = MPI_File_open(MPI_COMM_WORLD, s.path("plain").c_str(), create, MPI_INFO_NULL, &plain);
  CHECK_OK(code);
  REQUIRE(code == MPI_SUCCESS);
  CHECK_EQ(Session::served_by(plain), "");
  if (!native()) {
    code = MPI_File_open(MPI_COMM_WORLD, ("direct:" + s.path("routed")).c_str(), create, MPI_INFO_NULL, &routed);
    CHECK_OK(code);
    REQUIRE(code == MPI_SUCCESS);
    CHECK_EQ(Session::served_by(routed), "direct");
  }
  for (MPI_File file : {plain, routed}) {
    if (file == MPI_FILE_NULL) continue;
    const int value = 5 + s.rank;
    int back = -1;
    MPI_Status status;
    CHECK_OK(MPI_File_write_at_all(file, s.rank * 4, &value, 1, MPI_INT, &status));
    CHECK_OK(MPI_File_read_at(file, s.rank * 4, &back, 1, MPI_INT, &status));
    CHECK_EQ(back, value);
    MPI_Request request;
    CHECK_OK(MPI_File_iwrite_at(file, s.rank * 4, &value, 1, MPI_INT, &request));
    CHECK_OK(MPI_Wait(&request, &status));
    MPI_Offset size = -1;
    CHECK_OK(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_OK(MPI_File_get_size(file, &size));
    CHECK_EQ(size, 4 * s.size);
    CHECK(MPI_File_f2c(MPI_File_c2f(file)) == file);
  }
  CHECK_OK(MPI_File_close(&plain));
  if (routed != MPI_FILE_NULL) CHECK_OK(MPI_File_close(&routed));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQ(posix_size(s.path("plain")), 4 * s.size);
  if (!native()) CHECK_EQ(posix_size(s.path("routed")), 4 * s.size);
  MPI_Barrier(MPI_COMM_WORLD);
  if (s.rank == 0) {
    CHECK_OK(MPI_File_delete(s.path("plain").c_str(), MPI_INFO_NULL));
    if (!native()) CHECK_OK(MPI_File_delete(("direct:" + s.path("routed")).c_str(), MPI_INFO_NULL));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return s.finish();
}
