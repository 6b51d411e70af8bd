// Runs under the profiler of profiler.c, preloaded in front of Suiro (launch.sh --front): the profiler must see every
// call once, and Suiro must serve the file all the same.
#include <dlfcn.h>

#include "test.h"

int main(int argc, char** argv) {
  Session s(argc, argv);
  auto* calls = reinterpret_cast<int (*)(int)>(dlsym(RTLD_DEFAULT, "profiler_calls"));
  REQUIRE(calls != nullptr);
  for (int round = 0; round < 3; ++round) {
    MPI_File file = s.open(MPI_COMM_WORLD, "profiled", MPI_MODE_RDWR | MPI_MODE_CREATE);  // checks who serves it
    const int value = s.rank + round;
    for (int i = 0; i < 4; ++i)
      CHECK_OK(MPI_File_write_at(file, (s.rank * 4 + i) * 4, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    // called by its profiling name: the profiler does not see it, Suiro does
    CHECK_OK(PMPI_File_write_at(file, (s.rank * 4) * 4, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    int back = -1;
    CHECK_OK(PMPI_File_read_at(file, s.rank * 16, &back, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_EQ(back, value);
    CHECK_OK(MPI_File_close(&file));
    CHECK_EQ(calls(0), round + 1);
    CHECK_EQ(calls(1), 4 * (round + 1));
    CHECK_EQ(calls(2), round + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQ(posix_size(s.path("profiled")), s.size * 16);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  s.remove("profiled");
  return s.finish();
}
