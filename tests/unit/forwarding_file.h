// A File that passes every call on and counts it: a base for files that behave badly in one respect, and a witness of
// which way the data took.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "os/file.h"

namespace suiro::test {

struct CallCounts {
  std::atomic<int64_t> reads{0}, writes{0}, allocations{0}, mappings{0}, writable_mappings{0}, syncs{0}, reopens{0};
};

class ForwardingFile : public File {
 public:
  ForwardingFile(std::unique_ptr<File> inner, std::shared_ptr<CallCounts> counts)
      : inner_(std::move(inner)), counts_(std::move(counts)) {}

  Result<int64_t> pread(void* data, int64_t size, int64_t offset) override {
    counts_->reads++;
    return inner_->pread(data, size, offset);
  }
  Result<int64_t> preadv(std::span<const iovec> parts, int64_t offset) override {
    counts_->reads++;
    return inner_->preadv(parts, offset);
  }
  Status pwrite(const void* data, int64_t size, int64_t offset) override {
    counts_->writes++;
    return inner_->pwrite(data, size, offset);
  }
  Status pwritev(std::span<const iovec> parts, int64_t offset) override {
    counts_->writes++;
    return inner_->pwritev(parts, offset);
  }
  Status sync() override {
    counts_->syncs++;
    return inner_->sync();
  }
  Result<int64_t> size() override { return inner_->size(); }
  Status truncate(int64_t size) override { return inner_->truncate(size); }
  Status allocate(int64_t offset, int64_t length) override {
    counts_->allocations++;
    return inner_->allocate(offset, length);
  }
  Result<Mapping> map(int64_t offset, int64_t length, bool writable) override {
    counts_->mappings++;
    if (writable) counts_->writable_mappings++;
    return inner_->map(offset, length, writable);
  }
  bool is_cached(int64_t offset) override { return inner_->is_cached(offset); }
  bool is_dense(int64_t offset, int64_t length) override { return inner_->is_dense(offset, length); }
  Status reopen() override {
    counts_->reopens++;
    return inner_->reopen();
  }
  Status close() override { return inner_->close(); }

 protected:
  std::unique_ptr<File> inner_;
  std::shared_ptr<CallCounts> counts_;
};

/// As on a file system without fallocate(2).
class FileWithoutAllocate final : public ForwardingFile {
 public:
  using ForwardingFile::ForwardingFile;
  Status allocate(int64_t, int64_t) override {
    counts_->allocations++;
    return Status(ErrorKind::kUnsupportedOperation, "allocate (not here)");
  }
};

/// As on a file system without mmap(2).
class FileWithoutMappings final : public ForwardingFile {
 public:
  using ForwardingFile::ForwardingFile;
  Result<Mapping> map(int64_t, int64_t, bool) override {
    counts_->mappings++;
    return Status::FromErrno(19, "map (not here)");
  }
};

/// Writes the byte behind each piece as well: the fault that the comparisons have to find.
class FileThatWritesTooMuch final : public ForwardingFile {
 public:
  using ForwardingFile::ForwardingFile;
  Status pwrite(const void* data, int64_t size, int64_t offset) override {
    SUIRO_RETURN_IF_ERROR(ForwardingFile::pwrite(data, size, offset));
    return inner_->pwrite("!", 1, offset + size);
  }
};

/// Reads the first byte of each piece wrongly.
class FileThatReadsWrongly final : public ForwardingFile {
 public:
  using ForwardingFile::ForwardingFile;
  Result<int64_t> pread(void* data, int64_t size, int64_t offset) override {
    auto got = ForwardingFile::pread(data, size, offset);
    if (got.ok() && *got > 0) *static_cast<unsigned char*>(data) ^= 1;
    return got;
  }
};

}  // namespace suiro::test
