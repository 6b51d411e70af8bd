/* heat: 2-D heat diffusion with halo exchange, checkpoints and restart, an ordinary MPI program.
 *
 * A plate of ny rows and nx columns of doubles is split into blocks over a 2-D process grid. Each step is one explicit
 * five-point update; the left wall is kept hot, the other three cold. Every point is computed by the same expression
 * whatever the process grid, so the field after n steps is the same bit for bit on any number of ranks.
 *
 * Checkpoint file OUTPUT.NNNNNN (NNNNNN = step): a header of 4096 bytes (struct Header, zero padded), then the field,
 * row by row, ny*nx doubles in the byte order of the machine that wrote it. The field is written first, by one
 * collective write through a subarray view; the header, which carries the checksum, follows after a sync. A file
 * whose writing was cut short therefore has no valid header and is refused at restart.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kHeaderBytes = 4096, kPathBytes = 4096 };
static const char kMagic[8] = {'H', 'E', 'A', 'T', 'C', 'K', 'P', 'T'};
static const uint32_t kVersion = 1;
static const uint32_t kByteOrder = 0x01020304u;
static const double kHotWall = 100.0;
static const double kHotDisc = 60.0;

typedef struct Header {
  char magic[8];
  uint32_t version;
  uint32_t byte_order;
  int64_t ny;
  int64_t nx;
  int64_t step;
  double alpha;      /* diffusion number of one step, stable up to 0.25 */
  uint64_t checksum; /* of the field, see field_checksum */
} Header;
_Static_assert(sizeof(Header) == 56, "the header is part of the file format");

typedef struct Options {
  long ny, nx;
  long steps;            /* step number to reach, also after a restart */
  long checkpoint_every; /* 0: only the last step */
  double alpha;
  const char *output;
  const char *restart; /* checkpoint to start from, or NULL */
  const char *compare; /* checkpoint the result must equal, or NULL */
  bool preallocate;
} Options;

/* This rank's block of the plate, with a ring of ghost points around it. */
typedef struct Block {
  MPI_Comm cart;
  int rank, ranks;
  int north, south, west, east;      /* neighbours, MPI_PROC_NULL at a wall */
  int global[2], local[2], start[2]; /* {rows, columns} */
  size_t pitch;                      /* doubles from one row to the next in memory */
  double *field, *next;              /* (local[0]+2) rows of pitch doubles each */
  MPI_Datatype interior;             /* the block without its ghosts, in memory */
  MPI_Datatype in_file;              /* the block's place in the field of the file */
  MPI_Datatype column;               /* one column of the block, for the halo */
} Block;

typedef struct Tally {
  double compute_s, io_s;
  int64_t bytes; /* written and read by all ranks; maintained on every rank for itself, summed at the end */
  int64_t opens; /* MPI_File_open calls (collective, so the same on all ranks) */
} Tally;

static void fail(int rank, const char *what, const char *path) {
  fprintf(stderr, "heat: rank %d: %s: %s\n", rank, path, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* File errors return by default; this program cannot go on without its files. */
static void check(int error, const char *call, const char *path) {
  if (error == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0, rank = 0;
  MPI_Error_string(error, text, &length);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  fprintf(stderr, "heat: rank %d: %s: %s: %s\n", rank, path, call, text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static size_t at(const Block *block, int row, int column) { /* both count from the ghost ring, which is 0 */
  return (size_t)row * block->pitch + (size_t)column;
}

/* ---------------------------------------------------------------- the plate */

static int block_start(int extent, int parts, int part) {
  return (int)((int64_t)extent * part / parts);
}

static double initial_temperature(const Block *block, int64_t row, int64_t column) {
  const double y = (double)(2 * row + 1 - block->global[0]) / (double)block->global[0];
  const double x = (double)(2 * column + 1 - block->global[1]) / (double)block->global[1];
  return x * x + y * y < 0.25 ? kHotDisc : 0.0;
}

static void make_block(Block *block, long ny, long nx) {
  int dims[2] = {0, 0}, periodic[2] = {0, 0}, coords[2];
  MPI_Comm_size(MPI_COMM_WORLD, &block->ranks);
  MPI_Dims_create(block->ranks, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periodic, 0, &block->cart);
  MPI_Comm_rank(block->cart, &block->rank);
  MPI_Cart_coords(block->cart, block->rank, 2, coords);
  MPI_Cart_shift(block->cart, 0, 1, &block->north, &block->south);
  MPI_Cart_shift(block->cart, 1, 1, &block->west, &block->east);
  if (ny < dims[0] || nx < dims[1]) fail(block->rank, "the plate has fewer points than the process grid", "grid");

  block->global[0] = (int)ny;
  block->global[1] = (int)nx;
  for (int d = 0; d < 2; ++d) {
    block->start[d] = block_start(block->global[d], dims[d], coords[d]);
    block->local[d] = block_start(block->global[d], dims[d], coords[d] + 1) - block->start[d];
  }
  block->pitch = (size_t)block->local[1] + 2;
  const size_t points = ((size_t)block->local[0] + 2) * block->pitch;
  block->field = calloc(points, sizeof(double));
  block->next = calloc(points, sizeof(double));
  if (!block->field || !block->next) fail(block->rank, "out of memory", "plate");
  if (block->west == MPI_PROC_NULL) {
    for (int row = 0; row < block->local[0] + 2; ++row) {
      block->field[at(block, row, 0)] = kHotWall;
      block->next[at(block, row, 0)] = kHotWall;
    }
  }

  const int with_ghosts[2] = {block->local[0] + 2, block->local[1] + 2}, inside[2] = {1, 1};
  MPI_Type_create_subarray(2, with_ghosts, block->local, inside, MPI_ORDER_C, MPI_DOUBLE, &block->interior);
  MPI_Type_create_subarray(2, block->global, block->local, block->start, MPI_ORDER_C, MPI_DOUBLE, &block->in_file);
  MPI_Type_vector(block->local[0], 1, with_ghosts[1], MPI_DOUBLE, &block->column);
  MPI_Type_commit(&block->interior);
  MPI_Type_commit(&block->in_file);
  MPI_Type_commit(&block->column);
}

static void free_block(Block *block) {
  MPI_Type_free(&block->interior);
  MPI_Type_free(&block->in_file);
  MPI_Type_free(&block->column);
  MPI_Comm_free(&block->cart);
  free(block->field);
  free(block->next);
}

static void exchange_halo(Block *block) {
  double *u = block->field;
  const int rows = block->local[0], columns = block->local[1];
  MPI_Sendrecv(&u[at(block, 1, 1)], columns, MPI_DOUBLE, block->north, 0, &u[at(block, rows + 1, 1)], columns,
               MPI_DOUBLE, block->south, 0, block->cart, MPI_STATUS_IGNORE);
  MPI_Sendrecv(&u[at(block, rows, 1)], columns, MPI_DOUBLE, block->south, 1, &u[at(block, 0, 1)], columns, MPI_DOUBLE,
               block->north, 1, block->cart, MPI_STATUS_IGNORE);
  MPI_Sendrecv(&u[at(block, 1, 1)], 1, block->column, block->west, 2, &u[at(block, 1, columns + 1)], 1, block->column,
               block->east, 2, block->cart, MPI_STATUS_IGNORE);
  MPI_Sendrecv(&u[at(block, 1, columns)], 1, block->column, block->east, 3, &u[at(block, 1, 0)], 1, block->column,
               block->west, 3, block->cart, MPI_STATUS_IGNORE);
}

static void advance(Block *block, double alpha) {
  exchange_halo(block);
  for (int row = 1; row <= block->local[0]; ++row) {
    const double *above = &block->field[at(block, row - 1, 0)];
    const double *here = &block->field[at(block, row, 0)];
    const double *below = &block->field[at(block, row + 1, 0)];
    double *out = &block->next[at(block, row, 0)];
    for (int column = 1; column <= block->local[1]; ++column) {
      const double around = (above[column] + below[column]) + (here[column - 1] + here[column + 1]);
      out[column] = here[column] + alpha * (around - 4.0 * here[column]);
    }
  }
  double *swap = block->field;
  block->field = block->next;
  block->next = swap;
}

/* A sum over all points of a hash of (position, bits): the order of summing does not matter, so it is the same on any
 * process grid, and a value in the wrong place changes it. Collective. */
static uint64_t field_checksum(const Block *block, const double *field) {
  uint64_t sum = 0;
  for (int row = 0; row < block->local[0]; ++row) {
    for (int column = 0; column < block->local[1]; ++column) {
      uint64_t bits;
      memcpy(&bits, &field[at(block, row + 1, column + 1)], sizeof bits);
      const uint64_t index =
          (uint64_t)(block->start[0] + row) * (uint64_t)block->global[1] + (uint64_t)(block->start[1] + column);
      uint64_t hash = bits + (index + 1) * 0x9e3779b97f4a7c15u;
      hash = (hash ^ (hash >> 31)) * 0xbf58476d1ce4e5b9u;
      sum += hash ^ (hash >> 29);
    }
  }
  uint64_t total = 0;
  MPI_Allreduce(&sum, &total, 1, MPI_UINT64_T, MPI_SUM, block->cart);
  return total;
}

/* ---------------------------------------------------------------- checkpoints */

static int64_t block_bytes(const Block *block) {
  return (int64_t)block->local[0] * block->local[1] * (int64_t)sizeof(double);
}

static void expect_whole_block(MPI_Status *status, const Block *block, const char *call, const char *path) {
  int blocks = 0;
  MPI_Get_count(status, block->interior, &blocks);
  if (blocks != 1) fail(block->rank, call, path);
}

/* Writes the field as the checkpoint of the given step and returns its checksum. Collective. */
static uint64_t write_checkpoint(const Block *block, const Options *options, const char *path, int64_t step,
                                 Tally *tally) {
  const uint64_t checksum = field_checksum(block, block->field);
  const MPI_Offset file_bytes =
      kHeaderBytes + (MPI_Offset)block->global[0] * block->global[1] * (MPI_Offset)sizeof(double);
  MPI_File file;
  MPI_Status status;
  check(MPI_File_open(block->cart, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file), "open", path);
  ++tally->opens;
  /* An older checkpoint of the same name must not leave a valid header or a tail behind. */
  check(MPI_File_set_size(file, 0), "set_size", path);
  check(options->preallocate ? MPI_File_preallocate(file, file_bytes) : MPI_File_set_size(file, file_bytes),
        options->preallocate ? "preallocate" : "set_size", path);

  check(MPI_File_set_view(file, kHeaderBytes, MPI_DOUBLE, block->in_file, "native", MPI_INFO_NULL), "set_view", path);
  check(MPI_File_write_all(file, block->field, 1, block->interior, &status), "write_all", path);
  expect_whole_block(&status, block, "write_all wrote only a part of the block", path);
  check(MPI_File_sync(file), "sync", path);

  check(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), "set_view", path);
  if (block->rank == 0) {
    char page[kHeaderBytes] = {0};
    Header header = {.version = kVersion,
                     .byte_order = kByteOrder,
                     .ny = block->global[0],
                     .nx = block->global[1],
                     .step = step,
                     .alpha = options->alpha,
                     .checksum = checksum};
    memcpy(header.magic, kMagic, sizeof kMagic);
    memcpy(page, &header, sizeof header);
    check(MPI_File_write_at(file, 0, page, kHeaderBytes, MPI_BYTE, &status), "write_at", path);
    int written = 0;
    MPI_Get_count(&status, MPI_BYTE, &written);
    if (written != kHeaderBytes) fail(block->rank, "write_at wrote only a part of the header", path);
    tally->bytes += kHeaderBytes;
  }
  check(MPI_File_close(&file), "close", path);
  tally->bytes += block_bytes(block);
  return checksum;
}

/* Reads and checks the header; the file stays open with the default view. Collective. */
static Header read_header(MPI_File file, int rank, const char *path) {
  Header header;
  MPI_Status status;
  int got = 0;
  check(MPI_File_read_at_all(file, 0, &header, (int)sizeof header, MPI_BYTE, &status), "read_at_all", path);
  MPI_Get_count(&status, MPI_BYTE, &got);
  if (got != (int)sizeof header || memcmp(header.magic, kMagic, sizeof kMagic) != 0)
    fail(rank, "not a complete heat checkpoint", path);
  if (header.version != kVersion || header.byte_order != kByteOrder)
    fail(rank, "a checkpoint of another version or byte order", path);
  MPI_Offset size = 0;
  check(MPI_File_get_size(file, &size), "get_size", path);
  if (header.ny < 1 || header.nx < 1 || header.ny > INT_MAX || header.nx > INT_MAX ||
      size != kHeaderBytes + header.ny * header.nx * (MPI_Offset)sizeof(double))
    fail(rank, "the file size does not fit the header", path);
  return header;
}

/* Reads this rank's block of the checkpoint into field. Collective. */
static Header read_checkpoint(const Block *block, const char *path, double *field, Tally *tally) {
  MPI_File file;
  MPI_Status status;
  check(MPI_File_open(block->cart, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), "open", path);
  ++tally->opens;
  const Header header = read_header(file, block->rank, path);
  if (header.ny != block->global[0] || header.nx != block->global[1])
    fail(block->rank, "a checkpoint of another plate size", path);
  check(MPI_File_set_view(file, kHeaderBytes, MPI_DOUBLE, block->in_file, "native", MPI_INFO_NULL), "set_view", path);
  check(MPI_File_read_all(file, field, 1, block->interior, &status), "read_all", path);
  expect_whole_block(&status, block, "read_all read only a part of the block", path);
  check(MPI_File_close(&file), "close", path);
  tally->bytes += block_bytes(block) + (int64_t)sizeof header;
  if (field_checksum(block, field) != header.checksum)
    fail(block->rank, "the field does not have the checksum of the header", path);
  return header;
}

static Header peek_header(const char *path, Tally *tally) {
  MPI_File file;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  check(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), "open", path);
  ++tally->opens;
  const Header header = read_header(file, rank, path);
  check(MPI_File_close(&file), "close", path);
  tally->bytes += (int64_t)sizeof header;
  return header;
}

/* Does the checkpoint hold exactly the field in memory? Uses block->next as scratch, whose ghosts it leaves alone. */
static bool checkpoint_equals_memory(Block *block, const char *path, int64_t step, Tally *tally) {
  for (int row = 1; row <= block->local[0]; ++row)
    memset(&block->next[at(block, row, 1)], 0xff, (size_t)block->local[1] * sizeof(double));
  const Header header = read_checkpoint(block, path, block->next, tally);
  int equal = header.step == step;
  for (int row = 1; row <= block->local[0]; ++row)
    equal = equal && memcmp(&block->field[at(block, row, 1)], &block->next[at(block, row, 1)],
                            (size_t)block->local[1] * sizeof(double)) == 0;
  int all_equal = 0;
  MPI_Allreduce(&equal, &all_equal, 1, MPI_INT, MPI_LAND, block->cart);
  return all_equal != 0;
}

/* ---------------------------------------------------------------- the program */

static void usage(FILE *out) {
  fputs(
      "usage: mpiexec -n RANKS heat --output PATH [options]\n"
      "2-D heat diffusion with checkpoints PATH.NNNNNN (NNNNNN = step), each read back and verified.\n"
      "  -o, --output PATH            where checkpoints go: anything MPI_File_open accepts\n"
      "      --ny N, --nx N           rows and columns of the plate (default 384 x 512)\n"
      "  -s, --steps N                step number to reach (default 40)\n"
      "  -c, --checkpoint-every N     steps between checkpoints; the last step is always written (default 20)\n"
      "      --alpha A                diffusion number, 0 < A <= 0.25 (default 0.2)\n"
      "  -r, --restart FILE           go on from this checkpoint, on any number of ranks\n"
      "      --compare FILE           the last step must equal this checkpoint bit for bit\n"
      "      --preallocate            reserve the space of a checkpoint with MPI_File_preallocate\n"
      "  -h, --help                   this text\n"
      "The exit status is 0 only if every verification succeeded.\n",
      out);
}

static bool parse_long(const char *text, long low, long high, long *value) {
  char *end = NULL;
  errno = 0;
  const long parsed = strtol(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || parsed < low || parsed > high) return false;
  *value = parsed;
  return true;
}

static bool parse_alpha(const char *text, double *value) {
  char *end = NULL;
  const double parsed = strtod(text, &end);
  if (end == text || *end != '\0' || !(parsed > 0.0 && parsed <= 0.25)) return false;
  *value = parsed;
  return true;
}

/* Returns -1 to run, otherwise the exit status. Only the rank that speaks prints. */
static int parse_options(int argc, char **argv, bool speak, Options *options) {
  enum { kNy = 256, kNx, kAlpha, kCompare, kPreallocate };
  static const struct option kLong[] = {{"output", required_argument, NULL, 'o'},
                                        {"ny", required_argument, NULL, kNy},
                                        {"nx", required_argument, NULL, kNx},
                                        {"steps", required_argument, NULL, 's'},
                                        {"alpha", required_argument, NULL, kAlpha},
                                        {"checkpoint-every", required_argument, NULL, 'c'},
                                        {"restart", required_argument, NULL, 'r'},
                                        {"compare", required_argument, NULL, kCompare},
                                        {"help", no_argument, NULL, 'h'},
                                        {"preallocate", no_argument, NULL, kPreallocate},
                                        {NULL, 0, NULL, 0}};
  *options = (Options){.ny = 384, .nx = 512, .steps = 40, .checkpoint_every = 20, .alpha = 0.2};
  opterr = speak;
  int option, index = 0;
  while ((option = getopt_long(argc, argv, "o:s:c:r:h", kLong, &index)) != -1) {
    bool good = true;
    switch (option) {
      case 'o':
        options->output = optarg;
        break;
      case 'r':
        options->restart = optarg;
        break;
      case kCompare:
        options->compare = optarg;
        break;
      case kPreallocate:
        options->preallocate = true;
        break;
      case kNy:
        good = parse_long(optarg, 1, 1 << 30, &options->ny);
        break;
      case kNx:
        good = parse_long(optarg, 1, 1 << 30, &options->nx);
        break;
      case 's':
        good = parse_long(optarg, 0, 999999, &options->steps);
        break;
      case 'c':
        good = parse_long(optarg, 0, 999999, &options->checkpoint_every);
        break;
      case kAlpha:
        good = parse_alpha(optarg, &options->alpha);
        break;
      case 'h':
        if (speak) usage(stdout);
        return 0;
      default:
        if (speak) usage(stderr);
        return 2;
    }
    if (!good) {
      if (speak) fprintf(stderr, "heat: bad value '%s'; see --help\n", optarg);
      return 2;
    }
  }
  if (optind != argc || options->output == NULL) {
    if (speak) fprintf(stderr, "heat: %s; see --help\n", optind != argc ? "unexpected argument" : "--output is needed");
    return 2;
  }
  if (strlen(options->output) > kPathBytes - 16) {
    if (speak) fputs("heat: the output path is too long\n", stderr);
    return 2;
  }
  return -1;
}

static int simulate(Options *options) {
  Tally tally = {0};
  int64_t step = 0;
  double began = MPI_Wtime();
  if (options->restart) {
    const Header header = peek_header(options->restart, &tally);
    options->ny = (long)header.ny;
    options->nx = (long)header.nx;
    options->alpha = header.alpha;
    step = header.step;
  }
  Block block;
  make_block(&block, options->ny, options->nx);
  if (options->restart) {
    read_checkpoint(&block, options->restart, block.field, &tally);
    if (step > options->steps) fail(block.rank, "the checkpoint is already beyond --steps", options->restart);
    if (block.rank == 0) printf("heat: restarted from step %" PRId64 " on %d ranks\n", step, block.ranks);
  } else {
    for (int row = 0; row < block.local[0]; ++row)
      for (int column = 0; column < block.local[1]; ++column)
        block.field[at(&block, row + 1, column + 1)] =
            initial_temperature(&block, block.start[0] + row, block.start[1] + column);
  }
  tally.io_s += MPI_Wtime() - began;

  bool verified = true;
  uint64_t checksum = 0;
  for (bool written = false; !written || step < options->steps;) {
    began = MPI_Wtime();
    if (step < options->steps) {
      advance(&block, options->alpha);
      ++step;
    }
    tally.compute_s += MPI_Wtime() - began;
    const bool due = options->checkpoint_every > 0 && step % options->checkpoint_every == 0;
    if (!due && step < options->steps) continue;

    char path[kPathBytes];
    snprintf(path, sizeof path, "%s.%06" PRId64, options->output, step);
    began = MPI_Wtime();
    checksum = write_checkpoint(&block, options, path, step, &tally);
    const bool equal = checkpoint_equals_memory(&block, path, step, &tally);
    tally.io_s += MPI_Wtime() - began;
    verified = verified && equal;
    written = true;
    if (block.rank == 0)
      printf("heat: step %6" PRId64 " checksum %016" PRIx64 " read back %s\n", step, checksum,
             equal ? "equal" : "DIFFERENT");
  }
  if (options->compare) {
    began = MPI_Wtime();
    const bool equal = checkpoint_equals_memory(&block, options->compare, step, &tally);
    tally.io_s += MPI_Wtime() - began;
    verified = verified && equal;
    if (block.rank == 0) printf("heat: result and %s are %s\n", options->compare, equal ? "equal" : "DIFFERENT");
  }

  double seconds[2] = {tally.compute_s, tally.io_s}, slowest[2] = {0, 0};
  int64_t bytes = 0;
  MPI_Reduce(seconds, slowest, 2, MPI_DOUBLE, MPI_MAX, 0, block.cart);
  MPI_Reduce(&tally.bytes, &bytes, 1, MPI_INT64_T, MPI_SUM, 0, block.cart);
  if (block.rank == 0)
    printf("heat: verification=%s ranks=%d opens=%" PRId64 " bytes=%" PRId64 " compute_s=%.6f io_s=%.6f\n",
           verified ? "passed" : "FAILED", block.ranks, tally.opens, bytes, slowest[0], slowest[1]);
  free_block(&block);
  return verified ? 0 : 1;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Options options;
  int status = parse_options(argc, argv, rank == 0, &options);
  if (status < 0) status = simulate(&options);
  MPI_Finalize();
  return status;
}
