/* An ordinary MPI-5 program: every kind of data access once, on one file, compared with what plain POSIX calls read. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                             \
  do {                                                                               \
    if (!(condition)) {                                                              \
      fprintf(stderr, "FAILED: rank %d, line %d: %s\n", rank, __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                  \
      _Exit(1); /* MPICH 5 returns from MPI_Abort */                                 \
    }                                                                                \
  } while (0)
#define OK(call) CHECK((call) == MPI_SUCCESS)

enum { kBlock = 10, kBlocks = 500, kRecord = 16, kRecords = 40 };

static int rank, ranks;

static unsigned char strided_byte(int of_rank, int i) { return (unsigned char)(of_rank * 101 + i * 7 + i / 256 + 1); }

/* The first part of the file: blocks of the ranks in turn. */
static void strided_part(MPI_File file) {
  MPI_Datatype block, filetype;
  OK(MPI_Type_contiguous(kBlock, MPI_BYTE, &block));
  OK(MPI_Type_create_resized(block, 0, (MPI_Aint)kBlock * ranks, &filetype));
  OK(MPI_Type_commit(&filetype));
  unsigned char data[kBlock * kBlocks], back[kBlock * kBlocks];
  for (int i = 0; i < kBlock * kBlocks; i++) data[i] = strided_byte(rank, i);

  OK(MPI_File_set_view(file, (MPI_Offset)kBlock * rank, MPI_BYTE, filetype, "native", MPI_INFO_NULL));
  MPI_Status status;
  OK(MPI_File_write_all(file, data, kBlock * kBlocks, MPI_BYTE, &status));
  int count = -1;
  OK(MPI_Get_count(&status, MPI_BYTE, &count));
  CHECK(count == kBlock * kBlocks);
  MPI_Offset position = -1;
  OK(MPI_File_get_position(file, &position));
  CHECK(position == kBlock * kBlocks);

  OK(MPI_File_read_at_all(file, 0, back, kBlock * kBlocks, MPI_BYTE, &status));
  CHECK(memcmp(data, back, sizeof data) == 0);
  MPI_Request request;
  memset(back, 0, sizeof back);
  OK(MPI_File_iread_at(file, kBlock, back, kBlock, MPI_BYTE, &request));
  OK(MPI_Wait(&request, &status));
  CHECK(memcmp(data + kBlock, back, kBlock) == 0);
  OK(MPI_Type_free(&filetype));
  OK(MPI_Type_free(&block));
}

/* The second part: records by the shared pointer, in any order. */
static void shared_part(MPI_File file, MPI_Offset start) {
  OK(MPI_File_set_view(file, start, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < kRecords; i++) {
    char record[64];
    CHECK(snprintf(record, sizeof record, "rank %3d no %4d", rank, i) == kRecord);
    OK(MPI_File_write_shared(file, record, kRecord, MPI_CHAR, MPI_STATUS_IGNORE));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  MPI_Offset position = -1;
  OK(MPI_File_get_position_shared(file, &position));
  CHECK(position == (MPI_Offset)kRecord * kRecords * ranks);
}

/* The info of the file says that it is ours. */
static void info_part(MPI_File file) {
  MPI_Info info;
  OK(MPI_File_get_info(file, &info));
  char value[64] = "";
  int size = sizeof value, found = 0;
  OK(MPI_Info_get_string(info, "suiro_preset", &size, value, &found));
  CHECK(found && strcmp(value, "direct") == 0);
  OK(MPI_Info_free(&info));
}

static void compare_with_posix(const char* name, MPI_Offset strided_bytes, MPI_Offset written_last) {
  FILE* file = fopen(name, "rb");
  CHECK(file != NULL);
  for (int i = 0; i < kBlock * kBlocks; i += kBlock) {
    for (int r = 0; r < ranks; r++) {
      for (int j = 0; j < kBlock; j++) CHECK(fgetc(file) == strided_byte(r, i + j));
    }
  }
  CHECK(ftell(file) == strided_bytes);
  char* seen = calloc((size_t)ranks * kRecords, 1);
  CHECK(seen != NULL);
  for (int i = 0; i < ranks * kRecords; i++) {
    char record[kRecord + 1] = "";
    int r = -1, number = -1;
    CHECK(fread(record, 1, kRecord, file) == kRecord);
    CHECK(sscanf(record, "rank %d no %d", &r, &number) == 2 && r >= 0 && r < ranks && number >= 0 && number < kRecords);
    CHECK(!seen[r * kRecords + number]);
    seen[r * kRecords + number] = 1;
  }
  free(seen);
  for (int r = 0; r < ranks; r++) {
    int32_t number;
    CHECK(fread(&number, sizeof number, 1, file) == 1 && number == 1000 + r);
  }
  CHECK(ftell(file) == written_last && fgetc(file) == EOF);
  CHECK(fclose(file) == 0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* name = "smoke.data";

  /* Errors come back as classes of the standard. */
  MPI_File file = MPI_FILE_NULL;
  int error = MPI_File_open(MPI_COMM_WORLD, "missing", MPI_MODE_RDONLY, MPI_INFO_NULL, &file), class = -1;
  OK(MPI_Error_class(error, &class));
  CHECK(class == MPI_ERR_NO_SUCH_FILE);

  OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  info_part(file);
  MPI_Offset strided_bytes = (MPI_Offset)kBlock * kBlocks * ranks;
  MPI_Offset records_end = strided_bytes + (MPI_Offset)kRecord * kRecords * ranks;
  strided_part(file);
  shared_part(file, strided_bytes);

  /* The third part: one number per rank at an explicit offset, counted in etypes. */
  OK(MPI_File_set_view(file, records_end, MPI_INT32_T, MPI_INT32_T, "native", MPI_INFO_NULL));
  int32_t number = 1000 + rank, back = 0;
  MPI_Status status;
  OK(MPI_File_write_at(file, rank, &number, 1, MPI_INT32_T, &status));
  int count = -1;
  OK(MPI_Get_count(&status, MPI_INT32_T, &count));
  CHECK(count == 1);
  OK(MPI_File_read_at(file, rank, &back, 1, MPI_INT32_T, &status));
  CHECK(back == number);
  OK(MPI_File_write_at_c(file, rank, &number, (MPI_Count)1, MPI_INT32_T, &status));
  OK(MPI_File_sync(file));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  MPI_Offset size = -1;
  OK(MPI_File_get_size(file, &size));
  CHECK(size == records_end + 4 * (MPI_Offset)ranks);
  OK(MPI_File_close(&file));
  CHECK(file == MPI_FILE_NULL);

  if (rank == 0) {
    compare_with_posix(name, strided_bytes, size);
    OK(MPI_File_delete(name, MPI_INFO_NULL));
    CHECK(fopen(name, "rb") == NULL);
    printf("abi.n%d.smoke: passed\n", ranks);
  }
  MPI_Finalize();
  return 0;
}
