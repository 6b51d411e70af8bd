// Ranks that do not agree at open, or of which one alone fails: every rank returns an error, none hangs, none holds a
// handle. Needs two ranks.
#include "test.h"

int main(int argc, char** argv) {
  Session session(argc, argv);
  const int create = MPI_MODE_RDWR | MPI_MODE_CREATE;
  const int last = session.size - 1;
  auto fails = [&](const std::string& path, int amode, std::initializer_list<int> wanted, int line) {
    MPI_File file = MPI_FILE_NULL;
    const int code = MPI_File_open(MPI_COMM_WORLD, path.c_str(), amode, MPI_INFO_NULL, &file);
    record_class(code, wanted, __FILE__, line, "MPI_File_open");
    CHECK(file == MPI_FILE_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (session.rank == 0) unlink(session.path("shared").c_str());
    MPI_Barrier(MPI_COMM_WORLD);
  };
  const std::string shared = session.path("shared");
  // different modes, the odd rank being the first, then the last
  fails(shared, session.rank == last ? MPI_MODE_WRONLY | MPI_MODE_CREATE : create, {MPI_ERR_NOT_SAME, MPI_ERR_AMODE},
        __LINE__);
  fails(shared, session.rank == 0 ? MPI_MODE_WRONLY | MPI_MODE_CREATE : create, {MPI_ERR_NOT_SAME, MPI_ERR_AMODE},
        __LINE__);
  // an impossible mode on one rank only
  fails(shared, session.rank == last ? MPI_MODE_RDONLY | MPI_MODE_RDWR : create, {MPI_ERR_NOT_SAME, MPI_ERR_AMODE},
        __LINE__);

  // set_view: a wrong argument on one rank is that rank's error. set_view does not communicate (programs call it for
  // every write), so the others may succeed; nobody may hang, and the rank with the error keeps the view it had.
  MPI_File file = session.open(MPI_COMM_WORLD, "views", create);
  const char* datarep = session.rank == last ? "no such datarep" : "native";
  int code = MPI_File_set_view(file, 0, MPI_INT, MPI_INT, datarep, MPI_INFO_NULL);
  MPI_Offset where = -1;
  if (session.rank == last) {
    CHECK_CLASS(code, MPI_ERR_UNSUPPORTED_DATAREP, MPI_ERR_NOT_SAME);
    CHECK_OK(MPI_File_get_byte_offset(file, 3, &where));
    CHECK_EQ(where, 3);
  }
  code = MPI_File_set_view(file, session.rank == 0 ? -4 : 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  if (session.rank == 0) CHECK_CLASS(code, MPI_ERR_ARG);
  CHECK_OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_get_byte_offset(file, 3, &where));
  CHECK_EQ(where, 3);
  // sizes that differ
  CHECK_CLASS(MPI_File_set_size(file, 100 + (session.rank == last)), MPI_ERR_NOT_SAME, MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_preallocate(file, 100 + (session.rank == last)), MPI_ERR_NOT_SAME, MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_set_atomicity(file, session.rank == last), MPI_ERR_NOT_SAME, MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_seek_shared(file, session.rank == last ? 8 : 4, MPI_SEEK_SET), MPI_ERR_NOT_SAME, MPI_ERR_ARG);
  // one rank fails inside a collective data call: it gets its error, the others their data, and nobody waits for ever
  int value = session.rank;
  code =
      MPI_File_write_at_all(file, session.rank * 4, &value, session.rank == last ? -1 : 1, MPI_INT, MPI_STATUS_IGNORE);
  if (session.rank == last) {
    CHECK_CLASS(code, MPI_ERR_COUNT, MPI_ERR_ARG);
  } else if (code == MPI_SUCCESS) {
    value = -1;
    CHECK_OK(MPI_File_read_at(file, session.rank * 4, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_EQ(value, session.rank);
  }
  // and the handle still works for everyone
  value = 100 + session.rank;
  CHECK_OK(MPI_File_write_at_all(file, session.rank * 4, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  if (session.rank == 0) CHECK_EQ(posix_size(session.path("views")), 4 * session.size);
  session.remove("views");
  return session.finish();
}
