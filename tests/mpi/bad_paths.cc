// Paths that cannot be opened: the class of the standard on every rank, nothing created, nobody hangs.
#include "test.h"

namespace {

void fails(const char* path, int amode, std::initializer_list<int> wanted, int line) {
  MPI_File file = MPI_FILE_NULL;
  const int code = MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &file);
  record_class(code, wanted, __FILE__, line, path);
  CHECK(file == MPI_FILE_NULL);
  if (file != MPI_FILE_NULL) MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv);
  const int create = MPI_MODE_RDWR | MPI_MODE_CREATE;
  fails(session.path("missing/folder/file").c_str(), create, {MPI_ERR_NO_SUCH_FILE}, __LINE__);
  fails(session.path("missing/folder/file").c_str(), MPI_MODE_RDONLY, {MPI_ERR_NO_SUCH_FILE}, __LINE__);
  if (session.rank == 0) CHECK(posix_write(session.path("plain"), "x", 1));
  MPI_Barrier(MPI_COMM_WORLD);
  fails(session.path("plain/below_a_file").c_str(), create, {MPI_ERR_BAD_FILE, MPI_ERR_NO_SUCH_FILE}, __LINE__);
  session.remove("plain");
  if (session.rank == 0) CHECK(mkdir(session.path("folder").c_str(), 0755) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  fails(session.path("folder").c_str(), create, {MPI_ERR_BAD_FILE}, __LINE__);
  fails(session.path("folder").c_str(), MPI_MODE_RDONLY, {MPI_ERR_BAD_FILE}, __LINE__);
  MPI_Barrier(MPI_COMM_WORLD);
  if (session.rank == 0) CHECK(rmdir(session.path("folder").c_str()) == 0);
  fails(session.path(std::string(300, 'n')).c_str(), create, {MPI_ERR_BAD_FILE}, __LINE__);  // a name over NAME_MAX
  std::string deep;
  while (deep.size() < 5000) deep += "d/";
  fails(session.path(deep + "f").c_str(), create, {MPI_ERR_BAD_FILE}, __LINE__);  // a path over PATH_MAX
  fails("", create, {MPI_ERR_BAD_FILE, MPI_ERR_NO_SUCH_FILE, MPI_ERR_ARG}, __LINE__);
  if (geteuid() != 0) {
    if (session.rank == 0) {
      CHECK(posix_write(session.path("locked"), "x", 1));
      CHECK(chmod(session.path("locked").c_str(), 0) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    fails(session.path("locked").c_str(), MPI_MODE_RDWR, {MPI_ERR_ACCESS}, __LINE__);
    session.remove("locked");
  } else if (session.rank == 0) {
    std::printf("not tried as root: a file without permissions (root may open it)\n");
  }
  if (!native()) {
    // prefixes: the built one works, the reserved and the unknown ones say so and touch nothing
    const std::string plain = session.path("prefixed");
    MPI_File file = MPI_FILE_NULL;
    const int code = MPI_File_open(MPI_COMM_WORLD, ("direct:" + plain).c_str(), create, MPI_INFO_NULL, &file);
    CHECK_OK(code);
    if (code == MPI_SUCCESS) {
      CHECK_EQ(Session::served_by(file), "direct");
      CHECK_OK(MPI_File_write_at(file, session.rank, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE));
      CHECK_OK(MPI_File_close(&file));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (session.rank == 0) {
      CHECK_EQ(posix_size(plain), session.size);
      CHECK_OK(MPI_File_delete(("direct:" + plain).c_str(), MPI_INFO_NULL));
      CHECK_EQ(posix_size(plain), -1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return session.finish();
}
