// Which MPI_File handles are ours. The handle that a program holds is a genuine handle of the host MPI library (an open
// of /dev/null on MPI_COMM_SELF); this table leads from it to our state. Looking up takes no lock, as every data access
// of every file does it, including those that are not ours.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace suiro::mpi {

struct RoutedFile;

class HandleTable {
 public:
  static HandleTable& instance() { return *instance_; }
  /// Once, when the shim starts.
  static void make_instance();

  /// Null when the handle is the host library's; closed() when it was ours and has been closed.
  RoutedFile* find(MPI_File handle) const {
    const Slots* slots = slots_.load(std::memory_order_acquire);
    if (slots == nullptr) return nullptr;  // nothing was ever routed
    uintptr_t key = key_of(handle);
    for (size_t i = hash(key) & slots->mask;; i = (i + 1) & slots->mask) {
      uintptr_t found = slots->slot[i].key.load(std::memory_order_acquire);
      if (found == key) return slots->slot[i].file.load(std::memory_order_acquire);
      if (found == kEmpty) return nullptr;
    }
  }

  /// The handle is ours from now on.
  void insert(MPI_File handle, RoutedFile* file);
  /// The handle was closed: a later use of it is an error that we report, instead of a crash in the host library.
  void mark_closed(MPI_File handle);
  /// The host library has handed out this handle (again): it is no longer ours in any way.
  void forget(MPI_File handle);

  static RoutedFile* closed() { return reinterpret_cast<RoutedFile*>(uintptr_t{1}); }

 private:
  static constexpr uintptr_t kEmpty = 0;
  struct Slot {
    std::atomic<uintptr_t> key{kEmpty};
    std::atomic<RoutedFile*> file{nullptr};
  };
  struct Slots {
    explicit Slots(size_t size) : mask(size - 1), slot(size) {}
    size_t mask;
    size_t used = 0;  // keys ever put in, closed and forgotten ones included
    std::vector<Slot> slot;
  };

  static uintptr_t key_of(MPI_File handle) { return reinterpret_cast<uintptr_t>(handle); }
  static size_t hash(uintptr_t key) { return static_cast<size_t>((key >> 4) * 0x9E3779B97F4A7C15ull >> 20); }
  void put(MPI_File handle, RoutedFile* file);
  Slot* slot_of(Slots& slots, uintptr_t key);
  void grow();

  static HandleTable* instance_;
  std::atomic<Slots*> slots_{nullptr};
  std::mutex writers_;
  std::vector<std::unique_ptr<Slots>> all_;  // older ones stay, as a reader may still be in them; each is half the next
};

}  // namespace suiro::mpi
