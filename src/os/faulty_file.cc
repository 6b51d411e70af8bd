#include "os/faulty_file.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace suiro {
namespace {

class FaultyFile final : public File {
 public:
  FaultyFile(std::unique_ptr<File> inner, std::shared_ptr<FaultPlan> plan)
      : inner_(std::move(inner)), plan_(std::move(plan)) {}

  Result<int64_t> pread(void* data, int64_t size, int64_t offset) override {
    SUIRO_RETURN_IF_ERROR(next_call("read"));
    return inner_->pread(data, size, offset);
  }
  Result<int64_t> preadv(std::span<const iovec> parts, int64_t offset) override {
    SUIRO_RETURN_IF_ERROR(next_call("read"));
    return inner_->preadv(parts, offset);
  }
  Status pwrite(const void* data, int64_t size, int64_t offset) override {
    SUIRO_RETURN_IF_ERROR(next_call("write"));
    int64_t fits = take_room(size);
    SUIRO_RETURN_IF_ERROR(inner_->pwrite(data, fits, offset));
    return fits == size ? Status() : Status::FromErrno(ENOSPC, "write (simulated full disk)");
  }
  Status pwritev(std::span<const iovec> parts, int64_t offset) override {
    for (const iovec& part : parts) {
      SUIRO_RETURN_IF_ERROR(pwrite(part.iov_base, static_cast<int64_t>(part.iov_len), offset));
      offset += static_cast<int64_t>(part.iov_len);
    }
    return Status();
  }
  Status sync() override {
    SUIRO_RETURN_IF_ERROR(next_call("sync"));
    return inner_->sync();
  }
  Result<int64_t> size() override {
    SUIRO_RETURN_IF_ERROR(next_call("size"));
    return inner_->size();
  }
  Status truncate(int64_t size) override {
    SUIRO_RETURN_IF_ERROR(next_call("truncate"));
    return inner_->truncate(size);
  }
  Status allocate(int64_t offset, int64_t length) override {
    SUIRO_RETURN_IF_ERROR(next_call("allocate"));
    if (plan_->room.load() >= 0 && plan_->room.load() < length) return Status::FromErrno(ENOSPC, "allocate (simulated)");
    return inner_->allocate(offset, length);
  }
  Result<Mapping> map(int64_t offset, int64_t length, bool writable) override {
    SUIRO_RETURN_IF_ERROR(next_call("map"));
    return inner_->map(offset, length, writable);
  }
  bool is_cached(int64_t offset) override { return inner_->is_cached(offset); }
  bool is_dense(int64_t offset, int64_t length) override { return inner_->is_dense(offset, length); }
  Status reopen() override {
    SUIRO_RETURN_IF_ERROR(next_call("reopen"));
    return inner_->reopen();
  }
  Status close() override {
    Status fault = next_call("close");
    Status closed = inner_->close();
    return fault.ok() ? std::move(closed) : std::move(fault);
  }

 private:
  Status next_call(const char* what) {
    int64_t number = plan_->calls.fetch_add(1) + 1;
    int64_t fail_at = plan_->fail_at.load();
    bool fails = fail_at > 0 && (number == fail_at || (plan_->sticky.load() && number > fail_at));
    return fails ? Status::FromErrno(plan_->error.load(), std::string(what) + " (simulated)") : Status();
  }
  int64_t take_room(int64_t size) {
    int64_t room = plan_->room.load();
    if (room < 0) return size;
    int64_t fits = std::min(room, size);
    plan_->room.store(room - fits);
    return fits;
  }

  std::unique_ptr<File> inner_;
  std::shared_ptr<FaultPlan> plan_;
};

}  // namespace

std::unique_ptr<File> make_faulty_file(std::unique_ptr<File> inner, std::shared_ptr<FaultPlan> plan) {
  return std::make_unique<FaultyFile>(std::move(inner), std::move(plan));
}

}  // namespace suiro
