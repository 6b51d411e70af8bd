#include "file/shared_state.h"

#include <mutex>
#include <new>

namespace suiro {

// In shared memory, zeroed at creation. Guarded by pointer_lock; each slot is written epoch last, so that a holder that
// dies in between leaves either the old or the new pointer.
struct SharedState::Layout {
  RobustMutex pointer_lock;
  RobustMutex atomic_lock;
  struct Slot {
    int64_t epoch;
    int64_t position;  // etypes of that epoch's view
  } slots[kSlots];

  Status initialize() {
    SUIRO_RETURN_IF_ERROR(pointer_lock.initialize());
    return atomic_lock.initialize();
  }
};

SharedState::SharedState(std::unique_ptr<SharedRegion> region, Layout* layout)
    : region_(std::move(region)), layout_(layout) {}

SharedState::~SharedState() {
  if (region_ == nullptr) delete layout_;
}

Result<std::unique_ptr<SharedState>> SharedState::Private() {
  auto* layout = new (std::nothrow) Layout();
  if (layout == nullptr) return Status(ErrorKind::kNoMemory, "no memory for the state of an open file");
  std::unique_ptr<SharedState> state(new SharedState(nullptr, layout));
  SUIRO_RETURN_IF_ERROR(layout->initialize());
  return state;
}

Result<std::unique_ptr<SharedState>> SharedState::Create(const std::string& directory, const std::string& name) {
  auto region = SharedRegion::Create(directory, name, sizeof(Layout));
  if (!region.ok()) return region.take_status();
  auto* layout = static_cast<Layout*>((*region)->data());
  if (Status made = layout->initialize(); !made.ok()) {
    (*region)->remove_name();
    return made;
  }
  return std::unique_ptr<SharedState>(new SharedState(std::move(*region), layout));
}

Result<std::unique_ptr<SharedState>> SharedState::Attach(const std::string& directory, const std::string& name) {
  auto region = SharedRegion::Attach(directory, name, sizeof(Layout));
  if (!region.ok()) return region.take_status();
  auto* layout = static_cast<Layout*>((*region)->data());
  return std::unique_ptr<SharedState>(new SharedState(std::move(*region), layout));
}

void SharedState::remove_name() {
  if (region_ != nullptr) region_->remove_name();
}

template <class Change>
Result<int64_t> SharedState::change_pointer(int64_t epoch, Change change) {
  std::lock_guard lock(layout_->pointer_lock);
  Layout::Slot& slot = layout_->slots[epoch % kSlots];
  if (slot.epoch > epoch)
    return Status(ErrorKind::kOther, "another rank is more than " + std::to_string(kSlots) +
                                         " views ahead and uses the shared file pointer; synchronise after set_view");
  int64_t before = slot.epoch == epoch ? slot.position : 0;  // a view starts at 0
  slot.position = change(before);
  slot.epoch = epoch;
  return before;
}

Result<int64_t> SharedState::advance_pointer(int64_t epoch, int64_t etypes) {
  return change_pointer(epoch, [etypes](int64_t before) { return before + etypes; });
}

Status SharedState::set_pointer(int64_t epoch, int64_t position) {
  return change_pointer(epoch, [position](int64_t) { return position; }).take_status();
}

Result<int64_t> SharedState::pointer(int64_t epoch) {
  return change_pointer(epoch, [](int64_t before) { return before; });
}

void SharedState::lock_atomic() { layout_->atomic_lock.lock(); }
void SharedState::unlock_atomic() { layout_->atomic_lock.unlock(); }

}  // namespace suiro
