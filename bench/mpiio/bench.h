/* What all rows of the benchmark share: the files, the way a sample is taken, and what is printed.
 *
 * A row has contenders. In every round each contender gives one sample, in turn forwards and backwards, so that a slow
 * change of the machine meets all of them alike and the two of a pair follow each other directly. */
#ifndef SUIRO_BENCH_BENCH_H
#define SUIRO_BENCH_BENCH_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum { kPathBytes = 4096, kMostContenders = 6, kMostRounds = 999 };

typedef struct Options {
  const char *directory; /* of the test files, on a local file system */
  int rounds;
  double sample_s;   /* a sample repeats its work until it takes about this long */
  const char *rows;  /* measure only rows whose name holds one of these words (comma-separated); NULL: all */
  double scale;      /* factor on the bytes moved per repetition */
  int64_t most_native_pieces; /* larger views are not given to the native MPI-IO: it would list their pieces */
} Options;

typedef struct Bench {
  Options options;
  int rank, ranks;
  char path[kPathBytes];       /* the file that the MPI contenders and the plain calls share */
  char routed[kPathBytes];     /* the same file with the prefix that routes it */
  char limit_path[kPathBytes]; /* of the sequential writer */
  int fd, limit_fd;            /* plain descriptors of both */
  MPI_File native, suiro;      /* both open on MPI_COMM_WORLD all the time */
} Bench;

/* One contender of a row. work does one repetition. prepare and finish, if not NULL, run untimed before and after a
 * sample; repeats is what the sample will do. */
typedef struct Contender {
  const char *name;
  void *state;
  void (*work)(void *state);
  void (*prepare)(void *state, int repeats);
  void (*finish)(void *state);
  int most_repeats; /* 0: no bound */
} Contender;

typedef struct Row {
  char name[64];
  double bytes; /* moved by one repetition over all ranks; 0 when the row is about calls */
  double calls; /* of one repetition on one rank; the unit of the time per call */
  bool solo;    /* rank 0 works alone, the others sleep */
  int contenders;
  Contender contender[kMostContenders];
} Row;

/* Is this row asked for? */
bool wanted(const Bench *bench, const char *name);

/* Collective. Takes all samples of a row and prints them. */
void measure(const Bench *bench, const Row *row);

/* Adds a contender to a row and returns it. */
Contender *add_contender(Row *row, const char *name, void (*work)(void *), void *state);

/* Collective: all ranks arrive before any returns; a rank that waits sleeps instead of spinning. */
void quiet_barrier(void);

double now_s(void);

/* Prints one line of output for the runner; only rank 0 does. Formats as printf. */
void emit(const Bench *bench, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ends the whole run with a message. */
void fail(const char *what, const char *detail) __attribute__((noreturn));
/* Ends the whole run if an MPI call has failed. */
void check(int code, const char *call);
/* The same for plain calls that return a negative number or a short count. */
void check_bytes(int64_t got, int64_t wanted_bytes, const char *call);

void *allocate(int64_t bytes);

void run_data_rows(const Bench *bench);   /* data_rows.c: bandwidth */
void run_cost_rows(const Bench *bench);   /* cost_rows.c: time per call, open and close, views */
void run_memory_rows(const Bench *bench); /* memory_rows.c: growth of the process; to be run first */

#endif
