// The harness of the MPI test programs. A program is ordinary MPI code:
//
//   int main(int argc, char** argv) {
//     Session session(argc, argv);
//     MPI_File file = session.open(MPI_COMM_WORLD, "name", MPI_MODE_CREATE | MPI_MODE_RDWR);
//     CHECK_OK(MPI_File_write(...));
//     CHECK_EQ(count, 4);
//     return session.finish();
//   }
//
// Rules the harness rests on
//   - A failed CHECK is recorded and printed with rank, file and line; the program goes on, so no rank leaves a
//     collective phase early. REQUIRE is for failures after which nothing makes sense: it aborts the job.
//   - finish() sums the results of all ranks; rank 0 prints "N passed, N failed"; the exit code is 0 only when every
//     rank passed everything and at least one check ran.
//   - open() also checks that Suiro serves the file (info key suiro_preset). SUIRO_TEST_NATIVE=1 drops that check, so
//     that a test can be tried on the MPI's own MPI-IO.
//   - A hang is a failure: after SUIRO_TEST_TIMEOUT seconds (default 60) every rank prints the last check it passed and
//     its stack, and the program ends with exit code 99.
//   - Random tests: SUIRO_TEST_SEED and SUIRO_TEST_ROUNDS to go further; a failure prints seed and round, and
//     SUIRO_TEST_ONLY_ROUND repeats that round alone.
//   - The scratch directory comes from SUIRO_TEST_DIR, which launch.sh creates, checks for left-overs and removes.
#pragma once

#include <execinfo.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

namespace suiro_test {

constexpr int kExitFailed = 1;
constexpr int kExitSkipped = 77;
constexpr int kExitAborted = 98;
constexpr int kExitHung = 99;
constexpr int kFailuresShown = 20;  // per rank; the rest is only counted

struct Tally {
  long passed = 0;
  long failed = 0;
  int rank = -1;
  const char* last_file = "(start)";
  int last_line = 0;
  std::string context;  // seed, round, type description: printed with every failure
};

inline Tally& tally() {
  static Tally value;
  return value;
}

inline bool native() {
  const char* text = std::getenv("SUIRO_TEST_NATIVE");
  return text != nullptr && std::strcmp(text, "1") == 0;
}

inline int64_t env_number(const char* name, int64_t fallback) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' ? std::strtoll(text, nullptr, 0) : fallback;
}

/// Records one check. Returns ok. Call it from one thread at a time.
[[gnu::format(printf, 4, 5)]] inline bool record(bool ok, const char* file, int line, const char* format, ...) {
  Tally& t = tally();
  t.last_file = file;
  t.last_line = line;
  if (ok) {
    ++t.passed;
    return true;
  }
  ++t.failed;
  if (t.failed > kFailuresShown) return false;
  char text[2048];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  const char* base = std::strrchr(file, '/');
  std::fprintf(stderr, "[rank %d] %s:%d: FAILED %s%s%s\n", t.rank, base ? base + 1 : file, line, text,
               t.context.empty() ? "" : "\n    in ", t.context.c_str());
  return false;
}

inline int class_of(int code) {
  if (code == MPI_SUCCESS) return MPI_SUCCESS;
  int error_class = MPI_ERR_UNKNOWN;
  MPI_Error_class(code, &error_class);
  return error_class;
}

inline const char* class_name(int error_class) {
  struct Name {
    int value;
    const char* text;
  };
  static const Name names[] = {
      {MPI_SUCCESS, "MPI_SUCCESS"},
      {MPI_ERR_FILE, "MPI_ERR_FILE"},
      {MPI_ERR_NOT_SAME, "MPI_ERR_NOT_SAME"},
      {MPI_ERR_AMODE, "MPI_ERR_AMODE"},
      {MPI_ERR_UNSUPPORTED_DATAREP, "MPI_ERR_UNSUPPORTED_DATAREP"},
      {MPI_ERR_UNSUPPORTED_OPERATION, "MPI_ERR_UNSUPPORTED_OPERATION"},
      {MPI_ERR_NO_SUCH_FILE, "MPI_ERR_NO_SUCH_FILE"},
      {MPI_ERR_FILE_EXISTS, "MPI_ERR_FILE_EXISTS"},
      {MPI_ERR_BAD_FILE, "MPI_ERR_BAD_FILE"},
      {MPI_ERR_ACCESS, "MPI_ERR_ACCESS"},
      {MPI_ERR_NO_SPACE, "MPI_ERR_NO_SPACE"},
      {MPI_ERR_QUOTA, "MPI_ERR_QUOTA"},
      {MPI_ERR_READ_ONLY, "MPI_ERR_READ_ONLY"},
      {MPI_ERR_FILE_IN_USE, "MPI_ERR_FILE_IN_USE"},
      {MPI_ERR_DUP_DATAREP, "MPI_ERR_DUP_DATAREP"},
      {MPI_ERR_CONVERSION, "MPI_ERR_CONVERSION"},
      {MPI_ERR_IO, "MPI_ERR_IO"},
      {MPI_ERR_ARG, "MPI_ERR_ARG"},
      {MPI_ERR_COUNT, "MPI_ERR_COUNT"},
      {MPI_ERR_TYPE, "MPI_ERR_TYPE"},
      {MPI_ERR_BUFFER, "MPI_ERR_BUFFER"},
      {MPI_ERR_INFO, "MPI_ERR_INFO"},
      {MPI_ERR_INFO_VALUE, "MPI_ERR_INFO_VALUE"},
      {MPI_ERR_OTHER, "MPI_ERR_OTHER"},
      {MPI_ERR_INTERN, "MPI_ERR_INTERN"},
      {MPI_ERR_NO_MEM, "MPI_ERR_NO_MEM"},
      {MPI_ERR_UNKNOWN, "MPI_ERR_UNKNOWN"},
      {MPI_ERR_COMM, "MPI_ERR_COMM"},
      {MPI_ERR_REQUEST, "MPI_ERR_REQUEST"},
  };
  for (const Name& name : names) {
    if (name.value == error_class) return name.text;
  }
  return "another class";
}

inline std::string error_text(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) return "?";
  return text;
}

inline bool record_class(int code, std::initializer_list<int> wanted, const char* file, int line, const char* call) {
  const int error_class = class_of(code);
  std::string list;
  for (int w : wanted) {
    if (w == error_class) return record(true, file, line, "%s", call);
    list += list.empty() ? "" : " or ";
    list += class_name(w);
  }
  return record(false, file, line, "%s\n    gave %s, want %s%s%s", call, class_name(error_class), list.c_str(),
                code == MPI_SUCCESS ? "" : ": ", code == MPI_SUCCESS ? "" : error_text(code).c_str());
}

template <class A, class B>
bool record_equal(const A& a, const B& b, const char* file, int line, const char* a_text, const char* b_text) {
  if constexpr (std::is_convertible_v<A, std::string> && std::is_convertible_v<B, std::string>) {
    const std::string left = a, right = b;
    return record(left == right, file, line, "%s == %s: \"%s\" against \"%s\"", a_text, b_text, left.c_str(),
                  right.c_str());
  } else {
    const auto left = static_cast<long long>(a), right = static_cast<long long>(b);
    return record(left == right, file, line, "%s == %s: %lld against %lld", a_text, b_text, left, right);
  }
}

#define CHECK(cond) ::suiro_test::record((cond), __FILE__, __LINE__, "%s", #cond)
#define CHECK_EQ(a, b) ::suiro_test::record_equal((a), (b), __FILE__, __LINE__, #a, #b)
/// CALL must return MPI_SUCCESS.
#define CHECK_OK(call) ::suiro_test::record_class((call), {MPI_SUCCESS}, __FILE__, __LINE__, #call)
/// CALL must fail with one of the error classes that follow.
#define CHECK_CLASS(call, ...) ::suiro_test::record_class((call), {__VA_ARGS__}, __FILE__, __LINE__, #call)
#define REQUIRE(cond)                                                                \
  do {                                                                               \
    if (!::suiro_test::record((cond), __FILE__, __LINE__, "(required) %s", #cond)) { \
      std::fflush(nullptr);                                                          \
      MPI_Abort(MPI_COMM_WORLD, ::suiro_test::kExitAborted);                         \
    }                                                                                \
  } while (0)

inline void print_where(int) {
  const Tally& t = tally();
  char text[4352];
  int length =
      std::snprintf(text, sizeof text, "[rank %d] HANG: no end after the time limit; last check at %s:%d%s%.4000s\n",
                    t.rank, t.last_file, t.last_line, t.context.empty() ? "" : " in ", t.context.c_str());
  if (length > static_cast<int>(sizeof text) - 1) length = sizeof text - 1;
  (void)!write(STDERR_FILENO, text, static_cast<size_t>(length));
  void* frames[64];
  backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
  sleep(2);  // the launcher kills the others as soon as one rank leaves; let them print first
  _exit(kExitHung);
}

/// Starts the watchdog's time anew: for programs of many rounds, each of which is short.
inline void still_alive() { alarm(static_cast<unsigned>(env_number("SUIRO_TEST_TIMEOUT", 60))); }

class Session {
 public:
  Session(int argc, char** argv, int thread_level = MPI_THREAD_SINGLE) {
    void* warm_up[1];
    backtrace(warm_up, 1);  // loads libgcc now, not inside the signal handler
    struct sigaction action = {};
    action.sa_handler = print_where;
    sigaction(SIGALRM, &action, nullptr);
    still_alive();
    MPI_Init_thread(&argc, &argv, thread_level, &thread_level_);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tally().rank = rank;
    const char* dir = std::getenv("SUIRO_TEST_DIR");
    if (dir == nullptr) dir = std::getenv("TMPDIR");
    directory_ = dir != nullptr ? dir : "/tmp";
    const char* preset = std::getenv("SUIRO_TEST_PRESET");
    preset_ = preset != nullptr && *preset != '\0' ? preset : "direct";
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int rank = 0;
  int size = 1;
  int thread_level() const { return thread_level_; }
  const std::string& preset() const { return preset_; }
  std::string path(const std::string& name) const { return directory_ + "/" + name; }

  /// The file's suiro_preset as MPI_File_get_info tells it; empty when Suiro does not serve it.
  static std::string served_by(MPI_File file) {
    MPI_Info info = MPI_INFO_NULL;
    if (MPI_File_get_info(file, &info) != MPI_SUCCESS || info == MPI_INFO_NULL) return "";
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;
    MPI_Info_get(info, "suiro_preset", MPI_MAX_INFO_VAL, value, &found);
    MPI_Info_free(&info);
    return found ? value : "";
  }

  /// Checks that Suiro serves the file with the preset under test (not with SUIRO_TEST_NATIVE=1).
  void check_served(MPI_File file) const {
    if (!native()) CHECK_EQ(served_by(file), preset_);
  }

  /// Opens scratch file `name` on `comm` (collective) and requires that it works and that Suiro serves it.
  MPI_File open(MPI_Comm comm, const std::string& name, int amode, MPI_Info info = MPI_INFO_NULL) const {
    MPI_File file = MPI_FILE_NULL;
    const int code = MPI_File_open(comm, path(name).c_str(), amode, info, &file);
    CHECK_OK(code);
    REQUIRE(code == MPI_SUCCESS);
    check_served(file);
    return file;
  }

  /// Collective over MPI_COMM_WORLD: all ranks are here, then rank 0 removes the scratch file.
  void remove(const std::string& name) const {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) unlink(path(name).c_str());
    MPI_Barrier(MPI_COMM_WORLD);
  }

  /// Collective: sums up, prints, finalises. Returns the exit code of main.
  int finish() {
    long mine[2] = {tally().passed, tally().failed};
    long all[2] = {0, 0};
    MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return report(all[0], all[1]);
  }

  /// Collective: ends a program that cannot run here. Rank 0 prints the reason; exit code 77.
  int skip(const char* reason) {
    if (rank == 0) std::printf("SKIPPED: %s\n", reason);
    MPI_Finalize();
    return kExitSkipped;
  }

  int report(long passed, long failed) const {
    alarm(0);
    if (rank == 0) std::printf("%ld passed, %ld failed\n", passed, failed);
    std::fflush(nullptr);
    return failed == 0 && passed > 0 ? 0 : kExitFailed;
  }

 private:
  int thread_level_ = MPI_THREAD_SINGLE;
  std::string directory_;
  std::string preset_;
};

// --- the plain POSIX side
// ---------------------------------------------------------------------------------------------

/// The whole file by open/read, the reference against which MPI's view of the file is judged. Empty when missing.
inline std::vector<unsigned char> posix_read(const std::string& path) {
  std::vector<unsigned char> bytes;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return bytes;
  struct stat status = {};
  fstat(fd, &status);
  bytes.resize(static_cast<size_t>(status.st_size));
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  bytes.resize(done);
  ::close(fd);
  return bytes;
}

inline std::vector<unsigned char> posix_read_range(const std::string& path, int64_t offset, size_t length) {
  std::vector<unsigned char> bytes(length);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd < 0 ? -1 : ::pread(fd, bytes.data(), length, offset);
  bytes.resize(n < 0 ? 0 : static_cast<size_t>(n));
  if (fd >= 0) ::close(fd);
  return bytes;
}

inline bool posix_write(const std::string& path, const void* data, size_t length) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return false;
  const bool ok = ::write(fd, data, length) == static_cast<ssize_t>(length);
  ::close(fd);
  return ok;
}

/// Size in bytes, -1 when the file does not exist.
inline int64_t posix_size(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 ? static_cast<int64_t>(status.st_size) : -1;
}

/// Compares and, on the first difference, records where it is and what is there.
inline bool check_bytes(const std::vector<unsigned char>& actual, const std::vector<unsigned char>& expected,
                        const char* file, int line, const char* what) {
  if (actual.size() != expected.size()) {
    return record(false, file, line, "%s: %zu bytes against %zu expected", what, actual.size(), expected.size());
  }
  size_t first = 0;
  while (first < actual.size() && actual[first] == expected[first]) ++first;
  if (first == actual.size()) return record(true, file, line, "%s", what);
  size_t wrong = 0;
  for (size_t i = first; i < actual.size(); ++i) wrong += actual[i] != expected[i];
  return record(false, file, line, "%s: byte %zu is 0x%02x, want 0x%02x (%zu of %zu bytes differ)", what, first,
                actual[first], expected[first], wrong, actual.size());
}
#define CHECK_BYTES(actual, expected, what) ::suiro_test::check_bytes((actual), (expected), __FILE__, __LINE__, (what))

/// Bytes the status says were moved.
inline int64_t status_bytes(const MPI_Status& status) {
  MPI_Count bytes = -1;
  MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
  return static_cast<int64_t>(bytes);
}

/// For the types that MPI_File_get_view hands out: derived ones are copies to be freed, named ones must not be.
inline void free_unless_named(MPI_Datatype type) {
  int integers, addresses, types, combiner;
  MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&type);
}

// --- repeatable randomness
// ----------------------------------------------------------------------------------------------

/// splitmix64: the same sequence everywhere for the same seed.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  /// Uniform in [low, high].
  int64_t in(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }
  bool one_in(int n) { return in(1, n) == 1; }

 private:
  uint64_t state_;
};

/// Random settings of how Suiro moves the data, as hints; to be freed. They must never change what is in the file.
inline MPI_Info random_hints(Random& random) {
  MPI_Info info;
  MPI_Info_create(&info);
  const auto choose = [&](const char* key, std::initializer_list<const char*> values) {
    const char* value = values.begin()[random.in(0, static_cast<int64_t>(values.size()) - 1)];
    if (*value != '\0' && !native()) MPI_Info_set(info, key, value);
  };
  choose("suiro_strided_write", {"", "auto", "pwrite", "map"});
  choose("suiro_map_piece_below_bytes", {"", "0", "8", "1M"});
  choose("suiro_read_sieve_bytes", {"", "0", "1", "100", "4096"});
  choose("suiro_stage_bytes", {"", "4096", "4097"});
  return info;
}

/// Calls `body(round)` for the rounds asked for, the watchdog's time starting anew for each.
template <class Body>
void for_each_round(int64_t rounds, Body body) {
  const int64_t only = env_number("SUIRO_TEST_ONLY_ROUND", -1);
  for (int64_t round = only < 0 ? 0 : only; round < (only < 0 ? rounds : only + 1); ++round) {
    still_alive();
    body(round);
  }
}

/// A seed that depends on all its arguments.
template <class... Parts>
uint64_t mix(Parts... parts) {
  uint64_t value = 0x5eed;
  ((value = Random(value ^ (static_cast<uint64_t>(parts) * 0x2545f4914f6cdd1dull)).next()), ...);
  return value;
}

/// The byte that writer `who` puts at data byte `index` in operation `operation`; never 0, so that a hole shows.
inline unsigned char stamp(uint64_t who, uint64_t operation, uint64_t index) {
  return static_cast<unsigned char>(mix(who, operation, index) % 255 + 1);
}

}  // namespace suiro_test

using namespace suiro_test;  // NOLINT: a test program is nothing but its test
