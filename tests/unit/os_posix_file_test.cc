// PosixFile: the loops around the system calls, with calls that are interrupted and shortened on purpose, and the rest
// of the interface on real files.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "os/file.h"
#include "temp_dir.h"

namespace suiro {
namespace {

using test::Bytes;
using test::numbered_bytes;
using test::read_whole_file;
using test::TempDir;
using test::write_whole_file;

/// How the calls below behave. One test at a time uses them, from one thread.
struct Script {
  int64_t calls = 0;
  int64_t interrupt_every = 0;    // this often EINTR; 0: never
  size_t most = SIZE_MAX;         // bytes moved per call
  int64_t fail_at = 0;            // this call fails with `error`
  int error = EIO;
  int64_t nothing_from = 0;       // from this call on they move nothing
  int longest_list = 0;           // most parts seen in one call
};
Script script;

/// Returns 1 to go on, else what the call returns.
ssize_t act() {
  script.calls++;
  if (script.interrupt_every > 0 && script.calls % script.interrupt_every == 0) {
    errno = EINTR;
    return -1;
  }
  if (script.calls == script.fail_at) {
    errno = script.error;
    return -1;
  }
  if (script.nothing_from > 0 && script.calls >= script.nothing_from) return 0;
  return 1;
}

std::vector<iovec> shortened(const iovec* parts, int count) {
  script.longest_list = std::max(script.longest_list, count);
  std::vector<iovec> kept;
  size_t left = script.most;
  for (int i = 0; i < count && left > 0; i++) {
    kept.push_back({parts[i].iov_base, std::min(left, parts[i].iov_len)});
    left -= kept.back().iov_len;
  }
  return kept;
}

const IoCalls kScriptedCalls = {
    [](int fd, void* data, size_t size, off_t offset) {
      ssize_t result = act();
      return result == 1 ? ::pread(fd, data, std::min(size, script.most), offset) : result;
    },
    [](int fd, const void* data, size_t size, off_t offset) {
      ssize_t result = act();
      return result == 1 ? ::pwrite(fd, data, std::min(size, script.most), offset) : result;
    },
    [](int fd, const iovec* parts, int count, off_t offset) {
      ssize_t result = act();
      if (result != 1) return result;
      auto kept = shortened(parts, count);
      return ::preadv(fd, kept.data(), static_cast<int>(kept.size()), offset);
    },
    [](int fd, const iovec* parts, int count, off_t offset) {
      ssize_t result = act();
      if (result != 1) return result;
      auto kept = shortened(parts, count);
      return ::pwritev(fd, kept.data(), static_cast<int>(kept.size()), offset);
    },
};

/// `bytes` cut into parts of the given lengths, over and over.
std::vector<iovec> cut(Bytes& bytes, const std::vector<size_t>& lengths) {
  std::vector<iovec> parts;
  size_t at = 0;
  for (size_t i = 0; at < bytes.size(); i++) {
    size_t length = std::min(lengths[i % lengths.size()], bytes.size() - at);
    parts.push_back({bytes.data() + at, length});
    at += length;
  }
  return parts;
}

class PosixFileTest : public ::testing::Test {
 protected:
  void SetUp() override { script = Script(); }

  std::unique_ptr<File> open(int flags = O_RDWR | O_CREAT, const IoCalls& calls = kScriptedCalls) {
    auto file = open_posix_file(path_, flags, 0644, calls);
    EXPECT_TRUE(file.ok()) << file.status().message();
    return file.ok() ? std::move(*file) : nullptr;
  }

  TempDir dir_;
  std::string path_ = dir_.file("data");
};

struct Behaviour {
  int64_t interrupt_every;
  size_t most;
};
class PosixFileLoops : public PosixFileTest, public ::testing::WithParamInterface<Behaviour> {};
INSTANTIATE_TEST_SUITE_P(Behaviours, PosixFileLoops,
                         ::testing::Values(Behaviour{0, SIZE_MAX}, Behaviour{2, SIZE_MAX}, Behaviour{0, 1},
                                           Behaviour{3, 1}, Behaviour{2, 7}, Behaviour{0, 100}, Behaviour{5, 1023}));

TEST_P(PosixFileLoops, EveryByteIsWrittenAndReadInItsPlace) {
  script.interrupt_every = GetParam().interrupt_every;
  script.most = GetParam().most;
  auto file = open();
  Bytes data = numbered_bytes(3000, 1);
  ASSERT_TRUE(file->pwrite(data.data(), 3000, 17).ok());
  Bytes whole = read_whole_file(path_);
  ASSERT_EQ(whole.size(), 3017u);
  EXPECT_TRUE(std::all_of(whole.begin(), whole.begin() + 17, [](unsigned char byte) { return byte == 0; }));
  EXPECT_TRUE(std::equal(data.begin(), data.end(), whole.begin() + 17));

  Bytes back(3000);
  auto got = file->pread(back.data(), 3000, 17);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(*got, 3000);
  EXPECT_EQ(back, data);
}

TEST_P(PosixFileLoops, ListsGoOnInTheMiddleOfAPart) {
  script.interrupt_every = GetParam().interrupt_every;
  script.most = GetParam().most;
  auto file = open();
  Bytes data = numbered_bytes(3000, 2);
  ASSERT_TRUE(file->pwritev(cut(data, {0, 1, 13, 0, 200, 64, 0}), 5).ok());
  Bytes whole = read_whole_file(path_);
  ASSERT_EQ(whole.size(), 3005u);
  EXPECT_TRUE(std::equal(data.begin(), data.end(), whole.begin() + 5));

  Bytes back(3000);
  auto got = file->preadv(cut(back, {77, 0, 0, 3, 500}), 5);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(*got, 3000);
  EXPECT_EQ(back, data);
}

TEST_P(PosixFileLoops, ReadsEndAtTheEndOfTheFile) {
  Bytes data = numbered_bytes(1000, 3);
  write_whole_file(path_, data);
  script.interrupt_every = GetParam().interrupt_every;
  script.most = GetParam().most;
  auto file = open();
  for (int64_t offset : {int64_t{0}, int64_t{999}, int64_t{1000}, int64_t{5000}}) {
    int64_t want = std::max<int64_t>(0, 1000 - offset);
    Bytes back(2000, 0xee);
    auto got = file->pread(back.data(), 2000, offset);
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(*got, want);
    EXPECT_TRUE(std::equal(back.begin(), back.begin() + want, data.end() - want));
    EXPECT_TRUE(std::all_of(back.begin() + want, back.end(), [](unsigned char byte) { return byte == 0xee; }));
    Bytes listed(2000, 0xee);
    got = file->preadv(cut(listed, {100, 30}), offset);
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(*got, want);
    EXPECT_EQ(listed, back);
  }
}

TEST_F(PosixFileTest, MorePartsThanOneCallTakes) {
  auto file = open();
  Bytes data = numbered_bytes(3 * IOV_MAX + 5, 4);
  ASSERT_TRUE(file->pwritev(cut(data, {1}), 0).ok());
  EXPECT_EQ(script.calls, 4);
  EXPECT_LE(script.longest_list, IOV_MAX);
  EXPECT_EQ(read_whole_file(path_), data);
  Bytes back(data.size());
  auto got = file->preadv(cut(back, {1}), 0);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(*got, static_cast<int64_t>(data.size()));
  EXPECT_EQ(back, data);
}

TEST_F(PosixFileTest, NothingIsDoneForNothing) {
  auto file = open();
  char byte = 1;
  iovec empty{&byte, 0};
  EXPECT_TRUE(file->pwrite(&byte, 0, 100).ok());
  EXPECT_TRUE(file->pwritev({&empty, 1}, 100).ok());
  EXPECT_TRUE(file->pwritev({}, 100).ok());
  EXPECT_EQ(*file->pread(&byte, 0, 0), 0);
  EXPECT_EQ(*file->preadv({&empty, 1}, 0), 0);
  EXPECT_EQ(script.calls, 0);
  EXPECT_EQ(*file->size(), 0);
}

TEST_F(PosixFileTest, AWriteThatMakesNoProgressIsAnErrorNotALoop) {
  auto file = open();
  Bytes data = numbered_bytes(100, 5);
  script.most = 40;
  script.nothing_from = 2;
  EXPECT_EQ(file->pwrite(data.data(), 100, 0).kind(), ErrorKind::kIo);
  EXPECT_EQ(script.calls, 2);
  script.calls = 0;
  EXPECT_EQ(file->pwritev(cut(data, {30}), 0).kind(), ErrorKind::kIo);
  EXPECT_EQ(script.calls, 2);
}

TEST_F(PosixFileTest, AnErrorAfterAShortCallIsReportedWithItsPlace) {
  auto file = open();
  Bytes data = numbered_bytes(100, 6);
  script.most = 40;
  script.error = ENOSPC;
  script.fail_at = 2;
  Status status = file->pwrite(data.data(), 100, 1000);
  EXPECT_EQ(status.kind(), ErrorKind::kNoSpace);
  EXPECT_EQ(status.system_errno(), ENOSPC);
  EXPECT_NE(status.message().find(path_ + " at offset 1040"), std::string_view::npos) << status.message();

  script.calls = 0;
  EXPECT_EQ(file->pwritev(cut(data, {30}), 1000).kind(), ErrorKind::kNoSpace);
  ASSERT_TRUE((script = Script(), file->pwrite(data.data(), 100, 0).ok()));
  script.most = 40;
  script.fail_at = 2;
  EXPECT_EQ(file->pread(data.data(), 100, 0).status().kind(), ErrorKind::kIo);
  script.calls = 0;
  EXPECT_EQ(file->preadv(cut(data, {30}), 0).status().kind(), ErrorKind::kIo);
}

TEST_F(PosixFileTest, TheFileSizeLimitIsReported) {
  auto file = open(O_RDWR | O_CREAT, kSystemIoCalls);
  struct rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit small = before;
  small.rlim_cur = 4096;
  auto* old_action = ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  Bytes data = numbered_bytes(10000, 7);
  Status plain = file->pwrite(data.data(), 10000, 0);
  Status listed = file->pwritev(cut(data, {1000}), 0);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, old_action);
  EXPECT_EQ(plain.kind(), ErrorKind::kNoSpace) << plain.message();
  EXPECT_EQ(listed.kind(), ErrorKind::kNoSpace) << listed.message();
}

TEST_F(PosixFileTest, AFullDeviceIsReported) {
  auto file = open_posix_file("/dev/full", O_WRONLY, 0);
  ASSERT_TRUE(file.ok());
  char byte = 1;
  EXPECT_EQ((*file)->pwrite(&byte, 1, 0).kind(), ErrorKind::kNoSpace);
}

TEST_F(PosixFileTest, SizeTruncateAllocate) {
  auto file = open(O_RDWR | O_CREAT, kSystemIoCalls);
  Bytes data = numbered_bytes(100, 8);
  ASSERT_TRUE(file->pwrite(data.data(), 100, 0).ok());
  EXPECT_EQ(*file->size(), 100);
  ASSERT_TRUE(file->truncate(50).ok());
  EXPECT_EQ(*file->size(), 50);
  ASSERT_TRUE(file->truncate(200).ok());
  EXPECT_EQ(*file->size(), 200);
  Status allocated = file->allocate(10, 5000);
  if (allocated.kind() == ErrorKind::kUnsupportedOperation) GTEST_SKIP() << allocated.message();
  ASSERT_TRUE(allocated.ok()) << allocated.message();
  EXPECT_EQ(*file->size(), 5010);
  ASSERT_TRUE(file->allocate(0, 10).ok());
  EXPECT_EQ(*file->size(), 5010);
  Bytes want(5010);
  std::copy(data.begin(), data.begin() + 50, want.begin());
  EXPECT_EQ(read_whole_file(path_), want);
  struct stat info;
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_GE(info.st_blocks * 512, 5010);
  EXPECT_FALSE(file->truncate(-1).ok());
}

TEST_F(PosixFileTest, SyncOfAFileAndOfSomethingWithoutStorage) {
  EXPECT_TRUE(open()->sync().ok());
  auto null = open_posix_file("/dev/null", O_RDWR, 0);
  ASSERT_TRUE(null.ok());
  EXPECT_TRUE((*null)->sync().ok());
}

TEST_F(PosixFileTest, MappingsStartWhereAskedAndAreShared) {
  auto file = open(O_RDWR | O_CREAT, kSystemIoCalls);
  Bytes data = numbered_bytes(3 << 20, 9);
  ASSERT_TRUE(file->pwrite(data.data(), static_cast<int64_t>(data.size()), 0).ok());
  for (int64_t offset : {int64_t{0}, int64_t{1}, int64_t{4096}, int64_t{(2 << 20) - 3}, int64_t{2 << 20}}) {
    auto mapping = file->map(offset, 5000, true);
    ASSERT_TRUE(mapping.ok()) << mapping.status().message();
    EXPECT_TRUE(std::equal(data.begin() + offset, data.begin() + offset + 5000,
                           reinterpret_cast<unsigned char*>(mapping->data())));
    EXPECT_LE(mapping->begin(), mapping->data());
    EXPECT_GE(mapping->end(), mapping->data() + 5000);
    mapping->data()[7] = std::byte{0xa5};
    unsigned char byte = 0;
    EXPECT_EQ(*file->pread(&byte, 1, offset + 7), 1);
    EXPECT_EQ(byte, 0xa5);
    data[static_cast<size_t>(offset) + 7] = 0xa5;
    Mapping moved(std::move(*mapping));
    EXPECT_EQ(moved.data()[7], std::byte{0xa5});
    Mapping assigned;
    assigned = std::move(moved);
    EXPECT_EQ(assigned.data()[7], std::byte{0xa5});
  }
  EXPECT_EQ(read_whole_file(path_), data);
}

TEST_F(PosixFileTest, AReadOnlyFileCannotBeMappedForWriting) {
  write_whole_file(path_, numbered_bytes(100, 10));
  auto file = open(O_RDONLY, kSystemIoCalls);
  EXPECT_EQ(file->map(0, 100, true).status().kind(), ErrorKind::kAccess);
  EXPECT_TRUE(file->map(0, 100, false).ok());
}

TEST_F(PosixFileTest, BytesJustWrittenAreCached) {
  auto file = open(O_RDWR | O_CREAT, kSystemIoCalls);
  Bytes data = numbered_bytes(10000, 11);
  ASSERT_TRUE(file->pwrite(data.data(), 10000, 0).ok());
  EXPECT_TRUE(file->is_cached(0));
  EXPECT_TRUE(file->is_cached(9999));
  EXPECT_FALSE(file->is_cached(10000));
}

TEST_F(PosixFileTest, DenseIsWhatHasStorageEverywhere) {
  auto file = open(O_RDWR | O_CREAT, kSystemIoCalls);
  Bytes data = numbered_bytes(64 << 10, 14);
  ASSERT_TRUE(file->pwrite(data.data(), 64 << 10, 0).ok());
  ASSERT_TRUE(file->pwrite(data.data(), 64 << 10, 4 << 20).ok());
  EXPECT_TRUE(file->is_dense(0, 64 << 10));
  EXPECT_TRUE(file->is_dense(100, 1000));
  EXPECT_TRUE(file->is_dense(4 << 20, 64 << 10));
  EXPECT_FALSE(file->is_dense(4 << 20, (64 << 10) + 1));  // beyond the end
  EXPECT_FALSE(file->is_dense(8 << 20, 1));
  struct stat info;
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  if (info.st_blocks * 512 >= 4 << 20) GTEST_SKIP() << "no holes on this file system";
  EXPECT_FALSE(file->is_dense(0, 2 << 20));
  EXPECT_FALSE(file->is_dense(1 << 20, 4096));
}

TEST_F(PosixFileTest, ReopenFollowsThePath) {
  auto file = open(O_RDWR | O_CREAT | O_EXCL, kSystemIoCalls);
  ASSERT_TRUE(file->pwrite("old", 3, 0).ok());
  ASSERT_TRUE(file->reopen().ok());  // neither EXCL nor TRUNC count again
  EXPECT_EQ(*file->size(), 3);
  write_whole_file(dir_.file("other"), numbered_bytes(10, 12));
  ASSERT_EQ(::rename(dir_.file("other").c_str(), path_.c_str()), 0);
  EXPECT_EQ(*file->size(), 3);
  ASSERT_TRUE(file->reopen().ok());
  EXPECT_EQ(*file->size(), 10);
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  EXPECT_EQ(file->reopen().kind(), ErrorKind::kNoSuchFile);
  EXPECT_EQ(*file->size(), 10);  // a failed reopen leaves the open file as it was
}

int open_descriptors() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) count++;
  return count;
}

TEST_F(PosixFileTest, CloseReleasesTheDescriptorOnce) {
  int before = open_descriptors();
  auto file = open();
  EXPECT_EQ(open_descriptors(), before + 1);
  ASSERT_TRUE(file->reopen().ok());
  EXPECT_EQ(open_descriptors(), before + 1);
  EXPECT_TRUE(file->close().ok());
  EXPECT_EQ(open_descriptors(), before);
  char byte = 0;
  EXPECT_FALSE(file->pwrite(&byte, 1, 0).ok());
  file.reset();
  EXPECT_EQ(open_descriptors(), before);
  open().reset();  // never closed explicitly
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(PosixFileTest, OpenErrorsHaveTheirKinds) {
  auto kind = [](const std::string& path, int flags) { return open_posix_file(path, flags, 0644).status().kind(); };
  EXPECT_EQ(kind(path_, O_RDWR), ErrorKind::kNoSuchFile);
  EXPECT_EQ(kind(dir_.file("no/such/folder"), O_RDWR | O_CREAT), ErrorKind::kNoSuchFile);
  EXPECT_EQ(kind(dir_.path(), O_RDONLY), ErrorKind::kBadFile);
  EXPECT_EQ(kind(dir_.path(), O_RDWR), ErrorKind::kBadFile);
  EXPECT_EQ(kind(dir_.file(std::string(300, 'x')), O_RDWR | O_CREAT), ErrorKind::kBadFile);
  write_whole_file(path_, {});
  EXPECT_EQ(kind(path_ + "/below", O_RDWR | O_CREAT), ErrorKind::kBadFile);
  EXPECT_EQ(kind(path_, O_RDWR | O_CREAT | O_EXCL), ErrorKind::kFileExists);
  int before = open_descriptors();
  EXPECT_EQ(kind(dir_.path(), O_RDONLY), ErrorKind::kBadFile);
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(PosixFileTest, AFileThatOthersMayNotOpenIsAnAccessError) {
  write_whole_file(path_, {});
  ASSERT_EQ(::chmod(path_.c_str(), 0000), 0);
  pid_t child = ::fork();  // root opens everything: let somebody else try
  if (child == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(100);
    ::_exit(static_cast<int>(open_posix_file(path_, O_RDWR, 0).status().kind()));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(static_cast<ErrorKind>(WEXITSTATUS(status)), ErrorKind::kAccess);
}

TEST_F(PosixFileTest, WritingAFileOpenForReadingFails) {
  write_whole_file(path_, numbered_bytes(10, 13));
  auto file = open(O_RDONLY, kSystemIoCalls);
  char byte = 0;
  EXPECT_FALSE(file->pwrite(&byte, 1, 0).ok());
  EXPECT_FALSE(file->truncate(0).ok());
  EXPECT_EQ(read_whole_file(path_), numbered_bytes(10, 13));
}

TEST_F(PosixFileTest, PermissionsAndCloseOnExec) {
  mode_t mask = ::umask(027);
  auto file = open_posix_file(path_, O_RDWR | O_CREAT, 0666);
  ::umask(mask);
  ASSERT_TRUE(file.ok());
  struct stat info;
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (std::filesystem::read_symlink(entry.path(), error) != path_) continue;
    found++;
    EXPECT_TRUE(::fcntl(std::stoi(entry.path().filename()), F_GETFD) & FD_CLOEXEC);
  }
  EXPECT_EQ(found, 1);
  ASSERT_TRUE((*file)->reopen().ok());
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (std::filesystem::read_symlink(entry.path(), error) != path_) continue;
    EXPECT_TRUE(::fcntl(std::stoi(entry.path().filename()), F_GETFD) & FD_CLOEXEC);
  }
}

}  // namespace
}  // namespace suiro
