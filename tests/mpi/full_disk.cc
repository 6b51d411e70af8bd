// The disk fills up in the middle of collective and independent writes (launch.sh --fresh-fs 2m): who could not write
// is told MPI_ERR_NO_SPACE, who was told success has all its bytes in the file, nobody hangs, and the handle works
// again when there is room.
#include "test.h"

namespace {

constexpr int kMebibyte = 1 << 20;

bool all_there(const Session& s, const std::string& name, int64_t offset, const std::vector<unsigned char>& data) {
  return posix_read_range(s.path(name), offset, data.size()) == data;
}

}  // namespace

int main(int argc, char** argv) {
  Session s(argc, argv);
  std::vector<unsigned char> data(3 * kMebibyte);
  for (size_t i = 0; i < data.size(); ++i) data[i] = stamp(static_cast<uint64_t>(s.rank), 2, i);
  const int64_t length = static_cast<int64_t>(data.size());
  MPI_File file = s.open(MPI_COMM_WORLD, "full", MPI_MODE_RDWR | MPI_MODE_CREATE);
  MPI_Status status;

  for (int kind = 0; kind < 4; ++kind) {
    tally().context = "kind " + std::to_string(kind);
    int code = MPI_SUCCESS;
    MPI_Request request;
    switch (kind) {
      case 0:
        code = MPI_File_write_at_all(file, s.rank * length, data.data(), static_cast<int>(length), MPI_BYTE, &status);
        break;
      case 1:
        code = MPI_File_write_at(file, s.rank * length, data.data(), static_cast<int>(length), MPI_BYTE, &status);
        break;
      case 2: code = MPI_File_write_ordered(file, data.data(), static_cast<int>(length), MPI_BYTE, &status); break;
      default:
        code = MPI_File_iwrite_at_all(file, s.rank * length, data.data(), static_cast<int>(length), MPI_BYTE, &request);
        if (code == MPI_SUCCESS) code = MPI_Wait(&request, &status);
        break;
    }
    int told = code != MPI_SUCCESS;
    if (told) CHECK_CLASS(code, MPI_ERR_NO_SPACE);
    // A buffered preset may find out only when the data goes to the file: at the latest in sync.
    if (!told) {
      const int sync_code = MPI_File_sync(file);
      if (sync_code != MPI_SUCCESS) {
        told = 1;
        CHECK_CLASS(sync_code, MPI_ERR_NO_SPACE);
      }
    } else {
      MPI_File_sync(file);
    }
    if (!told && kind != 2) CHECK(all_there(s, "full", s.rank * length, data));
    int anyone_told = 0;
    MPI_Allreduce(&told, &anyone_told, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(anyone_told);  // three mebibytes and more do not fit into two
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_OK(MPI_File_set_size(file, 0));  // room again
    CHECK_OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    CHECK_OK(MPI_File_write_at_all(file, s.rank * 1000, data.data(), 1000, MPI_BYTE, &status));
    CHECK_OK(MPI_File_sync(file));
    CHECK(all_there(s, "full", s.rank * 1000, {data.begin(), data.begin() + 1000}));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_OK(MPI_File_set_size(file, 0));
  }
  CHECK_CLASS(MPI_File_preallocate(file, 30 * kMebibyte), MPI_ERR_NO_SPACE);
  tally().context.clear();
  CHECK_OK(MPI_File_set_size(file, 0));
  CHECK_OK(MPI_File_close(&file));
  s.remove("full");
  return s.finish();
}
