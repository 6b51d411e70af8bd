// The shared file pointer: every record exactly once and without a gap whatever the mix of sizes and calls, reads hand
// out every record once, ordered calls follow the ranks, and the pointer moves on while a rank computes without calling
// MPI.
#include <algorithm>
#include <set>

#include "test.h"

namespace {

constexpr int kRecords = 50;

struct Record {  // header of a record of `words` words; the rest repeats the header
  int rank, number, words;
};

std::vector<int> make_record(int rank, int number) {
  const int words = 3 + static_cast<int>(mix(static_cast<uint64_t>(rank), static_cast<uint64_t>(number)) % 40);
  std::vector<int> data(static_cast<size_t>(words), rank * 1000 + number);
  data[0] = rank;
  data[1] = number;
  data[2] = words;
  return data;
}

void each_record_once(const Session& s) {
  MPI_File file = s.open(MPI_COMM_WORLD, "records", MPI_MODE_RDWR | MPI_MODE_CREATE);
  CHECK_OK(MPI_File_set_view(file, 12, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  long words = 0;
  for (int i = 0; i < kRecords; ++i) {
    const std::vector<int> record = make_record(s.rank, i);
    MPI_Status status;
    if (i % 3 == 0) {
      MPI_Request request;
      CHECK_OK(MPI_File_iwrite_shared(file, record.data(), static_cast<int>(record.size()), MPI_INT, &request));
      CHECK_OK(MPI_Wait(&request, &status));
    } else {
      CHECK_OK(MPI_File_write_shared(file, record.data(), static_cast<int>(record.size()), MPI_INT, &status));
    }
    CHECK_EQ(status_bytes(status), static_cast<long>(record.size()) * 4);
    words += static_cast<long>(record.size());
    if (i % 7 == 0) CHECK_OK(MPI_File_write_shared(file, record.data(), 0, MPI_INT, &status));
  }
  long all_words = 0;
  MPI_Allreduce(&words, &all_words, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  MPI_Offset position = -1;
  CHECK_OK(MPI_File_get_position_shared(file, &position));
  CHECK_EQ(position, all_words);
  CHECK_OK(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_sync(file));
  if (s.rank == 0) {
    const auto bytes = posix_read(s.path("records"));
    CHECK_EQ(bytes.size(), 12 + 4 * all_words);
    std::vector<int> data((bytes.size() - 12) / 4);
    std::memcpy(data.data(), bytes.data() + 12, data.size() * 4);
    std::set<std::pair<int, int>> found;
    size_t at = 0;
    while (at + 3 <= data.size()) {
      const int rank = data[at], number = data[at + 1];
      const bool sane = rank >= 0 && rank < s.size && number >= 0 && number < kRecords;
      CHECK(sane);
      if (!sane) break;
      const std::vector<int> record = make_record(rank, number);
      CHECK(at + record.size() <= data.size() &&
            std::equal(record.begin(), record.end(), data.begin() + static_cast<long>(at)));
      CHECK(found.insert({rank, number}).second);
      at += record.size();
    }
    CHECK_EQ(at, data.size());
    CHECK_EQ(found.size(), static_cast<size_t>(s.size) * kRecords);
  }

  // reading: the ranks share out the words; each word is handed out once
  CHECK_OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  long received = 0;
  unsigned long sum = 0;
  for (;;) {
    int words_here[5];
    MPI_Status status;
    CHECK_OK(MPI_File_read_shared(file, words_here, 5, MPI_INT, &status));
    const long n = status_bytes(status) / 4;
    for (long i = 0; i < n; ++i) sum += static_cast<unsigned long>(words_here[i]);
    received += n;
    if (n < 5) break;
  }
  unsigned long all_sum = 0, wanted = 0;
  long all_received = 0;
  MPI_Allreduce(&received, &all_received, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&sum, &all_sum, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
  for (int r = 0; r < s.size; ++r) {
    for (int i = 0; i < kRecords; ++i) {
      for (int word : make_record(r, i)) wanted += static_cast<unsigned long>(word);
    }
  }
  CHECK_EQ(all_received, all_words);
  CHECK(all_sum == wanted);
  CHECK_OK(MPI_File_close(&file));
  s.remove("records");
}

void ordered(const Session& s) {
  MPI_File file = s.open(MPI_COMM_WORLD, "ordered", MPI_MODE_RDWR | MPI_MODE_CREATE);
  std::vector<unsigned char> expected;
  MPI_Offset total = 0;
  for (int round = 0; round < 6; ++round) {
    std::vector<char> mine(static_cast<size_t>((s.rank * 7 + round * 3) % 11),
                           static_cast<char>('a' + (s.rank + round) % 26));
    MPI_Status status;
    if (round % 2 == 0) {
      CHECK_OK(MPI_File_write_ordered(file, mine.data(), static_cast<int>(mine.size()), MPI_CHAR, &status));
    } else {
      CHECK_OK(MPI_File_write_ordered_begin(file, mine.data(), static_cast<int>(mine.size()), MPI_CHAR));
      CHECK_OK(MPI_File_write_ordered_end(file, mine.data(), &status));
    }
    CHECK_EQ(status_bytes(status), static_cast<long>(mine.size()));
    for (int r = 0; r < s.size; ++r) {
      const int n = (r * 7 + round * 3) % 11;
      expected.insert(expected.end(), static_cast<size_t>(n), static_cast<unsigned char>('a' + (r + round) % 26));
      total += n;
    }
    MPI_Offset position = -1;
    CHECK_OK(MPI_File_get_position_shared(file, &position));
    CHECK_EQ(position, total);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK_OK(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_sync(file));
  if (s.rank == 0) CHECK_BYTES(posix_read(s.path("ordered")), expected, "ordered records");
  CHECK_OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  size_t start = 0;
  for (int r = 0; r < s.rank; ++r) start += static_cast<size_t>(r % 3);
  std::vector<unsigned char> data(static_cast<size_t>(s.rank % 3) + 1, 0);
  MPI_Status status;
  CHECK_OK(MPI_File_read_ordered(file, data.data(), s.rank % 3, MPI_BYTE, &status));
  const auto n = static_cast<size_t>(status_bytes(status));
  CHECK_EQ(n, std::min<size_t>(static_cast<size_t>(s.rank % 3), expected.size() > start ? expected.size() - start : 0));
  for (size_t i = 0; i < n && start + i < expected.size(); ++i) CHECK_EQ(data[i], expected[start + i]);
  CHECK_OK(MPI_File_close(&file));
  s.remove("ordered");
}

// One rank computes for a second; the others' shared-pointer calls must not wait for it.
void progress(const Session& s) {
  MPI_File file = s.open(MPI_COMM_WORLD, "progress", MPI_MODE_RDWR | MPI_MODE_CREATE);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  double busy = 0, writing = 0;
  if (s.rank == 0) {
    volatile double x = 1;
    while (MPI_Wtime() - start < 1.0) {
      for (int i = 0; i < 10000; ++i) x = x * 1.0000001;
    }
    busy = MPI_Wtime() - start;
  } else {
    for (int i = 0; i < 20; ++i) CHECK_OK(MPI_File_write_shared(file, &s.rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    writing = MPI_Wtime() - start;
    CHECK(writing < 0.9);
  }
  (void)busy;
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_close(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQ(posix_size(s.path("progress")), (s.size - 1) * 20 * 4);
  s.remove("progress");
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv);
  each_record_once(session);
  ordered(session);
  progress(session);
  return session.finish();
}
