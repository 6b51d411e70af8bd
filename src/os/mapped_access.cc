#include "os/mapped_access.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>

namespace suiro::mapped_access_internal {
namespace {

// Initial-exec: the handler must find it without allocating, also in threads that never map a file.
__attribute__((tls_model("initial-exec"))) thread_local std::atomic<Frame*> current_frame{nullptr};

struct sigaction previous_action;

/// Raised by an access to memory, not sent by kill(2) or raise(3).
bool is_fault(const siginfo_t* info) { return info->si_code > 0; }

void pass_on(int signal, siginfo_t* info, void* context) {
  if ((previous_action.sa_flags & SA_SIGINFO) != 0 && previous_action.sa_sigaction != nullptr) {
    previous_action.sa_sigaction(signal, info, context);
  } else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
    previous_action.sa_handler(signal);
  } else if (is_fault(info) || previous_action.sa_handler == SIG_DFL) {
    // The default: restore it and return, so that the access faults again and ends the process as it would have. A
    // signal that was sent does not come again by itself. (An ignored one that was sent is ignored.)
    ::sigaction(SIGBUS, &previous_action, nullptr);
    if (!is_fault(info)) ::raise(signal);
  }
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  Frame* frame = current_frame.load(std::memory_order_relaxed);
  auto* address = static_cast<const std::byte*>(info->si_addr);
  if (is_fault(info) && frame != nullptr && address >= frame->begin && address < frame->end) {
    // Whoever called this handler - the kernel, or a handler of another library around it - may have blocked signals
    // until it returns, which it never does. The kernel's part of a signal set is one word.
    sigset_t mask;
    sigemptyset(&mask);
    std::memcpy(&mask, &static_cast<const ucontext_t*>(context)->uc_sigmask, sizeof(unsigned long));
    ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    siglongjmp(frame->resume, 1);
  }
  pass_on(signal, info, context);
}

void install() {
  struct sigaction action = {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;  // not deferred: the handler is left by a jump
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, &previous_action);
}

}  // namespace

void enter(Frame* frame) {
  static std::once_flag installed;
  std::call_once(installed, install);
  current_frame.store(frame, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace suiro::mapped_access_internal

namespace suiro {

static int64_t minor_faults_of_thread() {
  struct rusage usage;
  return ::getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_minflt : 0;
}

namespace {

constexpr uintptr_t kPage = uintptr_t{4} << 10;

void* page_of(uintptr_t address) {
  return reinterpret_cast<void*>(address / kPage * kPage);  // NOLINT(performance-no-int-to-ptr)
}

/// Faults that it takes to make this range ready for writing, without changing a byte (other processes write theirs).
/// A write fault maps the whole folio it meets, be it small or large.
int64_t faults_of_writing(uintptr_t first, uintptr_t bytes) {
  int64_t faults = minor_faults_of_thread();
  if (::madvise(page_of(first), bytes, MADV_POPULATE_WRITE) != 0) return INT64_MAX;
  return minor_faults_of_thread() - faults;
}

/// Faults that it takes to read in steps of 64 KiB, which is as far as the kernel maps small pages around a fault.
int64_t faults_of_reading(const Mapping& mapping, uintptr_t first, uintptr_t last) {
  constexpr uintptr_t kStep = uintptr_t{64} << 10;
  int64_t faults = minor_faults_of_thread();
  bool touched = access_mapped(mapping, [&] {
    for (uintptr_t at = first; at < last; at += kStep)
      (void)*reinterpret_cast<volatile const std::byte*>(at);  // NOLINT(performance-no-int-to-ptr)
  });
  return touched ? minor_faults_of_thread() - faults : INT64_MAX;
}

}  // namespace

bool maps_in_large_pieces(const Mapping& mapping, int64_t length, bool writable) {
  auto first = reinterpret_cast<uintptr_t>(mapping.data());
  if (writable) {
    constexpr uintptr_t kTried = uintptr_t{128} << 10;
    return length >= static_cast<int64_t>(2 * kTried) && faults_of_writing(first, kTried) <= 3;
  }
  // One huge page is tried out: the one the range begins in, or the next if too little of that one is in the range.
  constexpr uintptr_t kHugePage = uintptr_t{2} << 20;
  constexpr uintptr_t kEnough = uintptr_t{256} << 10;
  uintptr_t end = first + static_cast<uintptr_t>(length);
  uintptr_t boundary = (first / kHugePage + 1) * kHugePage;
  if (boundary - first < kEnough) {
    first = boundary;
    boundary += kHugePage;
  }
  end = std::min(end, boundary);
  // Small pages cost a fault for each 64 KiB; folios of 1 MiB and more a few in all.
  return end >= first + kEnough && faults_of_reading(mapping, first, end) <= 2 + static_cast<int64_t>((end - first) >> 19);
}

}  // namespace suiro
