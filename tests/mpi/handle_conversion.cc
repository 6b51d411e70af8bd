// Handles as Fortran integers and back, handle comparison, and the null handle, for files that Suiro serves.
#include <set>

#include "test.h"

int main(int argc, char** argv) {
  Session s(argc, argv);
  CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
  std::set<MPI_Fint> numbers;
  std::vector<MPI_File> files;
  for (int i = 0; i < 5; ++i) {
    MPI_File file = s.open(MPI_COMM_WORLD, "handle" + std::to_string(i), MPI_MODE_RDWR | MPI_MODE_CREATE);
    const MPI_Fint number = MPI_File_c2f(file);
    CHECK(numbers.insert(number).second);
    CHECK(number != MPI_File_c2f(MPI_FILE_NULL));
    CHECK(MPI_File_f2c(number) == file);
    files.push_back(file);
  }
  for (int i = 0; i < 5; ++i) {
    MPI_File through = MPI_File_f2c(MPI_File_c2f(files[static_cast<size_t>(i)]));
    const int value = 10 * i + s.rank;
    CHECK_OK(MPI_File_write_at(through, s.rank * 4, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_File_close(&through));
    CHECK(through == MPI_FILE_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQ(posix_size(s.path("handle" + std::to_string(i))), 4 * s.size);
    s.remove("handle" + std::to_string(i));
  }
  return s.finish();
}
