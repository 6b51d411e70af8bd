// MPI_File_open, MPI_File_close, MPI_File_delete: what each access mode does, and the error class of each misuse
// (MPI-4.0 sections 14.2.1 to 14.2.3 and 14.7).
#include "test.h"

namespace {

int open_only(const Session& session, MPI_Comm comm, const std::string& name, int amode) {
  MPI_File file = MPI_FILE_NULL;
  const int code = MPI_File_open(comm, session.path(name).c_str(), amode, MPI_INFO_NULL, &file);
  CHECK((code == MPI_SUCCESS) == (file != MPI_FILE_NULL));
  if (code == MPI_SUCCESS) CHECK_OK(MPI_File_close(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  return code;
}

void bad_modes(const Session& s) {
  const int no_access[] = {0, MPI_MODE_CREATE, MPI_MODE_APPEND};
  for (int amode : no_access) CHECK_CLASS(open_only(s, MPI_COMM_WORLD, "modes", amode), MPI_ERR_AMODE);
  const int bad[] = {MPI_MODE_RDONLY | MPI_MODE_WRONLY,
                     MPI_MODE_RDONLY | MPI_MODE_RDWR,
                     MPI_MODE_WRONLY | MPI_MODE_RDWR,
                     MPI_MODE_RDONLY | MPI_MODE_CREATE,
                     MPI_MODE_RDONLY | MPI_MODE_EXCL,
                     MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL,
                     MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL | MPI_MODE_CREATE};
  for (int amode : bad) CHECK_CLASS(open_only(s, MPI_COMM_WORLD, "modes", amode), MPI_ERR_AMODE);
  if (s.rank == 0) CHECK_EQ(posix_size(s.path("modes")), -1);  // none of them created anything
}

void create_and_excl(const Session& s) {
  for (int access : {MPI_MODE_RDONLY, MPI_MODE_WRONLY, MPI_MODE_RDWR}) {
    CHECK_CLASS(open_only(s, MPI_COMM_WORLD, "absent", access), MPI_ERR_NO_SUCH_FILE);
  }
  CHECK_CLASS(open_only(s, MPI_COMM_WORLD, "absent", MPI_MODE_RDWR | MPI_MODE_EXCL), MPI_ERR_NO_SUCH_FILE,
              MPI_ERR_AMODE);
  CHECK_OK(open_only(s, MPI_COMM_WORLD, "created", MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL));
  if (s.rank == 0) CHECK_EQ(posix_size(s.path("created")), 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_CLASS(open_only(s, MPI_COMM_WORLD, "created", MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL),
              MPI_ERR_FILE_EXISTS);
  CHECK_OK(open_only(s, MPI_COMM_WORLD, "created", MPI_MODE_RDWR | MPI_MODE_CREATE));
  // an existing file keeps its content: MPI has no truncating open
  if (s.rank == 0) CHECK(posix_write(s.path("created"), "keep me", 7));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(open_only(s, MPI_COMM_WORLD, "created", MPI_MODE_RDWR | MPI_MODE_CREATE));
  if (s.rank == 0) CHECK_EQ(posix_size(s.path("created")), 7);
  s.remove("created");
}

void append(const Session& s) {
  if (s.rank == 0) CHECK(posix_write(s.path("append"), "0123456789", 10));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File file = s.open(MPI_COMM_WORLD, "append", MPI_MODE_RDWR | MPI_MODE_APPEND);
  MPI_Offset position = -1;
  CHECK_OK(MPI_File_get_position(file, &position));
  CHECK_EQ(position, 10);
  CHECK_OK(MPI_File_get_position_shared(file, &position));
  CHECK_EQ(position, 10);
  // only the first position: an explicit offset still means what it says
  if (s.rank == 0) CHECK_OK(MPI_File_write_at(file, 2, "XY", 2, MPI_CHAR, MPI_STATUS_IGNORE));
  const std::string mine(3, static_cast<char>('a' + s.rank));
  CHECK_OK(MPI_File_write_ordered(file, mine.data(), 3, MPI_CHAR, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  if (s.rank == 0) {
    std::string expected = "01XY456789";
    for (int r = 0; r < s.size; ++r) expected += std::string(3, static_cast<char>('a' + r));
    CHECK_BYTES(posix_read(s.path("append")), std::vector<unsigned char>(expected.begin(), expected.end()), "appended");
  }
  s.remove("append");
}

void delete_on_close(const Session& s) {
  MPI_File file = s.open(MPI_COMM_WORLD, "temporary", MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
  CHECK_OK(MPI_File_write_at(file, s.rank * 4, &s.rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_sync(file));
  int back = -1;
  CHECK_OK(MPI_File_read_at(file, (s.size - 1) * 4, &back, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_EQ(back, s.size - 1);
  CHECK_OK(MPI_File_close(&file));
  CHECK(file == MPI_FILE_NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQ(posix_size(s.path("temporary")), -1);
}

void unique_open(const Session& s) {
  MPI_File file = s.open(MPI_COMM_WORLD, "unique", MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_UNIQUE_OPEN);
  const int value = 1000 + s.rank;
  CHECK_OK(MPI_File_write_at_all(file, s.rank * 4, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
  int amode = 0;
  CHECK_OK(MPI_File_get_amode(file, &amode));
  CHECK_EQ(amode, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_UNIQUE_OPEN);
  CHECK_OK(MPI_File_close(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQ(posix_size(s.path("unique")), 4 * s.size);
  s.remove("unique");
}

void sequential(const Session& s) {
  MPI_File file = s.open(MPI_COMM_WORLD, "stream", MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_SEQUENTIAL);
  const int value = 7 + s.rank;
  CHECK_OK(MPI_File_write_ordered(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_write_shared(file, &value, 0, MPI_INT, MPI_STATUS_IGNORE));
  MPI_Offset offset = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  // a stream has no positions: only the shared pointer moves on
  CHECK_CLASS(MPI_File_write_at(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_write_at_all(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_write(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_write_all(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_iwrite_at(file, 0, &value, 1, MPI_INT, &request), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_iwrite(file, &value, 1, MPI_INT, &request), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_write_all_begin(file, &value, 1, MPI_INT), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_seek(file, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_seek_shared(file, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_get_position(file, &offset), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_get_position_shared(file, &offset), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_get_byte_offset(file, 0, &offset), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_OPERATION,
              MPI_ERR_ARG);
  CHECK_OK(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_write_ordered(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  if (s.rank == 0) {
    std::vector<unsigned char> expected;
    for (int pass = 0; pass < 2; ++pass) {
      for (int r = 0; r < s.size; ++r) {
        const int v = 7 + r;
        expected.insert(expected.end(), reinterpret_cast<const unsigned char*>(&v),
                        reinterpret_cast<const unsigned char*>(&v + 1));
      }
    }
    CHECK_BYTES(posix_read(s.path("stream")), expected, "sequential file");
  }
  s.remove("stream");
}

void wrong_direction(const Session& s) {
  if (s.rank == 0) CHECK(posix_write(s.path("direction"), "abcdefgh", 8));
  MPI_Barrier(MPI_COMM_WORLD);
  int data = 5;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_File file = s.open(MPI_COMM_WORLD, "direction", MPI_MODE_RDONLY);
  CHECK_CLASS(MPI_File_write_at(file, 0, &data, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
  CHECK_CLASS(MPI_File_write(file, &data, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
  CHECK_CLASS(MPI_File_write_all(file, &data, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
  CHECK_CLASS(MPI_File_write_at_all(file, 0, &data, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
  CHECK_CLASS(MPI_File_write_shared(file, &data, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
  CHECK_CLASS(MPI_File_write_ordered(file, &data, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
  CHECK_CLASS(MPI_File_iwrite(file, &data, 1, MPI_INT, &request), MPI_ERR_READ_ONLY);
  CHECK_CLASS(MPI_File_iwrite_at_all(file, 0, &data, 1, MPI_INT, &request), MPI_ERR_READ_ONLY);
  CHECK_CLASS(MPI_File_set_size(file, 4), MPI_ERR_READ_ONLY);
  CHECK_CLASS(MPI_File_preallocate(file, 400), MPI_ERR_READ_ONLY);
  MPI_Offset position = -1;
  CHECK_OK(MPI_File_get_position(file, &position));
  CHECK_EQ(position, 0);  // a refused call moves no pointer
  CHECK_OK(MPI_File_get_position_shared(file, &position));
  CHECK_EQ(position, 0);
  CHECK_OK(MPI_File_sync(file));
  CHECK_OK(MPI_File_close(&file));

  file = s.open(MPI_COMM_WORLD, "direction", MPI_MODE_WRONLY);
  CHECK_CLASS(MPI_File_read_at(file, 0, &data, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
  CHECK_CLASS(MPI_File_read(file, &data, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
  CHECK_CLASS(MPI_File_read_all(file, &data, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
  CHECK_CLASS(MPI_File_read_shared(file, &data, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
  CHECK_CLASS(MPI_File_read_ordered(file, &data, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
  CHECK_CLASS(MPI_File_iread_all(file, &data, 1, MPI_INT, &request), MPI_ERR_ACCESS);
  CHECK_CLASS(MPI_File_read_at_all_begin(file, 0, &data, 1, MPI_INT), MPI_ERR_ACCESS);
  CHECK_EQ(data, 5);
  CHECK_OK(MPI_File_close(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  if (s.rank == 0) CHECK_EQ(posix_size(s.path("direction")), 8);
  s.remove("direction");
}

void deletion(const Session& s) {
  if (s.rank == 0) {
    CHECK(posix_write(s.path("doomed"), "x", 1));
    CHECK_OK(MPI_File_delete(s.path("doomed").c_str(), MPI_INFO_NULL));
    CHECK_EQ(posix_size(s.path("doomed")), -1);
    CHECK_CLASS(MPI_File_delete(s.path("doomed").c_str(), MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
    CHECK_CLASS(MPI_File_delete(s.path("no/such/folder").c_str(), MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv);
  bad_modes(session);
  create_and_excl(session);
  append(session);
  delete_on_close(session);
  unique_open(session);
  sequential(session);
  wrong_direction(session);
  deletion(session);
  return session.finish();
}
