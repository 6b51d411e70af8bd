// Atomic mode (MPI-4.0 section 14.6.1): overlapping writes of different ranks end up as one or the other, never as a
// mix, also through non-contiguous views; a reader never sees half a write; accesses are sequentially consistent.
#include <algorithm>

#include "test.h"

namespace {

constexpr int kBytes = 64 * 1024;
constexpr int kRounds = 25;

bool uniform(const std::vector<unsigned char>& data) {
  for (unsigned char byte : data) {
    if (byte != data[0]) return false;
  }
  return true;
}

void writers_do_not_mix(const Session& s, bool strided) {
  MPI_File file = s.open(MPI_COMM_WORLD, "atomic", MPI_MODE_RDWR | MPI_MODE_CREATE);
  CHECK_OK(MPI_File_set_atomicity(file, 1));
  int flag = 0;
  CHECK_OK(MPI_File_get_atomicity(file, &flag));
  CHECK(flag != 0);
  if (strided) {  // 512 bytes of every 1024: the holes belong to nobody
    MPI_Datatype filetype;
    MPI_Type_vector(kBytes / 512, 512, 1024, MPI_BYTE, &filetype);
    MPI_Type_commit(&filetype);
    CHECK_OK(MPI_File_set_view(file, 0, MPI_BYTE, filetype, "native", MPI_INFO_NULL));
    MPI_Type_free(&filetype);
  }
  std::vector<unsigned char> data(kBytes);
  for (int round = 0; round < kRounds; ++round) {
    std::fill(data.begin(), data.end(), static_cast<unsigned char>(1 + (s.rank + round) % 200));
    const bool reader = s.size > 1 && (s.rank + round) % 3 == 2;
    if (reader) {
      MPI_Status status;
      std::vector<unsigned char> seen(kBytes, 0);
      CHECK_OK(MPI_File_read_at(file, 0, seen.data(), kBytes, MPI_BYTE, &status));
      const int64_t n = status_bytes(status);
      CHECK(n == 0 || n == kBytes);
      if (n == kBytes) CHECK(uniform(seen));
    } else {
      CHECK_OK(MPI_File_write_at(file, 0, data.data(), kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  std::vector<unsigned char> seen(kBytes, 0);
  CHECK_OK(MPI_File_read_at_all(file, 0, seen.data(), kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(uniform(seen));
  // collective writes to one place: again one of them
  std::fill(data.begin(), data.end(), static_cast<unsigned char>(201 + s.rank));
  CHECK_OK(MPI_File_write_at_all(file, 0, data.data(), kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_read_at(file, 0, seen.data(), kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(uniform(seen));
  CHECK(seen[0] > 200 && seen[0] <= 200 + s.size);
  CHECK_OK(MPI_File_close(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  if (s.rank == 0 && strided) {
    const auto bytes = posix_read(s.path("atomic"));
    size_t scribbled = 0;
    for (size_t i = 0; i < bytes.size(); ++i) scribbled += i % 1024 >= 512 && bytes[i] != 0;
    CHECK_EQ(scribbled, 0);
  }
  s.remove("atomic");
}

// Sequential consistency: what is written before a message is sent is seen after it arrived, without sync.
void message_orders_accesses(const Session& s) {
  MPI_File file = s.open(MPI_COMM_WORLD, "token", MPI_MODE_RDWR | MPI_MODE_CREATE);
  CHECK_OK(MPI_File_set_atomicity(file, 1));
  for (int lap = 0; lap < 10; ++lap) {
    int value = -1;
    if (s.rank > 0) {
      MPI_Recv(nullptr, 0, MPI_INT, s.rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK_OK(MPI_File_read_at(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
      CHECK_EQ(value, lap * 100 + s.rank - 1);
    }
    value = lap * 100 + s.rank;
    CHECK_OK(MPI_File_write_at(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    if (s.rank + 1 < s.size) MPI_Send(nullptr, 0, MPI_INT, s.rank + 1, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK_OK(MPI_File_set_atomicity(file, 0));
  int flag = 1;
  CHECK_OK(MPI_File_get_atomicity(file, &flag));
  CHECK_EQ(flag, 0);
  CHECK_OK(MPI_File_close(&file));
  s.remove("token");
}

// Read-modify-write of neighbours' bytes would lose updates here: every rank owns each size-th byte and rewrites them.
void neighbours_stay_whole(const Session& s) {
  MPI_File file = s.open(MPI_COMM_WORLD, "neighbours", MPI_MODE_RDWR | MPI_MODE_CREATE);
  MPI_Datatype filetype;
  MPI_Type_vector(64, 1, s.size, MPI_BYTE, &filetype);
  MPI_Type_commit(&filetype);
  CHECK_OK(MPI_File_set_view(file, s.rank, MPI_BYTE, filetype, "native", MPI_INFO_NULL));
  MPI_Type_free(&filetype);
  std::vector<unsigned char> data(64);
  for (int round = 1; round <= 40; ++round) {
    std::fill(data.begin(), data.end(), static_cast<unsigned char>(round));
    CHECK_OK(MPI_File_write_at(file, 0, data.data(), 64, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  CHECK_OK(MPI_File_close(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  if (s.rank == 0) {
    const auto bytes = posix_read(s.path("neighbours"));
    long stale = 0;
    for (unsigned char byte : bytes) stale += byte != 40;
    CHECK_EQ(stale, 0);
    CHECK_EQ(bytes.size(), 63 * s.size + s.size);
  }
  s.remove("neighbours");
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv);
  writers_do_not_mix(session, false);
  writers_do_not_mix(session, true);
  message_orders_accesses(session);
  neighbours_stay_whole(session);
  return session.finish();
}
