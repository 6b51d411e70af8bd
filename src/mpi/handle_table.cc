#include "mpi/handle_table.h"

namespace suiro::mpi {

// Never deleted: files may be closed by attribute callbacks inside MPI_Finalize, after static destruction began.
HandleTable* HandleTable::instance_ = nullptr;

void HandleTable::make_instance() {
  if (instance_ == nullptr) instance_ = new HandleTable;
}

HandleTable::Slot* HandleTable::slot_of(Slots& slots, uintptr_t key) {
  size_t i = hash(key) & slots.mask;
  while (true) {
    uintptr_t found = slots.slot[i].key.load(std::memory_order_relaxed);
    if (found == key || found == kEmpty) return &slots.slot[i];
    i = (i + 1) & slots.mask;
  }
}

void HandleTable::grow() {
  Slots* old = slots_.load(std::memory_order_relaxed);
  auto bigger = std::make_unique<Slots>(old == nullptr ? 64 : (old->mask + 1) * 2);
  if (old != nullptr) {
    for (Slot& slot : old->slot) {
      RoutedFile* file = slot.file.load(std::memory_order_relaxed);
      if (file == nullptr) continue;  // empty or forgotten
      uintptr_t key = slot.key.load(std::memory_order_relaxed);
      Slot* target = slot_of(*bigger, key);
      target->file.store(file, std::memory_order_relaxed);
      target->key.store(key, std::memory_order_relaxed);
      bigger->used++;
    }
  }
  slots_.store(bigger.get(), std::memory_order_release);
  all_.push_back(std::move(bigger));
}

void HandleTable::put(MPI_File handle, RoutedFile* file) {
  std::lock_guard lock(writers_);
  Slots* slots = slots_.load(std::memory_order_relaxed);
  if (slots == nullptr || slots->used * 2 > slots->mask) {
    grow();
    slots = slots_.load(std::memory_order_relaxed);
  }
  uintptr_t key = key_of(handle);
  Slot* slot = slot_of(*slots, key);
  slot->file.store(file, std::memory_order_release);
  if (slot->key.load(std::memory_order_relaxed) == kEmpty) {
    slots->used++;
    slot->key.store(key, std::memory_order_release);
  }
}

void HandleTable::insert(MPI_File handle, RoutedFile* file) { put(handle, file); }
void HandleTable::mark_closed(MPI_File handle) { put(handle, closed()); }

void HandleTable::forget(MPI_File handle) {
  if (find(handle) != nullptr) put(handle, nullptr);
}

}  // namespace suiro::mpi
