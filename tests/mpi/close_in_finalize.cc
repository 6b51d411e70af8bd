// Files closed inside the delete callbacks of attributes on MPI_COMM_SELF, which MPI_Finalize calls first: this is how
// HDF5 closes what a program left open. The content is checked afterwards, without MPI.
#include "test.h"

namespace {

struct Left {
  MPI_File file;
  int closed = 0;
  int code = MPI_ERR_OTHER;
};

int close_file(MPI_Comm, int, void* value, void*) {
  auto* left = static_cast<Left*>(value);
  ++left->closed;
  const int number = 4711;
  left->code = MPI_File_write_at(left->file, 4, &number, 1, MPI_INT, MPI_STATUS_IGNORE);
  if (left->code == MPI_SUCCESS) left->code = MPI_File_close(&left->file);
  return MPI_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  Session s(argc, argv);
  const std::string name = "mine" + std::to_string(s.rank);
  Left own{s.open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_CREATE)};
  Left common{s.open(MPI_COMM_WORLD, "common", MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE)};
  const int value = 99;
  CHECK_OK(MPI_File_write_at(own.file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_write_at(common.file, s.rank * 4, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
  for (Left* left : {&own, &common}) {
    int key = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, close_file, &key, nullptr);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, left);
    MPI_Comm_free_keyval(&key);
  }
  MPI_Finalize();

  for (Left* left : {&own, &common}) {
    CHECK_EQ(left->closed, 1);
    CHECK_EQ(left->code, MPI_SUCCESS);
  }
  const auto bytes = posix_read(s.path(name));
  CHECK_EQ(bytes.size(), 8);
  int found[2] = {0, 0};
  if (bytes.size() == 8) std::memcpy(found, bytes.data(), 8);
  CHECK_EQ(found[0], 99);
  CHECK_EQ(found[1], 4711);
  CHECK(unlink(s.path(name).c_str()) == 0);
  alarm(0);
  // no MPI any more: every rank reports for itself
  std::printf("%ld passed, %ld failed\n", tally().passed, tally().failed);
  return tally().failed == 0 ? 0 : kExitFailed;
}
