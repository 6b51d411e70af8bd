/* Taking samples; the main program. */
#define _GNU_SOURCE
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { kPrewrittenBytes = 128 << 20, kChunk = 1 << 20 };

/* Where one rank works alone and differences of nanoseconds are looked for, more and shorter samples: most of them then
 * are not interrupted by anything else that the machine does. */
enum { kSoloRounds = 5 };
static const double kSoloShare = 0.1;

void fail(const char *what, const char *detail) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  fprintf(stderr, "mpiio_bench: rank %d: %s: %s\n", rank, what, detail);
  MPI_Abort(MPI_COMM_WORLD, 1);
  abort();
}

void check(int code, const char *call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail(call, text);
}

void check_bytes(int64_t got, int64_t wanted_bytes, const char *call) {
  if (got < 0) fail(call, strerror(errno));
  if (got != wanted_bytes) fail(call, "moved fewer bytes than asked for");
}

void *allocate(int64_t bytes) {
  void *memory = NULL;
  if (posix_memalign(&memory, 4096, bytes > 0 ? (size_t)bytes : 1) != 0) fail("memory", "not enough");
  memset(memory, 0, bytes > 0 ? (size_t)bytes : 1);
  return memory;
}

double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double cpu_s(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
         1e-6 * ((double)usage.ru_utime.tv_usec + (double)usage.ru_stime.tv_usec);
}

void quiet_barrier(void) {
  MPI_Request request;
  check(MPI_Ibarrier(MPI_COMM_WORLD, &request), "MPI_Ibarrier");
  for (;;) {
    int done = 0;
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done) return;
    struct timespec pause = {0, 100000};
    nanosleep(&pause, NULL);
  }
}

void emit(const Bench *bench, const char *format, ...) {
  if (bench->rank != 0) return;
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  fflush(stdout);
}

bool wanted(const Bench *bench, const char *name) {
  const char *word = bench->options.rows;
  if (word == NULL) return true;
  while (*word != '\0') {
    size_t length = strcspn(word, ",");
    if (length > 0 && memmem(name, strlen(name), word, length) != NULL) return true;
    word += length + (word[length] == ',');
  }
  return false;
}

Contender *add_contender(Row *row, const char *name, void (*work)(void *), void *state) {
  if (row->contenders == kMostContenders) fail(row->name, "too many contenders");
  Contender *added = &row->contender[row->contenders++];
  *added = (Contender){.name = name, .state = state, .work = work};
  return added;
}

typedef struct Sample {
  double seconds; /* per repetition: the slowest rank */
  double cpu_s; /* per repetition: of all ranks */
} Sample;

static Sample take(const Bench *bench, const Row *row, const Contender *contender, int repeats) {
  bool works = !row->solo || bench->rank == 0;
  if (works && contender->prepare != NULL) contender->prepare(contender->state, repeats);
  double mine[2] = {0, 0};
  MPI_Barrier(MPI_COMM_WORLD);
  if (works) {
    double cpu_before = cpu_s(), before = now_s();
    for (int i = 0; i < repeats; i++) contender->work(contender->state);
    mine[0] = (now_s() - before) / repeats;
    mine[1] = (cpu_s() - cpu_before) / repeats;
  }
  quiet_barrier();
  if (works && contender->finish != NULL) contender->finish(contender->state);
  Sample sample;
  MPI_Allreduce(&mine[0], &sample.seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(&mine[1], &sample.cpu_s, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sample;
}

static int repeats_for(const Bench *bench, const Row *row, const Contender *contender) {
  take(bench, row, contender, 1); /* cold */
  double once = take(bench, row, contender, 1).seconds;
  double sample_s = row->solo ? bench->options.sample_s * kSoloShare : bench->options.sample_s;
  double repeats = once > 0 ? sample_s / once : 1e6;
  if (repeats > 1e6) repeats = 1e6;
  if (contender->most_repeats > 0 && repeats > contender->most_repeats) repeats = contender->most_repeats;
  return repeats < 1 ? 1 : (int)repeats;
}

static void print_numbers(const Bench *bench, const char *label, const double *value, int count) {
  emit(bench, "\"%s\": [", label);
  for (int i = 0; i < count; i++) emit(bench, "%s%.9g", i == 0 ? "" : ", ", value[i]);
  emit(bench, "]");
}

void measure(const Bench *bench, const Row *row) {
  static double seconds[kMostContenders][kMostRounds], cpu[kMostContenders][kMostRounds];
  int repeats[kMostContenders];
  for (int c = 0; c < row->contenders; c++) repeats[c] = repeats_for(bench, row, &row->contender[c]);
  int rounds = bench->options.rounds * (row->solo ? kSoloRounds : 1);
  if (rounds > kMostRounds) rounds = kMostRounds;
  for (int round = 0; round < rounds; round++) {
    for (int i = 0; i < row->contenders; i++) {
      int c = round % 2 == 0 ? i : row->contenders - 1 - i;
      Sample sample = take(bench, row, &row->contender[c], repeats[c]);
      seconds[c][round] = sample.seconds;
      cpu[c][round] = sample.cpu_s;
    }
  }
  emit(bench, "@bench {\"kind\": \"row\", \"name\": \"%s\", \"bytes\": %.0f, \"calls\": %.0f, \"contenders\": {",
       row->name, row->bytes, row->calls);
  for (int c = 0; c < row->contenders; c++) {
    emit(bench, "%s\"%s\": {\"repeats\": %d, ", c == 0 ? "" : ", ", row->contender[c].name, repeats[c]);
    print_numbers(bench, "seconds", seconds[c], rounds);
    emit(bench, ", ");
    print_numbers(bench, "cpu_s", cpu[c], rounds);
    emit(bench, "}");
  }
  emit(bench, "}}\n");
}

/* --- set-up --------------------------------------------------------------------------------------------------- */

/* First writes to new disk blocks are slow; they must not fall into anybody's sample. */
static int open_prewritten(const char *path, int rank) {
  int fd = open(path, O_RDWR | (rank == 0 ? O_CREAT | O_TRUNC : 0), 0600);
  if (fd < 0) fail(path, strerror(errno));
  if (rank != 0) return fd;
  char *chunk = allocate(kChunk);
  memset(chunk, 0x5a, kChunk);
  for (int64_t at = 0; at < kPrewrittenBytes; at += kChunk)
    check_bytes(pwrite(fd, chunk, kChunk, at), kChunk, "pwrite");
  free(chunk);
  check_bytes(fsync(fd), 0, "fsync");
  return fd;
}

/* Is the file served by Suiro? Its hints then say so. */
static bool is_routed(MPI_File file) {
  MPI_Info info;
  check(MPI_File_get_info(file, &info), "MPI_File_get_info");
  char value[64] = "";
  int found = 0;
  MPI_Info_get(info, "suiro_preset", (int)sizeof value - 1, value, &found);
  MPI_Info_free(&info);
  return found != 0 && strcmp(value, "direct") == 0;
}

static void set_up(Bench *bench) {
  const char *directory = bench->options.directory;
  if (strlen(directory) > kPathBytes - 64) fail(directory, "this path is too long");
  snprintf(bench->path, kPathBytes, "%.4000s/data", directory);
  snprintf(bench->routed, kPathBytes, "direct:%.4000s/data", directory);
  snprintf(bench->limit_path, kPathBytes, "%.4000s/limit", directory);
  if (bench->rank == 0) {
    bench->fd = open_prewritten(bench->path, 0);
    bench->limit_fd = open_prewritten(bench->limit_path, 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (bench->rank != 0) {
    bench->fd = open_prewritten(bench->path, bench->rank);
    bench->limit_fd = open_prewritten(bench->limit_path, bench->rank);
  }
  int mode = MPI_MODE_RDWR;
  check(MPI_File_open(MPI_COMM_WORLD, bench->path, mode, MPI_INFO_NULL, &bench->native), "MPI_File_open");
  check(MPI_File_open(MPI_COMM_WORLD, bench->routed, mode, MPI_INFO_NULL, &bench->suiro), "MPI_File_open (direct:)");
  if (!is_routed(bench->suiro)) fail(bench->routed, "is not served by Suiro; LD_PRELOAD must name libsuiro.so");
  if (is_routed(bench->native)) fail(bench->path, "is served by Suiro, but must go to the native MPI-IO here");
}

static void tear_down(Bench *bench) {
  check(MPI_File_close(&bench->suiro), "MPI_File_close");
  check(MPI_File_close(&bench->native), "MPI_File_close");
  close(bench->fd);
  close(bench->limit_fd);
}

static void print_header(const Bench *bench) {
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(library, &length);
  library[strcspn(library, "\n")] = '\0';
  for (char *at = library; *at != '\0'; at++)
    if (*at == '"' || *at == '\\' || (unsigned char)*at < ' ') *at = ' ';
  emit(bench, "@bench {\"kind\": \"run\", \"library\": \"%s\", \"ranks\": %d, \"rounds\": %d, \"sample_s\": %g}\n",
       library, bench->ranks, bench->options.rounds, bench->options.sample_s);
}

static double number(const char *text, double least, double most, const char *option) {
  char *end = NULL;
  double value = strtod(text, &end);
  if (end == text || *end != '\0' || value < least || value > most) fail(option, "is out of range");
  return value;
}

static Options parse(int argc, char **argv) {
  static const struct option known[] = {{"dir", required_argument, NULL, 'd'},
                                        {"rounds", required_argument, NULL, 'n'},
                                        {"sample", required_argument, NULL, 's'},
                                        {"rows", required_argument, NULL, 'r'},
                                        {"scale", required_argument, NULL, 'c'},
                                        {"native-pieces", required_argument, NULL, 'p'},
                                        {NULL, 0, NULL, 0}};
  Options options = {.rounds = 11, .sample_s = 0.02, .scale = 1, .most_native_pieces = 1000000};
  int letter;
  while ((letter = getopt_long(argc, argv, "", known, NULL)) != -1) {
    switch (letter) {
      case 'd': options.directory = optarg; break;
      case 'n': options.rounds = (int)number(optarg, 1, kMostRounds, "--rounds"); break;
      case 's': options.sample_s = number(optarg, 0, 10, "--sample"); break;
      case 'r': options.rows = optarg; break;
      case 'c': options.scale = number(optarg, 0.01, 1, "--scale"); break;
      case 'p': options.most_native_pieces = (int64_t)number(optarg, 0, 1e9, "--native-pieces"); break;
      default: fail("arguments", "--dir D [--rounds N] [--sample S] [--rows a,b] [--scale X] [--native-pieces N]");
    }
  }
  if (options.directory == NULL || optind != argc) fail("arguments", "--dir is needed, and nothing but options");
  return options;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  Bench bench;
  memset(&bench, 0, sizeof bench);
  MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &bench.ranks);
  bench.options = parse(argc, argv);
  set_up(&bench);
  print_header(&bench);
  run_memory_rows(&bench);
  run_cost_rows(&bench);
  run_data_rows(&bench);
  tear_down(&bench);
  emit(&bench, "@bench {\"kind\": \"end\"}\n");
  MPI_Finalize();
  return 0;
}
