/* Costs that do not depend on the amount of data: of a small call, of a call on a file that is not routed, of open and
 * close, of setting a view. Rank 0 works alone where the call is not collective, so that the ranks do not wait for each
 * other inside of the kernel. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

enum { kSmallCalls = 2000, kPositionCalls = 20000, kSmallRange = 64 << 10, kMostViews = 64 };

/* --- small calls ------------------------------------------------------------------------------------------------ */

typedef int WriteAt(MPI_File, MPI_Offset, const void *, int, MPI_Datatype, MPI_Status *);
typedef int ReadAt(MPI_File, MPI_Offset, void *, int, MPI_Datatype, MPI_Status *);
typedef int GetPosition(MPI_File, MPI_Offset *);
typedef int Open(MPI_Comm, const char *, int, MPI_Info, MPI_File *);
typedef int Close(MPI_File *);

typedef struct Small {
  MPI_File file;
  int fd;
  int size;
  WriteAt *write_at;
  ReadAt *read_at;
  GetPosition *get_position;
  char buffer[64];
} Small;

static void small_writes(void *state) {
  Small *small = state;
  for (int i = 0, at = 0; i < kSmallCalls; i++, at = (at + small->size) % kSmallRange)
    check(small->write_at(small->file, at, small->buffer, small->size, MPI_BYTE, MPI_STATUS_IGNORE),
          "MPI_File_write_at");
}

static void small_reads(void *state) {
  Small *small = state;
  for (int i = 0, at = 0; i < kSmallCalls; i++, at = (at + small->size) % kSmallRange)
    check(small->read_at(small->file, at, small->buffer, small->size, MPI_BYTE, MPI_STATUS_IGNORE), "MPI_File_read_at");
}

static void bare_writes(void *state) {
  Small *small = state;
  for (int i = 0, at = 0; i < kSmallCalls; i++, at = (at + small->size) % kSmallRange)
    check_bytes(pwrite(small->fd, small->buffer, (size_t)small->size, at), small->size, "pwrite");
}

static void bare_reads(void *state) {
  Small *small = state;
  for (int i = 0, at = 0; i < kSmallCalls; i++, at = (at + small->size) % kSmallRange)
    check_bytes(pread(small->fd, small->buffer, (size_t)small->size, at), small->size, "pread");
}

static void positions(void *state) {
  Small *small = state;
  MPI_Offset position = 0;
  for (int i = 0; i < kPositionCalls; i++) check(small->get_position(small->file, &position), "MPI_File_get_position");
}

static Small small_of(const Bench *bench, MPI_File file, int size) {
  Small small = {.file = file, .fd = bench->fd, .size = size};
  small.write_at = MPI_File_write_at;
  small.read_at = MPI_File_read_at;
  small.get_position = MPI_File_get_position;
  return small;
}

static void small_calls(const Bench *bench, bool writing, int size) {
  Row row = {.calls = kSmallCalls, .solo = true};
  snprintf(row.name, sizeof row.name, "call-%s-%d", writing ? "write" : "read", size);
  if (!wanted(bench, row.name)) return;
  Small native = small_of(bench, bench->native, size), suiro = small_of(bench, bench->suiro, size);
  Small bare = small_of(bench, MPI_FILE_NULL, size);
  add_contender(&row, "native", writing ? small_writes : small_reads, &native);
  add_contender(&row, "suiro", writing ? small_writes : small_reads, &suiro);
  add_contender(&row, "bare", writing ? bare_writes : bare_reads, &bare);
  measure(bench, &row);
}

/* --- a file that is not routed ---------------------------------------------------------------------------------- */

/* The MPI library's own function, past every library in front of it. */
static void *library_function(const char *name) {
  Dl_info where, library;
  void *barrier = dlsym(RTLD_DEFAULT, "MPI_Barrier"); /* no file function: it is where the library is */
  if (barrier == NULL || dladdr(barrier, &library) == 0) fail("MPI_Barrier", "cannot be located");
  void *handle = dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  void *function = handle == NULL ? NULL : dlsym(handle, name);
  if (function == NULL || dladdr(function, &where) == 0 || where.dli_fbase != library.dli_fbase)
    fail(name, "not found in the MPI library itself");
  return function;
}

static void unrouted_calls(const Bench *bench) {
  Small stub = small_of(bench, bench->native, 8), library = stub;
  *(void **)&library.get_position = library_function("PMPI_File_get_position");
  *(void **)&library.write_at = library_function("PMPI_File_write_at");
  if (wanted(bench, "unrouted-get_position")) {
    Row row = {.name = "unrouted-get_position", .calls = kPositionCalls, .solo = true};
    add_contender(&row, "library", positions, &library);
    add_contender(&row, "stub", positions, &stub);
    measure(bench, &row);
  }
  if (wanted(bench, "unrouted-write_at")) {
    Row row = {.name = "unrouted-write_at", .calls = kSmallCalls, .solo = true};
    add_contender(&row, "library", small_writes, &library);
    add_contender(&row, "stub", small_writes, &stub);
    measure(bench, &row);
  }
}

typedef struct Opening {
  MPI_Comm comm;
  const char *path;
  Open *open;
  Close *close;
} Opening;

static void open_and_close(void *state) {
  const Opening *opening = state;
  MPI_File file;
  check(opening->open(opening->comm, opening->path, MPI_MODE_RDWR, MPI_INFO_NULL, &file), "MPI_File_open");
  check(opening->close(&file), "MPI_File_close");
}

static void openings(const Bench *bench, const char *name, MPI_Comm comm) {
  if (!wanted(bench, name)) return;
  Opening native = {comm, bench->path, MPI_File_open, MPI_File_close}, suiro = native, library = native;
  suiro.path = bench->routed;
  *(void **)&library.open = library_function("PMPI_File_open");
  *(void **)&library.close = library_function("PMPI_File_close");
  Row row = {.calls = 1, .solo = comm == MPI_COMM_SELF};
  snprintf(row.name, sizeof row.name, "%s", name);
  add_contender(&row, "native", open_and_close, &native);
  add_contender(&row, "suiro", open_and_close, &suiro);
  add_contender(&row, "library", open_and_close, &library);
  /* The ranks may not drift apart in their number of repetitions: it is the same for all by construction. */
  for (int i = 0; i < row.contenders; i++) row.contender[i].most_repeats = 100;
  measure(bench, &row);
}

/* --- views ------------------------------------------------------------------------------------------------------ */

/* MPI libraries and we may keep what was learnt of a type with the type, so every repetition gets a new one. */
typedef struct Viewing {
  MPI_File file;
  int64_t pieces;
  MPI_Datatype type[kMostViews + 1];
  int made, used;
} Viewing;

static void set_view_and_seek(void *state) {
  Viewing *viewing = state;
  char datarep[] = "native";
  MPI_Offset last = viewing->pieces * 8 - 1, place = 0;
  check(MPI_File_set_view(viewing->file, 0, MPI_BYTE, viewing->type[viewing->used++], datarep, MPI_INFO_NULL),
        "MPI_File_set_view");
  check(MPI_File_seek(viewing->file, last, MPI_SEEK_SET), "MPI_File_seek");
  check(MPI_File_get_byte_offset(viewing->file, last, &place), "MPI_File_get_byte_offset");
  if (place != (viewing->pieces - 1) * 24 + 7) fail("MPI_File_get_byte_offset", "is wrong");
}

static void make_types(void *state, int repeats) {
  Viewing *viewing = state;
  viewing->made = repeats + 1;
  viewing->used = 0;
  for (int i = 0; i < viewing->made; i++) {
    check(MPI_Type_vector((int)viewing->pieces, 8, 24, MPI_BYTE, &viewing->type[i]), "MPI_Type_vector");
    check(MPI_Type_commit(&viewing->type[i]), "MPI_Type_commit");
  }
  /* The contender before us has left the caches to itself; the costs sought are smaller than that. */
  set_view_and_seek(viewing);
}

static void free_types(void *state) {
  Viewing *viewing = state;
  for (int i = 0; i < viewing->made; i++) MPI_Type_free(&viewing->type[i]);
}

static void add_viewing(Row *row, const char *name, Viewing *viewing) {
  Contender *added = add_contender(row, name, set_view_and_seek, viewing);
  added->prepare = make_types;
  added->finish = free_types;
  added->most_repeats = kMostViews;
}

static void views(const Bench *bench) {
  MPI_File native_file, suiro_file; /* of each rank alone: rank 0 works alone, and native set_view is collective */
  check(MPI_File_open(MPI_COMM_SELF, bench->path, MPI_MODE_RDWR, MPI_INFO_NULL, &native_file), "MPI_File_open");
  check(MPI_File_open(MPI_COMM_SELF, bench->routed, MPI_MODE_RDWR, MPI_INFO_NULL, &suiro_file), "MPI_File_open");
  for (int64_t pieces = 1000; pieces <= 1000000000; pieces *= 10) {
    Row row = {.calls = 1, .solo = true};
    snprintf(row.name, sizeof row.name, "view-vector-%lld", (long long)pieces);
    if (!wanted(bench, row.name)) continue;
    Viewing native = {.file = native_file, .pieces = pieces}, suiro = native, small = native;
    suiro.file = small.file = suiro_file;
    small.pieces = 1000;
    if (pieces <= bench->options.most_native_pieces) add_viewing(&row, "native", &native);
    add_viewing(&row, "suiro", &suiro);
    add_viewing(&row, "suiro_1000", &small);
    measure(bench, &row);
  }
  check(MPI_File_close(&suiro_file), "MPI_File_close");
  check(MPI_File_close(&native_file), "MPI_File_close");
}

void run_cost_rows(const Bench *bench) {
  static const int sizes[] = {8, 16, 32, 64};
  for (int writing = 1; writing >= 0; writing--)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) small_calls(bench, writing != 0, sizes[i]);
  unrouted_calls(bench);
  openings(bench, "open-close-world", MPI_COMM_WORLD);
  openings(bench, "open-close-self", MPI_COMM_SELF);
  views(bench);
}
