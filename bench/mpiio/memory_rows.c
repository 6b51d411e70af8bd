/* How much the process grows when a view is set and used, without and with the native MPI-IO. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

enum { kWritten = 4096 };

typedef struct Size {
  int64_t heap;     /* bytes handed out by malloc */
  int64_t resident; /* bytes of the process in memory */
} Size;

static Size size_now(void) {
  struct mallinfo2 heap = mallinfo2();
  long long all = 0, resident = 0;
  FILE *statm = fopen("/proc/self/statm", "r");
  if (statm == NULL || fscanf(statm, "%lld %lld", &all, &resident) != 2) fail("/proc/self/statm", "cannot be read");
  fclose(statm);
  return (Size){(int64_t)(heap.uordblks + heap.hblkhd), resident * sysconf(_SC_PAGESIZE)};
}

static MPI_Datatype vector_of(int64_t pieces, int stride) {
  MPI_Datatype type;
  check(MPI_Type_vector((int)pieces, 8, stride, MPI_BYTE, &type), "MPI_Type_vector");
  check(MPI_Type_commit(&type), "MPI_Type_commit");
  return type;
}

/* Sets the view and writes the last bytes that it selects. */
static void use_view(MPI_File file, MPI_Datatype type, int64_t pieces) {
  static char data[kWritten];
  char datarep[] = "native";
  check(MPI_File_set_view(file, 0, MPI_BYTE, type, datarep, MPI_INFO_NULL), "MPI_File_set_view");
  check(MPI_File_write_at(file, pieces * 8 - kWritten, data, kWritten, MPI_BYTE, MPI_STATUS_IGNORE),
        "MPI_File_write_at");
}

/* Growth from before the view is set to after it was used, while it is still set. A small view was used before, so that
 * buffers which every view needs are there already. */
static Size growth(MPI_File file, int64_t pieces, int stride) {
  MPI_Datatype small = vector_of(kWritten, 24), type = vector_of(pieces, stride);
  use_view(file, small, kWritten);
  malloc_trim(0);
  Size before = size_now();
  use_view(file, type, pieces);
  Size after = size_now();
  char datarep[] = "native";
  check(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, datarep, MPI_INFO_NULL), "MPI_File_set_view");
  MPI_Type_free(&small);
  MPI_Type_free(&type);
  return (Size){after.heap - before.heap, after.resident - before.resident};
}

static void print_size(const Bench *bench, const char *name, Size size) {
  emit(bench, "\"%s\": {\"heap\": %lld, \"resident\": %lld}", name, (long long)size.heap, (long long)size.resident);
}

/* Piece and stride are such that the largest view spans more than 1 TiB; the file is sparse there. */
void run_memory_rows(const Bench *bench) {
  static const struct {
    int64_t pieces;
    int stride;
  } cases[] = {{1000, 24}, {1000000, 24}, {1000000000, 1104}};
  char path[kPathBytes + 16], routed[kPathBytes + 32];
  snprintf(path, sizeof path, "%s.sparse", bench->path);
  snprintf(routed, sizeof routed, "direct:%s", path);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int64_t pieces = cases[i].pieces;
    char name[64];
    snprintf(name, sizeof name, "memory-view-%lld", (long long)pieces);
    if (!wanted(bench, name)) continue;
    if (bench->rank == 0) {
      MPI_File file;
      int mode = MPI_MODE_RDWR | MPI_MODE_CREATE;
      check(MPI_File_open(MPI_COMM_SELF, routed, mode, MPI_INFO_NULL, &file), "MPI_File_open");
      growth(file, cases[0].pieces, cases[0].stride); /* fills pools of handles in the MPI library */
      Size suiro = growth(file, pieces, cases[i].stride);
      check(MPI_File_close(&file), "MPI_File_close");
      emit(bench, "@bench {\"kind\": \"memory\", \"name\": \"%s\", \"extent\": %lld, \"contenders\": {", name,
           (long long)((pieces - 1) * cases[i].stride + 8));
      print_size(bench, "suiro", suiro);
      if (pieces <= bench->options.most_native_pieces) {
        check(MPI_File_open(MPI_COMM_SELF, path, mode, MPI_INFO_NULL, &file), "MPI_File_open");
        growth(file, cases[0].pieces, cases[0].stride);
        Size native = growth(file, pieces, cases[i].stride);
        check(MPI_File_close(&file), "MPI_File_close");
        emit(bench, ", ");
        print_size(bench, "native", native);
      }
      emit(bench, "}}\n");
      check(MPI_File_delete(path, MPI_INFO_NULL), "MPI_File_delete");
    }
    quiet_barrier();
  }
}
