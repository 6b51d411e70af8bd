// Error handlers on files (MPI-4.0 section 14.7): the default returns, MPI_FILE_NULL's is inherited by later opens, a
// user's handler gets the handle and the code, and MPI_ERRORS_ARE_FATAL ends the program.
//   error_handlers            the checks
//   error_handlers fatal      ends in the middle, as MPI_ERRORS_ARE_FATAL asks (launch.sh --fails any ...)
#include "test.h"

namespace {

struct Seen {
  int calls = 0;
  MPI_File file = MPI_FILE_NULL;
  int code = MPI_SUCCESS;
};
Seen seen;

void remember(MPI_File* file, int* code, ...) {
  ++seen.calls;
  seen.file = *file;
  seen.code = *code;
}

MPI_Errhandler handler_of(MPI_File file) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  CHECK_OK(MPI_File_get_errhandler(file, &handler));
  return handler;
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv);
  const int create = MPI_MODE_RDWR | MPI_MODE_CREATE;
  if (argc > 1 && std::strcmp(argv[1], "fatal") == 0) {
    MPI_File file = session.open(MPI_COMM_WORLD, "fatal", create | MPI_MODE_DELETE_ON_CLOSE);
    CHECK_OK(MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL));
    if (session.rank == 0) std::printf("about to fail\n");
    std::fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_seek(file, -1, MPI_SEEK_SET);
    std::printf("still alive\n");
    std::fflush(stdout);
    return 0;
  }

  CHECK(handler_of(MPI_FILE_NULL) == MPI_ERRORS_RETURN);
  MPI_File file = session.open(MPI_COMM_WORLD, "handlers", create);
  CHECK(handler_of(file) == MPI_ERRORS_RETURN);
  CHECK_CLASS(MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);

  // a handler of our own
  MPI_Errhandler own;
  MPI_File_create_errhandler(remember, &own);
  CHECK_OK(MPI_File_set_errhandler(file, own));
  CHECK(handler_of(file) == own);
  int code = MPI_File_seek(file, -1, MPI_SEEK_SET);
  CHECK_EQ(seen.calls, 1);
  CHECK(seen.file == file);
  CHECK_CLASS(seen.code, MPI_ERR_ARG);
  CHECK_CLASS(code, MPI_ERR_ARG);
  CHECK_OK(MPI_File_call_errhandler(file, MPI_ERR_IO));
  CHECK_EQ(seen.calls, 2);
  CHECK_CLASS(seen.code, MPI_ERR_IO);
  CHECK_OK(MPI_File_write_at(file, session.rank, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE));
  CHECK_EQ(seen.calls, 2);  // success is nobody's business
  // another handle of the same file has its own handler
  MPI_File other = session.open(MPI_COMM_WORLD, "handlers", create);
  CHECK(handler_of(other) == MPI_ERRORS_RETURN);
  CHECK_CLASS(MPI_File_seek(other, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  CHECK_EQ(seen.calls, 2);
  CHECK_OK(MPI_File_close(&other));
  CHECK_OK(MPI_File_close(&file));

  // the handler of MPI_FILE_NULL: errors of open go to it, later opens inherit it
  seen = Seen();
  CHECK_OK(MPI_File_set_errhandler(MPI_FILE_NULL, own));
  file = MPI_FILE_NULL;
  code = MPI_File_open(MPI_COMM_WORLD, session.path("absent").c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  CHECK_CLASS(code, MPI_ERR_NO_SUCH_FILE);
  CHECK_EQ(seen.calls, 1);
  CHECK_CLASS(seen.code, MPI_ERR_NO_SUCH_FILE);
  file = session.open(MPI_COMM_WORLD, "handlers", create);
  CHECK(handler_of(file) == own);
  CHECK_CLASS(MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  CHECK_EQ(seen.calls, 2);
  CHECK(seen.file == file);
  CHECK_OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
  CHECK(handler_of(file) == own);  // what it inherited stays
  CHECK_OK(MPI_File_close(&file));
  CHECK_EQ(seen.calls, 2);

  // codes have texts that name something
  file = MPI_FILE_NULL;
  code = MPI_File_open(MPI_COMM_WORLD, session.path("absent").c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  CHECK(error_text(code).size() > 3);
  MPI_Errhandler_free(&own);
  session.remove("handlers");
  return session.finish();
}
