/* Bandwidth: the same bytes by the native MPI-IO, by Suiro, by plain calls on one contiguous range, by memcpy, and,
 * when they are written, by one sequential writer with a final fdatasync.
 *
 * Before an MPI contender is timed it has to prove that it moves the right bytes to and from the right places, which
 * are computed here by themselves and reached by plain pread and pwrite, one piece at a time. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

enum { kPlainCall = 1 << 20, kPoison = 0xee };

typedef struct Piece {
  int64_t offset, length;
} Piece;

/* What one rank moves in one repetition, in `calls` MPI calls of call_bytes each. */
typedef struct Transfer {
  const Bench *bench;
  bool writing, collective, synced;
  int64_t bytes, call_bytes;
  MPI_Datatype filetype;       /* MPI_BYTE: no view */
  int64_t displacement;        /* of this rank's data; with MPI_BYTE added to the offset of each call */
  int64_t pieces;              /* this rank's places in the file in the order of its data */
  Piece *piece;
  int64_t memory_piece;        /* contiguous bytes in memory, followed by as many that are not data; 0: no gaps */
  MPI_Datatype memory_type;    /* of one call's data */
  int memory_count;
  int64_t memory_call_bytes;   /* memory that one call's data spans */
  unsigned char *memory;       /* of the MPI contenders */
  unsigned char *source, *target; /* contiguous, of the plain contenders */
  int64_t all_bytes;           /* of all ranks */
} Transfer;

typedef struct Side {
  Transfer *transfer;
  MPI_File file;
} Side;

static unsigned char datum(int rank, int64_t i) { return (unsigned char)(i * 131 + (i >> 9) * 7 + rank * 89 + 1); }

static unsigned char *memory_of(const Transfer *t, int64_t i) {
  int64_t at = t->memory_piece == 0 ? i : i / t->memory_piece * 2 * t->memory_piece + i % t->memory_piece;
  return t->memory + at;
}

/* --- the contenders -------------------------------------------------------------------------------------------- */

static void by_mpi(void *state) {
  const Side *side = state;
  const Transfer *t = side->transfer;
  int64_t base = t->filetype == MPI_BYTE ? t->displacement : 0;
  unsigned char *memory = t->memory;
  for (int64_t done = 0; done < t->bytes; done += t->call_bytes, memory += t->memory_call_bytes) {
    MPI_Offset at = base + done;
    int code;
    if (t->writing)
      code = (t->collective ? MPI_File_write_at_all : MPI_File_write_at)(side->file, at, memory, t->memory_count,
                                                                         t->memory_type, MPI_STATUS_IGNORE);
    else
      code = (t->collective ? MPI_File_read_at_all : MPI_File_read_at)(side->file, at, memory, t->memory_count,
                                                                       t->memory_type, MPI_STATUS_IGNORE);
    check(code, t->writing ? "MPI write" : "MPI read");
  }
  if (t->synced) check(MPI_File_sync(side->file), "MPI_File_sync");
}

/* Plain calls as long as those of a contiguous row, and 1 MiB elsewhere: each rank its own range. */
static void by_plain_calls(void *state) {
  const Transfer *t = state;
  int64_t base = t->bench->rank * t->bytes;
  int64_t step = t->filetype == MPI_BYTE && t->call_bytes < kPlainCall ? t->call_bytes : kPlainCall;
  for (int64_t done = 0; done < t->bytes; done += step) {
    int64_t part = t->bytes - done < step ? t->bytes - done : step;
    if (t->writing) check_bytes(pwrite(t->bench->fd, t->source + done, (size_t)part, base + done), part, "pwrite");
    else check_bytes(pread(t->bench->fd, t->target + done, (size_t)part, base + done), part, "pread");
  }
  if (t->synced) check_bytes(fdatasync(t->bench->fd), 0, "fdatasync");
}

static void by_memcpy(void *state) {
  const Transfer *t = state;
  memcpy(t->target, t->source, (size_t)t->bytes);
  __asm__ volatile("" : : "r"(t->target) : "memory");
}

/* All ranks' bytes by one writer, and then to the disk. */
static void by_sequential_writer(void *state) {
  const Transfer *t = state;
  if (t->bench->rank != 0) return;
  int64_t step = t->bytes < kPlainCall ? t->bytes : kPlainCall;
  for (int64_t done = 0; done < t->all_bytes; done += step) {
    int64_t part = t->all_bytes - done < step ? t->all_bytes - done : step;
    int64_t from = done % t->bytes; /* one rank's data serves for all */
    if (from + part > t->bytes) from = t->bytes - part;
    check_bytes(pwrite(t->bench->limit_fd, t->source + from, (size_t)part, done), part, "pwrite");
  }
  check_bytes(fdatasync(t->bench->limit_fd), 0, "fdatasync");
}

/* --- the proof -------------------------------------------------------------------------------------------------- */

static void put_pieces(const Transfer *t, const unsigned char *data) {
  for (int64_t i = 0; i < t->pieces; data += t->piece[i].length, i++)
    check_bytes(pwrite(t->bench->fd, data, (size_t)t->piece[i].length, t->piece[i].offset), t->piece[i].length,
                "pwrite");
}

static void get_pieces(const Transfer *t, unsigned char *data) {
  for (int64_t i = 0; i < t->pieces; data += t->piece[i].length, i++)
    check_bytes(pread(t->bench->fd, data, (size_t)t->piece[i].length, t->piece[i].offset), t->piece[i].length, "pread");
}

/* The source is left filled with this rank's data. */
static void prove(Side *side) {
  const Transfer *t = side->transfer;
  const char *way = side->file == t->bench->suiro ? "Suiro" : "the native MPI-IO";
  for (int64_t i = 0; i < t->bytes; i++) {
    t->source[i] = datum(t->bench->rank, i);
    *memory_of(t, i) = t->writing ? t->source[i] : kPoison;
  }
  memset(t->target, kPoison, (size_t)t->bytes);
  put_pieces(t, t->writing ? t->target : t->source);
  quiet_barrier();
  by_mpi(side);
  quiet_barrier();
  if (t->writing) get_pieces(t, t->target);
  else
    for (int64_t i = 0; i < t->bytes; i++) t->target[i] = *memory_of(t, i);
  if (memcmp(t->target, t->source, (size_t)t->bytes) != 0) fail(way, "moved other bytes than asked for");
  quiet_barrier();
}

/* --- rows ------------------------------------------------------------------------------------------------------- */

/* Measures a prepared transfer, whose places, types and sizes are set, and frees what it holds. */
static void run(Transfer *t, const char *name) {
  const Bench *bench = t->bench;
  int64_t span = t->memory_piece == 0 ? t->bytes : 2 * t->bytes;
  t->memory = allocate(span);
  t->source = allocate(t->bytes);
  t->target = allocate(t->bytes);
  Side native = {t, bench->native}, suiro = {t, bench->suiro};
  char datarep[] = "native";
  Side *sides[] = {&native, &suiro};
  for (int i = 0; i < 2; i++) {
    MPI_Offset displacement = t->filetype == MPI_BYTE ? 0 : t->displacement;
    check(MPI_File_set_view(sides[i]->file, displacement, MPI_BYTE, t->filetype, datarep, MPI_INFO_NULL),
          "MPI_File_set_view");
    prove(sides[i]);
  }
  double mine = (double)t->bytes, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  t->all_bytes = (int64_t)all;
  Row row = {.bytes = all, .calls = (double)(t->bytes / t->call_bytes)};
  snprintf(row.name, sizeof row.name, "%s", name);
  add_contender(&row, "native", by_mpi, &native);
  add_contender(&row, "suiro", by_mpi, &suiro);
  add_contender(&row, "plain", by_plain_calls, t);
  add_contender(&row, "memcpy", by_memcpy, t);
  if (t->writing) add_contender(&row, "limit", by_sequential_writer, t)->most_repeats = 4;
  measure(bench, &row);
  for (int i = 0; i < 2; i++)
    check(MPI_File_set_view(sides[i]->file, 0, MPI_BYTE, MPI_BYTE, datarep, MPI_INFO_NULL), "MPI_File_set_view");
  free(t->memory);
  free(t->source);
  free(t->target);
  free(t->piece);
  if (t->memory_type != MPI_BYTE) MPI_Type_free(&t->memory_type);
  if (t->filetype != MPI_BYTE) MPI_Type_free(&t->filetype);
}

static Transfer transfer_of(const Bench *bench, bool writing) {
  return (Transfer){.bench = bench, .writing = writing, .filetype = MPI_BYTE, .memory_type = MPI_BYTE};
}

static void one_call(Transfer *t) {
  t->call_bytes = t->bytes;
  t->memory_count = (int)t->bytes;
  t->memory_call_bytes = t->bytes;
}

/* Memory of which every second stretch of that length is data. */
static void scatter_memory(Transfer *t, int64_t piece) {
  t->memory_piece = piece;
  MPI_Type_vector((int)(t->bytes / piece), (int)piece, (int)(2 * piece), MPI_BYTE, &t->memory_type);
  MPI_Type_commit(&t->memory_type);
  t->memory_count = 1;
}

static int64_t scaled(const Bench *bench, int64_t bytes, int64_t unit) {
  int64_t units = (int64_t)((double)bytes * bench->options.scale) / unit;
  return (units < 1 ? 1 : units) * unit;
}

static void contiguous(const Bench *bench, bool writing, int64_t call_bytes, bool synced) {
  char name[64];
  snprintf(name, sizeof name, "contiguous-%s%s-%lld", writing ? "write" : "read", synced ? "-sync" : "",
           (long long)call_bytes);
  if (!wanted(bench, name)) return;
  Transfer t = transfer_of(bench, writing);
  t.synced = synced;
  t.call_bytes = t.memory_call_bytes = call_bytes;
  t.memory_count = (int)call_bytes;
  t.bytes = scaled(bench, call_bytes < 65536 ? 8 << 20 : 32 << 20, call_bytes);
  t.displacement = bench->rank * t.bytes;
  t.pieces = 1;
  t.piece = allocate((int64_t)sizeof *t.piece);
  t.piece[0] = (Piece){t.displacement, t.bytes};
  run(&t, name);
}

/* The ranks take turns, piece by piece. */
static Transfer interleaved(const Bench *bench, bool writing, int64_t piece) {
  Transfer t = transfer_of(bench, writing);
  int64_t bytes = piece < 64 ? 1 << 20 : piece < 1024 ? 4 << 20 : 16 << 20;
  t.bytes = scaled(bench, bytes, piece);
  t.pieces = t.bytes / piece;
  t.displacement = bench->rank * piece;
  t.piece = allocate(t.pieces * (int64_t)sizeof *t.piece);
  for (int64_t i = 0; i < t.pieces; i++) t.piece[i] = (Piece){t.displacement + i * bench->ranks * piece, piece};
  MPI_Type_vector((int)t.pieces, (int)piece, (int)(bench->ranks * piece), MPI_BYTE, &t.filetype);
  MPI_Type_commit(&t.filetype);
  one_call(&t);
  return t;
}

typedef enum Manner { kIndependent, kCollective, kSynced } Manner;

static void strided(const Bench *bench, bool writing, int64_t piece, Manner manner) {
  static const char *const families[] = {"strided", "collective-strided", "strided"};
  char name[64];
  snprintf(name, sizeof name, "%s-%s%s-%lld", families[manner], writing ? "write" : "read",
           manner == kSynced ? "-sync" : "", (long long)piece);
  if (!wanted(bench, name)) return;
  Transfer t = interleaved(bench, writing, piece);
  t.collective = manner == kCollective;
  t.synced = manner == kSynced;
  run(&t, name);
}

/* A box in a cube of 128 planes of 128 rows of 128 doubles: each rank its share of a row, three quarters of the rows.
 */
static void nested(const Bench *bench, bool writing, bool collective) {
  char name[64];
  snprintf(name, sizeof name, "%ssubarray-3d-%s", collective ? "collective-" : "", writing ? "write" : "read");
  if (!wanted(bench, name)) return;
  Transfer t = transfer_of(bench, writing);
  t.collective = collective;
  int share = 128 / bench->ranks;
  int sizes[3] = {128, 128, 128}, box[3] = {128, 96, share}, start[3] = {0, 16, bench->rank * share};
  MPI_Type_create_subarray(3, sizes, box, start, MPI_ORDER_C, MPI_DOUBLE, &t.filetype);
  MPI_Type_commit(&t.filetype);
  t.bytes = (int64_t)box[0] * box[1] * box[2] * 8;
  t.piece = allocate((int64_t)box[0] * box[1] * (int64_t)sizeof *t.piece);
  for (int64_t z = 0; z < box[0]; z++)
    for (int64_t y = 0; y < box[1]; y++)
      t.piece[t.pieces++] = (Piece){((z * 128 + start[1] + y) * 128 + start[2]) * 8, share * 8};
  one_call(&t);
  run(&t, name);
}

/* Blocks of random lengths at random distances, dealt to the ranks in turn. */
static void irregular(const Bench *bench, bool writing) {
  enum { kBlocks = 10000 };
  char name[64];
  snprintf(name, sizeof name, "irregular-10000-%s", writing ? "write" : "read");
  if (!wanted(bench, name)) return;
  Transfer t = transfer_of(bench, writing);
  int *lengths = allocate(kBlocks * (int64_t)sizeof *lengths);
  MPI_Aint *offsets = allocate(kBlocks * (int64_t)sizeof *offsets);
  t.piece = allocate(kBlocks * (int64_t)sizeof *t.piece);
  uint64_t random = 88172645463325252u; /* the same on all ranks; xorshift64 */
  int64_t at = 0;
  for (int i = 0; i < kBlocks * bench->ranks; i++) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    int64_t length = 8 * (1 + (int64_t)(random >> 20) % 100), gap = 8 * ((int64_t)(random >> 40) % 50);
    at += gap;
    if (i % bench->ranks == bench->rank) {
      lengths[t.pieces] = (int)length;
      offsets[t.pieces] = at;
      t.piece[t.pieces++] = (Piece){at, length};
      t.bytes += length;
    }
    at += length;
  }
  MPI_Type_create_hindexed(kBlocks, lengths, offsets, MPI_BYTE, &t.filetype);
  MPI_Type_commit(&t.filetype);
  free(lengths);
  free(offsets);
  one_call(&t);
  run(&t, name);
}

/* Gaps in memory, and in the file too if file_piece is not 0. */
static void memory_gaps(const Bench *bench, bool writing, int64_t memory_piece, int64_t file_piece) {
  char name[64];
  int length = snprintf(name, sizeof name, "memory-gaps-%lld-", (long long)memory_piece);
  if (file_piece > 0)
    length += snprintf(name + length, sizeof name - (size_t)length, "file-%lld-", (long long)file_piece);
  snprintf(name + length, sizeof name - (size_t)length, "%s", writing ? "write" : "read");
  if (!wanted(bench, name)) return;
  Transfer t;
  if (file_piece > 0) {
    t = interleaved(bench, writing, file_piece);
  } else {
    t = transfer_of(bench, writing);
    t.bytes = scaled(bench, 8 << 20, memory_piece);
    t.displacement = bench->rank * t.bytes;
    t.pieces = 1;
    t.piece = allocate((int64_t)sizeof *t.piece);
    t.piece[0] = (Piece){t.displacement, t.bytes};
    one_call(&t);
  }
  scatter_memory(&t, memory_piece);
  run(&t, name);
}

void run_data_rows(const Bench *bench) {
  static const int64_t sizes[] = {8, 64, 256, 1024, 4096, 16384, 65536};
  static const int64_t collective_sizes[] = {64, 1024, 16384};
  for (int writing = 1; writing >= 0; writing--) {
    contiguous(bench, writing, 1 << 20, false);
    contiguous(bench, writing, 4096, false);
    if (writing) contiguous(bench, true, 1 << 20, true);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) strided(bench, writing, sizes[i], kIndependent);
    if (writing) strided(bench, true, 4096, kSynced);
    nested(bench, writing, false);
    irregular(bench, writing);
    memory_gaps(bench, writing, 64, 0);
    memory_gaps(bench, writing, 8192, 0);
    memory_gaps(bench, writing, 64, 1024);
    for (size_t i = 0; i < sizeof collective_sizes / sizeof *collective_sizes; i++)
      strided(bench, writing, collective_sizes[i], kCollective);
    nested(bench, writing, true);
  }
}
