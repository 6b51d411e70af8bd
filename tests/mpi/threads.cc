// MPI_THREAD_MULTIPLE: threads of one rank use the same handle and different handles at once. CHECK is not for threads,
// so each thread counts its failures and the main thread checks the sum.
#include <algorithm>
#include <atomic>
#include <thread>

#include "test.h"

namespace {

constexpr int kThreads = 4;
constexpr int kOperations = 40;
constexpr int kInts = 64;

int value_of(int rank, int thread, int operation, int index) {
  return ((rank * 16 + thread) * 64 + operation) * 64 + index;
}

template <class Body>
void in_threads(Body body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(body, t);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
  Session s(argc, argv, MPI_THREAD_MULTIPLE);
  if (s.thread_level() < MPI_THREAD_MULTIPLE) return s.skip("this MPI gives no MPI_THREAD_MULTIPLE");
  std::atomic<int> failures{0};
  auto must = [&](int code) { failures += code != MPI_SUCCESS; };

  // one handle, explicit offsets, blocking and nonblocking, through a view with holes
  MPI_File file = s.open(MPI_COMM_WORLD, "threads", MPI_MODE_RDWR | MPI_MODE_CREATE);
  MPI_Datatype filetype;
  MPI_Type_vector(kInts, 1, 2, MPI_INT, &filetype);
  MPI_Type_commit(&filetype);
  CHECK_OK(MPI_File_set_view(file, 0, MPI_INT, filetype, "native", MPI_INFO_NULL));
  MPI_Type_free(&filetype);
  in_threads([&](int t) {
    std::vector<int> data(kInts), back(kInts);
    for (int op = 0; op < kOperations; ++op) {
      for (int i = 0; i < kInts; ++i) data[static_cast<size_t>(i)] = value_of(s.rank, t, op, i);
      const MPI_Offset at = ((s.rank * kThreads + t) * kOperations + op) * kInts;
      MPI_Status status;
      if (op % 2) {
        MPI_Request request;
        must(MPI_File_iwrite_at(file, at, data.data(), kInts, MPI_INT, &request));
        must(MPI_Wait(&request, &status));
      } else {
        must(MPI_File_write_at(file, at, data.data(), kInts, MPI_INT, &status));
      }
      must(MPI_File_read_at(file, at, back.data(), kInts, MPI_INT, &status));
      failures += back != data;
    }
  });
  CHECK_EQ(failures.exchange(0), 0);
  // the individual pointer is advanced by each call once: no place is written twice, none is left out
  CHECK_OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_set_size(file, 0));
  const MPI_Offset mine = s.rank * kThreads * kOperations;
  CHECK_OK(MPI_File_seek(file, mine, MPI_SEEK_SET));
  in_threads([&](int t) {
    for (int op = 0; op < kOperations; ++op) {
      const int value = 1 + t * kOperations + op;
      must(MPI_File_write(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    }
  });
  CHECK_EQ(failures.exchange(0), 0);
  std::vector<int> found(kThreads * kOperations);
  CHECK_OK(MPI_File_read_at(file, mine, found.data(), kThreads * kOperations, MPI_INT, MPI_STATUS_IGNORE));
  std::sort(found.begin(), found.end());
  int wrong = 0;
  for (int i = 0; i < kThreads * kOperations; ++i) wrong += found[static_cast<size_t>(i)] != i + 1;
  CHECK_EQ(wrong, 0);
  MPI_Offset position = -1;
  CHECK_OK(MPI_File_get_position(file, &position));
  CHECK_EQ(position, mine + kThreads * kOperations);
  MPI_Barrier(MPI_COMM_WORLD);
  // the shared pointer, from all threads of all ranks
  CHECK_OK(MPI_File_set_size(file, 0));
  in_threads([&](int t) {
    for (int op = 0; op < kOperations; ++op) {
      const int value = 1 + (s.rank * kThreads + t) * kOperations + op;
      must(MPI_File_write_shared(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    }
  });
  CHECK_EQ(failures.exchange(0), 0);
  CHECK_OK(MPI_File_close(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  if (s.rank == 0) {
    const auto bytes = posix_read(s.path("threads"));
    const size_t total = static_cast<size_t>(s.size) * kThreads * kOperations;
    CHECK_EQ(bytes.size(), total * 4);
    found.assign(bytes.size() / 4, 0);
    std::memcpy(found.data(), bytes.data(), found.size() * 4);
    std::sort(found.begin(), found.end());
    wrong = 0;
    for (size_t i = 0; i < found.size(); ++i) wrong += found[i] != static_cast<int>(i) + 1;
    CHECK_EQ(wrong, 0);
  }
  s.remove("threads");

  // every thread opens, uses and closes files of its own, all on its own communicator over all ranks
  std::vector<MPI_Comm> communicators(kThreads);
  for (MPI_Comm& comm : communicators) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  in_threads([&](int t) {
    const std::string path = s.path("own" + std::to_string(t));
    for (int round = 0; round < 5; ++round) {
      MPI_File own = MPI_FILE_NULL;
      must(MPI_File_open(communicators[static_cast<size_t>(t)], path.c_str(),
                         MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &own));
      if (own == MPI_FILE_NULL) return;
      const int value = value_of(s.rank, t, round, 0);
      int back = -1;
      must(MPI_File_write_at_all(own, s.rank * 4, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
      must(MPI_File_read_at_all(own, s.rank * 4, &back, 1, MPI_INT, MPI_STATUS_IGNORE));
      failures += back != value;
      must(MPI_File_write_ordered(own, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
      must(MPI_File_close(&own));
    }
  });
  CHECK_EQ(failures.exchange(0), 0);
  for (MPI_Comm& comm : communicators) MPI_Comm_free(&comm);
  return s.finish();
}
