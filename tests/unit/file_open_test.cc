// Opening and closing on several ranks: all succeed or all fail in the same way, and nothing is left behind.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "base/message.h"
#include "file_fixture.h"

namespace suiro::file_test {
namespace {

class OpenTest : public FileTest {};
SUIRO_ON_RANKS(OpenTest, 1, 2, 4);
/// Where one rank differs from the others.
class OpenSeveralTest : public FileTest {};
SUIRO_ON_RANKS(OpenSeveralTest, 2, 4);

TEST_P(OpenTest, CreateExclusiveAndMissing) {
  EXPECT_EQ(open_kind(path_, read_write()), ErrorKind::kNoSuchFile);
  EXPECT_EQ(open_kind(path_, reading()), ErrorKind::kNoSuchFile);
  AccessMode exclusive = creating();
  exclusive.exclusive = true;
  EXPECT_EQ(open_kind(path_, exclusive), ErrorKind::kOk);
  EXPECT_EQ(open_kind(path_, exclusive), ErrorKind::kFileExists);
  EXPECT_EQ(open_kind(path_, creating()), ErrorKind::kOk);
  EXPECT_EQ(open_kind(path_, reading()), ErrorKind::kOk);
  EXPECT_EQ(open_kind(dir_.path(), reading()), ErrorKind::kBadFile);
  EXPECT_EQ(open_kind(dir_.file("no/such"), creating()), ErrorKind::kNoSuchFile);
  EXPECT_EQ(open_kind(dir_.file(std::string(300, 'x')), creating()), ErrorKind::kBadFile);
}

TEST_P(OpenTest, ContradictingModesAreRefused) {
  EXPECT_EQ(open_kind(path_, AccessMode{}), ErrorKind::kAmode);
  AccessMode mode = reading();
  mode.create = true;
  EXPECT_EQ(open_kind(path_, mode), ErrorKind::kAmode);
  mode = reading();
  mode.exclusive = true;
  EXPECT_EQ(open_kind(path_, mode), ErrorKind::kAmode);
  mode = creating();
  mode.sequential = true;
  EXPECT_EQ(open_kind(path_, mode), ErrorKind::kAmode);
  EXPECT_NE(::access(path_.c_str(), F_OK), 0);
}

TEST_P(OpenSeveralTest, DifferentModesAreRefusedOnAllRanks) {
  content("untouched");
  run_ranks(ranks(), [&](std::unique_ptr<Comm> comm) {
    AccessMode mode = comm->rank() == ranks() - 1 ? reading() : read_write();
    auto file = OpenFile::Open(std::move(comm), mode, settings(path_), false);
    EXPECT_EQ(file.status().kind(), ErrorKind::kNotSame);
  });
  // Also when one of them is not allowed at all.
  run_ranks(ranks(), [&](std::unique_ptr<Comm> comm) {
    AccessMode mode = comm->rank() == 0 ? AccessMode{} : read_write();
    auto file = OpenFile::Open(std::move(comm), mode, settings(path_), false);
    EXPECT_EQ(file.status().kind(), ErrorKind::kNotSame);
  });
  EXPECT_EQ(content(), "untouched");
}

TEST_P(OpenSeveralTest, OneRankThatCannotOpenFailsAll) {
  content("there");
  for (int failing = 0; failing < ranks(); failing++) {
    run_ranks(ranks(), [&](std::unique_ptr<Comm> comm) {
      int rank = comm->rank();
      auto file = OpenFile::Open(std::move(comm), read_write(), settings(rank == failing ? dir_.path() : path_), false);
      EXPECT_EQ(file.status().kind(), ErrorKind::kBadFile) << "rank " << rank;
    });
    EXPECT_TRUE(shared_dir_.empty());
  }
}

TEST_P(OpenTest, AccessFollowsTheMode) {
  content("0123456789");
  with_file(reading(), [](OpenFile& file) {
    EXPECT_EQ(read(file, PointerKind::kExplicit, 2, 3), "234");
    EXPECT_EQ(write(file, PointerKind::kExplicit, 0, "x").kind(), ErrorKind::kReadOnly);
    EXPECT_EQ(write(file, PointerKind::kOrdered, 0, "x").kind(), ErrorKind::kReadOnly);
    EXPECT_EQ(file.set_size(5).kind(), ErrorKind::kReadOnly);
    EXPECT_EQ(file.preallocate(50).kind(), ErrorKind::kReadOnly);
    EXPECT_TRUE(file.sync().ok());
    EXPECT_TRUE(file.seek(1, Whence::kSet).ok());
  });
  with_file(writing(), [](OpenFile& file) {
    EXPECT_EQ(read(file, PointerKind::kExplicit, 0, 1), "<access denied>");
    EXPECT_EQ(read(file, PointerKind::kOrdered, 0, 1), "<access denied>");
    EXPECT_TRUE(write(file, PointerKind::kExplicit, 3, "x").ok());
    EXPECT_TRUE(file.seek(1, Whence::kSet).ok());
  });
  EXPECT_EQ(content(), "012x456789");
}

TEST_P(OpenTest, AppendStartsAtTheEnd) {
  content("0123456789");
  AccessMode mode = read_write();
  mode.append = true;
  with_file(mode, [&](OpenFile& file) {
    EXPECT_EQ(*file.position(), 10);
    EXPECT_EQ(*file.shared_position(), 10);
    file.comm().barrier();
    EXPECT_TRUE(write(file, PointerKind::kOrdered, 0, std::to_string(file.comm().rank())).ok());
  });
  EXPECT_EQ(content(), std::string("01234567890123").substr(0, static_cast<size_t>(10 + ranks())));
}

TEST_P(OpenTest, DeleteOnCloseFindsTheFileAfterAChangeOfDirectory) {
  char* before = ::getcwd(nullptr, 0);
  ASSERT_EQ(::chdir(dir_.path().c_str()), 0);
  AccessMode mode = creating();
  mode.delete_on_close = true;
  run_ranks(ranks(), [&](std::unique_ptr<Comm> comm) {
    auto file = OpenFile::Open(std::move(comm), mode, settings("data"), false);
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(::access(path_.c_str(), F_OK), 0);
    (*file)->comm().barrier();
    if ((*file)->comm().rank() == 0) {
      EXPECT_EQ(::chdir("/"), 0);
    }
    (*file)->comm().barrier();
    EXPECT_TRUE((*file)->close().ok());
    EXPECT_NE(::access(path_.c_str(), F_OK), 0);
  });
  EXPECT_EQ(::chdir(before), 0);
  std::free(before);
}

TEST_P(OpenTest, DeleteOnCloseOfAFileThatHasGoneFailsOnAllRanks) {
  AccessMode mode = creating();
  mode.delete_on_close = true;
  run_ranks(ranks(), [&](std::unique_ptr<Comm> comm) {
    auto file = OpenFile::Open(std::move(comm), mode, settings(path_), false);
    ASSERT_TRUE(file.ok());
    (*file)->comm().barrier();
    if ((*file)->comm().rank() == 0) {
      EXPECT_TRUE(delete_file(path_).ok());
    }
    EXPECT_EQ((*file)->close().kind(), ErrorKind::kNoSuchFile);
  });
  EXPECT_EQ(delete_file(path_).kind(), ErrorKind::kNoSuchFile);
}

TEST_P(OpenSeveralTest, WithoutSharedMemoryTheRestWorks) {
  ::testing::internal::CaptureStderr();
  run_ranks(ranks(), [&](std::unique_ptr<Comm> comm) {
    FileSettings without = settings(path_);
    without.shared_dir = dir_.file("missing");
    auto opened = OpenFile::Open(std::move(comm), creating(), without, false);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    OpenFile& file = **opened;
    int rank = file.comm().rank();
    EXPECT_EQ(write(file, PointerKind::kShared, 0, "x").kind(), ErrorKind::kUnsupportedOperation);
    EXPECT_EQ(write(file, PointerKind::kOrdered, 0, "x").kind(), ErrorKind::kUnsupportedOperation);
    EXPECT_EQ(read(file, PointerKind::kShared, 0, 1), "<unsupported operation>");
    EXPECT_EQ(file.seek_shared(0, Whence::kSet).kind(), ErrorKind::kUnsupportedOperation);
    EXPECT_EQ(file.shared_position().status().kind(), ErrorKind::kUnsupportedOperation);
    EXPECT_EQ(file.set_atomicity(true).kind(), ErrorKind::kUnsupportedOperation);
    EXPECT_FALSE(file.atomicity());
    EXPECT_TRUE(file.set_atomicity(false).ok());
    EXPECT_TRUE(write(file, PointerKind::kExplicit, rank, std::to_string(rank)).ok());
    EXPECT_TRUE(file.seek(rank, Whence::kSet).ok());
    EXPECT_EQ(read(file, PointerKind::kIndividual, 0, 1), std::to_string(rank));
    EXPECT_TRUE(file.close().ok());
  });
  std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_NE(text.find("suiro: warning: "), std::string::npos) << text;
  EXPECT_NE(text.find(path_), std::string::npos) << text;
  EXPECT_EQ(content(), std::string("0123").substr(0, static_cast<size_t>(ranks())));
}

TEST_P(OpenSeveralTest, WithoutSharedMemoryNothingOpensIfTheUserWantsThat) {
  run_ranks(ranks(), [&](std::unique_ptr<Comm> comm) {
    FileSettings without = settings(path_);
    without.shared_dir = dir_.file("missing");
    without.on_error = OnError::kFail;
    auto file = OpenFile::Open(std::move(comm), creating(), without, false);
    EXPECT_EQ(file.status().kind(), ErrorKind::kOther);
  });
}

TEST_P(OpenSeveralTest, RanksOnSeveralNodesShareNothing) {
  // A rank that cannot attach stands for one on another node: then no rank uses the shared memory.
  test::TempDir elsewhere{"/dev/shm"};
  run_ranks(ranks(), [&](std::unique_ptr<Comm> comm) {
    FileSettings here = settings(path_);
    if (comm->rank() == ranks() - 1) here.shared_dir = elsewhere.path();
    auto file = OpenFile::Open(std::move(comm), creating(), here, false);
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_EQ(write(**file, PointerKind::kShared, 0, "x").kind(), ErrorKind::kUnsupportedOperation);
    EXPECT_EQ((*file)->set_atomicity(true).kind(), ErrorKind::kUnsupportedOperation);
    EXPECT_TRUE((*file)->close().ok());
  });
  EXPECT_TRUE(shared_dir_.empty());
  EXPECT_TRUE(elsewhere.empty());
}

TEST_P(OpenTest, SequentialFilesHaveOnlyTheSharedPointer) {
  AccessMode mode = writing();
  mode.create = mode.sequential = true;
  with_file(mode, [&](OpenFile& file) {
    EXPECT_EQ(write(file, PointerKind::kExplicit, 0, "x").kind(), ErrorKind::kUnsupportedOperation);
    EXPECT_EQ(write(file, PointerKind::kIndividual, 0, "x").kind(), ErrorKind::kUnsupportedOperation);
    EXPECT_EQ(file.seek(0, Whence::kSet).kind(), ErrorKind::kUnsupportedOperation);
    EXPECT_EQ(file.position().status().kind(), ErrorKind::kUnsupportedOperation);
    EXPECT_EQ(file.byte_offset(0).status().kind(), ErrorKind::kUnsupportedOperation);
    EXPECT_EQ(file.seek_shared(0, Whence::kSet).kind(), ErrorKind::kUnsupportedOperation);
    EXPECT_EQ(file.shared_position().status().kind(), ErrorKind::kUnsupportedOperation);
    EXPECT_TRUE(write(file, PointerKind::kOrdered, 0, std::to_string(file.comm().rank())).ok());
    file.comm().barrier();
    EXPECT_EQ(*file.sequential_displacement(), ranks());
    file.comm().barrier();
    EXPECT_TRUE(write(file, PointerKind::kShared, 0, "x").ok());
  });
  EXPECT_EQ(content(), std::string("0123").substr(0, static_cast<size_t>(ranks())) +
                           std::string(static_cast<size_t>(ranks()), 'x'));
}

}  // namespace
}  // namespace suiro::file_test
