// Errors as values. A Status says whether an operation worked and, if not, which kind of failure it was, what was
// attempted and on what. No room throws across its interface; src/mpi/errors.cc alone turns an ErrorKind into an MPI
// error class.
#pragma once

#include <cassert>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace suiro {

/// What went wrong, in terms that map one to one on MPI's file error classes (MPI-4.0 section 14.7).
enum class ErrorKind : int {
  kOk = 0,
  kNoSuchFile,
  kFileExists,
  kFileInUse,
  kBadFile,  // not a usable file name: a directory, too long, malformed prefix
  kAccess,
  kReadOnly,
  kNoSpace,
  kQuota,
  kIo,
  kNoMemory,
  kAmode,
  kNotSame,  // ranks passed different values to a collective call
  kArgument,
  kCount,
  kType,
  kInfo,
  kInfoValue,
  kUnsupportedDatarep,
  kUnsupportedOperation,
  kDupDatarep,
  kConversion,
  kOther,
};

/// Result of an operation without a value. Cheap to pass when it is OK (one null pointer).
/// Threads: a Status is an ordinary value; share it between threads only by copying.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(ErrorKind kind, std::string message, int system_errno = 0);

  Status(const Status& other) : detail_(other.detail_ ? std::make_unique<Detail>(*other.detail_) : nullptr) {}
  Status& operator=(const Status& other) {
    if (this != &other) detail_ = other.detail_ ? std::make_unique<Detail>(*other.detail_) : nullptr;
    return *this;
  }
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;

  /// From an errno value: the kind follows from the number; the message is "WHAT: strerror".
  static Status FromErrno(int system_errno, std::string_view what);

  bool ok() const { return detail_ == nullptr; }
  explicit operator bool() const { return ok(); }
  ErrorKind kind() const { return detail_ ? detail_->kind : ErrorKind::kOk; }
  int system_errno() const { return detail_ ? detail_->system_errno : 0; }
  /// What was attempted, on what, and why it failed; empty when ok.
  std::string_view message() const { return detail_ ? std::string_view(detail_->message) : std::string_view(); }

 private:
  struct Detail {
    ErrorKind kind;
    int system_errno;
    std::string message;
  };
  std::unique_ptr<Detail> detail_;
};

/// A short lower-case name of the kind, for messages and tests ("no such file", "no space", ...).
std::string_view kind_name(ErrorKind kind);

/// A value, or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) { assert(!status_.ok()); }  // NOLINT: implicit by design

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status& status() const { return status_; }
  Status take_status() { return std::move(status_); }

  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace suiro

/// Returns from the enclosing function when EXPR (a Status) is not ok. Never use it between entering and leaving a
/// collective phase: there a local failure becomes data (see base/comm.h).
#define SUIRO_RETURN_IF_ERROR(expr)              \
  do {                                           \
    ::suiro::Status suiro_status_ = (expr);      \
    if (!suiro_status_.ok()) return suiro_status_; \
  } while (0)
