// A handle that was closed stays a number somewhere in the program. Using it again must give MPI_ERR_FILE, not a crash
// and not somebody else's file. Only under Suiro: the MPIs themselves crash here.
#include "test.h"

int main(int argc, char** argv) {
  Session session(argc, argv);
  if (native()) return session.skip("the native libraries crash on a closed handle");
  for (int pass = 0; pass < 3; ++pass) {
    MPI_File file = session.open(MPI_COMM_WORLD, "closed", MPI_MODE_RDWR | MPI_MODE_CREATE);
    MPI_File copy = file;
    CHECK_OK(MPI_File_close(&file));
    CHECK(file == MPI_FILE_NULL);
    MPI_Offset number = 0;
    int value = 3;
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_CLASS(MPI_File_get_size(copy, &number), MPI_ERR_FILE);
    CHECK_CLASS(MPI_File_write_at(copy, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_FILE);
    CHECK_CLASS(MPI_File_read(copy, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_FILE);
    CHECK_CLASS(MPI_File_write_all(copy, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_FILE);
    CHECK_CLASS(MPI_File_iwrite(copy, &value, 1, MPI_INT, &request), MPI_ERR_FILE);
    CHECK_CLASS(MPI_File_set_view(copy, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_FILE);
    CHECK_CLASS(MPI_File_sync(copy), MPI_ERR_FILE);
    CHECK_CLASS(MPI_File_seek(copy, 0, MPI_SEEK_SET), MPI_ERR_FILE);
    CHECK_CLASS(MPI_File_close(&copy), MPI_ERR_FILE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  // the null handle
  MPI_File null = MPI_FILE_NULL;
  MPI_Offset size = 0;
  CHECK_CLASS(MPI_File_get_size(null, &size), MPI_ERR_FILE, MPI_ERR_ARG);
  session.remove("closed");
  return session.finish();
}
