// Several handles on one file, several communicators, COMM_SELF opens, communicators and infos freed while the file is
// open, subgroups that open while others do something else, and many files open at once.
#include "operations.h"

namespace {

void two_handles_one_file(const Session& s) {
  MPI_File a = s.open(MPI_COMM_WORLD, "twice", MPI_MODE_RDWR | MPI_MODE_CREATE);
  MPI_File b = s.open(MPI_COMM_WORLD, "twice", MPI_MODE_RDWR);
  CHECK(a != b);
  CHECK_OK(MPI_File_set_view(b, 4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));  // views and pointers are per handle
  const int value = 70 + s.rank;
  CHECK_OK(MPI_File_write_at(a, 4 + s.rank * 4, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
  MPI_Offset position = -1;
  CHECK_OK(MPI_File_write_shared(a, &value, 0, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_get_position(b, &position));
  CHECK_EQ(position, 0);
  CHECK_OK(MPI_File_sync(a));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_sync(b));
  int back = -1;
  const int other = (s.rank + 1) % s.size;
  CHECK_OK(MPI_File_read_at(b, other, &back, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_EQ(back, 70 + other);
  MPI_Barrier(MPI_COMM_WORLD);  // the shared pointers of the two handles are two pointers
  if (s.rank == 0) CHECK_OK(MPI_File_read_shared(b, &back, 1, MPI_INT, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_get_position_shared(a, &position));
  CHECK_EQ(position, 0);
  CHECK_OK(MPI_File_get_position_shared(b, &position));
  CHECK_EQ(position, 1);
  CHECK_OK(MPI_File_close(&a));
  CHECK_OK(MPI_File_read_at(b, other, &back, 1, MPI_INT, MPI_STATUS_IGNORE));  // closing one leaves the other
  CHECK_EQ(back, 70 + other);
  CHECK_OK(MPI_File_close(&b));
  s.remove("twice");
}

void self_opens(const Session& s) {
  // every rank alone on the one file, all at the same time
  MPI_File file = s.open(MPI_COMM_SELF, "self", MPI_MODE_RDWR | MPI_MODE_CREATE);
  for (int i = 0; i < 20; ++i) {
    const int value = s.rank * 100 + i;
    CHECK_OK(MPI_File_write_at_all(file, (i * s.size + s.rank) * 4, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
  }
  MPI_Offset position = -1;
  CHECK_OK(MPI_File_seek_shared(file, s.rank, MPI_SEEK_SET));  // alone in this communicator, so its own shared pointer
  CHECK_OK(MPI_File_get_position_shared(file, &position));
  CHECK_EQ(position, s.rank);
  CHECK_OK(MPI_File_close(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  if (s.rank == 0) {
    const auto bytes = posix_read(s.path("self"));
    CHECK_EQ(bytes.size(), 80 * s.size);
    for (int i = 0; i < 20 && bytes.size() == 80u * static_cast<unsigned>(s.size); ++i) {
      for (int r = 0; r < s.size; ++r) {
        int value = -1;
        std::memcpy(&value, bytes.data() + (i * s.size + r) * 4, 4);
        CHECK_EQ(value, r * 100 + i);
      }
    }
  }
  s.remove("self");
}

void communicators_come_and_go(const Session& s) {
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_File file = s.open(dup, "freed", MPI_MODE_RDWR | MPI_MODE_CREATE, info);
  MPI_Info_free(&info);
  MPI_Comm_free(&dup);
  const int value = s.rank;
  CHECK_OK(MPI_File_write_ordered(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_set_size(file, 4 * s.size + 4));
  CHECK_OK(MPI_File_close(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQ(posix_size(s.path("freed")), 4 * s.size + 4);
  s.remove("freed");

  // odd and even ranks each have a file of their own; ranks in reverse order
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, s.rank % 2, -s.rank, &half);
  int half_rank, half_size;
  MPI_Comm_rank(half, &half_rank);
  MPI_Comm_size(half, &half_size);
  const std::string name = s.rank % 2 ? "odd" : "even";
  file = s.open(half, name, MPI_MODE_RDWR | MPI_MODE_CREATE);
  MPI_Group group, half_group;
  int same = MPI_UNEQUAL;
  CHECK_OK(MPI_File_get_group(file, &group));
  MPI_Comm_group(half, &half_group);
  MPI_Group_compare(group, half_group, &same);
  CHECK_EQ(same, MPI_IDENT);
  MPI_Group_free(&group);
  MPI_Group_free(&half_group);
  CHECK_OK(MPI_File_write_ordered(file, &s.rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&file));
  MPI_Barrier(half);
  const auto bytes = posix_read(s.path(name));
  CHECK_EQ(bytes.size(), 4 * half_size);
  for (int i = 0; i < half_size && bytes.size() == 4u * static_cast<unsigned>(half_size); ++i) {
    int value_there = -1;
    std::memcpy(&value_there, bytes.data() + i * 4, 4);
    CHECK_EQ(value_there, s.rank + 2 * (half_rank - i));  // ordered by the rank in the file's communicator
  }
  MPI_Barrier(half);
  if (half_rank == 0) unlink(s.path(name).c_str());
  MPI_Comm_free(&half);
  MPI_Barrier(MPI_COMM_WORLD);
}

void many_files(const Session& s) {
  constexpr int kFiles = 40;
  std::vector<MPI_File> files;
  for (int i = 0; i < kFiles; ++i)
    files.push_back(s.open(MPI_COMM_WORLD, "many" + std::to_string(i), MPI_MODE_RDWR | MPI_MODE_CREATE));
  for (int i = 0; i < kFiles; ++i) {
    const int value = i * 100 + s.rank;
    CHECK_OK(MPI_File_write_at(files[static_cast<size_t>(i)], s.rank * 4, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
  }
  for (int i = kFiles - 1; i >= 0; --i) {
    int value = -1;
    CHECK_OK(MPI_File_read_at(files[static_cast<size_t>(i)], s.rank * 4, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_EQ(value, i * 100 + s.rank);
    CHECK_OK(MPI_File_close(&files[static_cast<size_t>(i)]));
    s.remove("many" + std::to_string(i));
  }
  // opening and closing again and again leaks no descriptor
  const auto open_descriptors = [] {
    int n = 0;
    for (int fd = 0; fd < 1024; ++fd) n += fcntl(fd, F_GETFD) >= 0;
    return n;
  };
  MPI_File file = s.open(MPI_COMM_WORLD, "again", MPI_MODE_RDWR | MPI_MODE_CREATE);
  CHECK_OK(MPI_File_close(&file));
  const int before = open_descriptors();
  for (int i = 0; i < 60; ++i) {
    file = s.open(MPI_COMM_WORLD, "again", MPI_MODE_RDWR | MPI_MODE_CREATE);
    CHECK_OK(MPI_File_close(&file));
  }
  CHECK(open_descriptors() <= before + 2);
  s.remove("again");
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv);
  two_handles_one_file(session);
  self_opens(session);
  communicators_come_and_go(session);
  many_files(session);
  return session.finish();
}
