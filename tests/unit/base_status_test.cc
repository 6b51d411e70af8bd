// Status and Result: errors as values.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

#include "base/extent.h"
#include "base/status.h"

namespace suiro {
namespace {

TEST(Status, DefaultIsOk) {
  Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_TRUE(static_cast<bool>(status));
  EXPECT_EQ(status.kind(), ErrorKind::kOk);
  EXPECT_EQ(status.system_errno(), 0);
  EXPECT_EQ(status.message(), "");
}

TEST(Status, KeepsKindMessageAndErrnoWhenCopiedAndMoved) {
  Status first(ErrorKind::kQuota, "too much", EDQUOT);
  Status copy(first);
  Status assigned;
  assigned = first;
  for (const Status* status : {&first, &copy, &assigned}) {
    EXPECT_FALSE(status->ok());
    EXPECT_EQ(status->kind(), ErrorKind::kQuota);
    EXPECT_EQ(status->message(), "too much");
    EXPECT_EQ(status->system_errno(), EDQUOT);
  }
  Status& alias = copy;
  copy = alias;
  EXPECT_EQ(copy.message(), "too much");
  Status moved(std::move(first));
  EXPECT_EQ(moved.message(), "too much");
  assigned = Status();
  EXPECT_TRUE(assigned.ok());
}

TEST(Status, ErrnoDecidesTheKind) {
  const std::pair<int, ErrorKind> table[] = {
      {ENOENT, ErrorKind::kNoSuchFile},
      {EEXIST, ErrorKind::kFileExists},
      {EBUSY, ErrorKind::kFileInUse},
      {ETXTBSY, ErrorKind::kFileInUse},
      {ENAMETOOLONG, ErrorKind::kBadFile},
      {EISDIR, ErrorKind::kBadFile},
      {ENOTDIR, ErrorKind::kBadFile},
      {ELOOP, ErrorKind::kBadFile},
      {EACCES, ErrorKind::kAccess},
      {EPERM, ErrorKind::kAccess},
      {EROFS, ErrorKind::kReadOnly},
      {ENOSPC, ErrorKind::kNoSpace},
      {EFBIG, ErrorKind::kNoSpace},
      {EDQUOT, ErrorKind::kQuota},
      {ENOMEM, ErrorKind::kNoMemory},
      {EINVAL, ErrorKind::kArgument},
      {ENOTSUP, ErrorKind::kUnsupportedOperation},
      {EIO, ErrorKind::kIo},
      {ESTALE, ErrorKind::kIo},
  };
  for (const auto& [number, kind] : table) {
    Status status = Status::FromErrno(number, "open /a/b");
    EXPECT_EQ(status.kind(), kind) << number;
    EXPECT_EQ(status.system_errno(), number);
    EXPECT_EQ(status.message(), "open /a/b: " + std::string(std::strerror(number)));
  }
}

TEST(Status, EveryKindHasItsOwnName) {
  std::set<std::string_view> names;
  int kinds = static_cast<int>(ErrorKind::kOther) + 1;
  for (int kind = 0; kind < kinds; kind++) names.insert(kind_name(static_cast<ErrorKind>(kind)));
  EXPECT_EQ(static_cast<int>(names.size()), kinds);
}

Status fail_if(bool fails) {
  SUIRO_RETURN_IF_ERROR(fails ? Status(ErrorKind::kIo, "inner") : Status());
  return Status(ErrorKind::kOther, "went on");
}

TEST(Status, ReturnIfErrorReturnsOnlyErrors) {
  EXPECT_EQ(fail_if(true).message(), "inner");
  EXPECT_EQ(fail_if(false).message(), "went on");
}

TEST(Result, HoldsAValueOrAStatus) {
  Result<std::unique_ptr<int>> good(std::make_unique<int>(7));
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(**good, 7);
  EXPECT_TRUE(good.status().ok());
  std::unique_ptr<int> taken = *std::move(good);
  EXPECT_EQ(*taken, 7);

  Result<std::string> bad(Status(ErrorKind::kCount, "why"));
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().kind(), ErrorKind::kCount);
  EXPECT_EQ(bad.take_status().message(), "why");
}

TEST(CheckedArithmetic, OverflowIsNothing) {
  EXPECT_EQ(checked_add(INT64_MAX - 1, 1), INT64_MAX);
  EXPECT_FALSE(checked_add(INT64_MAX, 1));
  EXPECT_FALSE(checked_add(INT64_MIN, -1));
  EXPECT_EQ(checked_mul(int64_t{1} << 31, int64_t{1} << 31), int64_t{1} << 62);
  EXPECT_FALSE(checked_mul(int64_t{1} << 32, int64_t{1} << 31));
  EXPECT_FALSE(checked_mul(INT64_MIN, -1));
}

}  // namespace
}  // namespace suiro
