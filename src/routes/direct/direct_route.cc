#include "routes/direct/direct_route.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "os/mapped_access.h"
#include "routes/direct/piece_batch.h"

namespace suiro {
namespace {

// Reading a hole costs about as much as copying it; another system call costs about as much as copying this much.
constexpr int64_t kLargestReadGap = 16 << 10;
// Longer pieces are read straight to their place: the call is cheap beside the copy that a window would add.
constexpr int64_t kLongestWindowedPiece = 32 << 10;
// The storage below a window of new pages is allocated whole, so holes of more than a page would waste the disk.
constexpr int64_t kLargestMappedGap = 4 << 10;
constexpr int64_t kMapWindow = 32 << 20;
// A mapping of what is in the file and in the page cache: worth its set-up from this span on, if at least one byte in
// kMapDensity is wanted.
constexpr int64_t kMapSpan = 256 << 10;
constexpr int64_t kMapDensity = 16;
constexpr int kSpansSkipped = 32;
// From this length on, pieces of memory are handed to the kernel in place instead of by way of a packing buffer.
constexpr int64_t kVectoredPiece = 64 << 10;
constexpr int kVectorParts = 256;

/// The address of the data when the first `size` bytes of it lie in memory without a gap.
std::optional<std::byte*> contiguous_memory(const MemoryBytes& data, int64_t size) {
  const Pattern& pattern = data.layout.pattern;
  if (!pattern.is_contiguous() || (size > pattern.size() && data.layout.extent != pattern.size())) return std::nullopt;
  return static_cast<std::byte*>(data.base) + data.layout.origin + pattern.lower();
}

/// The file offset when the whole selection is one piece.
std::optional<int64_t> contiguous_file(const FileBytes& where) {
  if (where.view.is_contiguous()) return where.view.origin + where.view.pattern.lower() + where.begin;
  Cursor cursor(where.view, where.begin, where.begin + where.size);
  Run first;
  if (cursor.next(&first) && first.count == 1 && first.length == where.size) return first.offset;
  return std::nullopt;
}

/// The memory comes in pieces long enough to be handed to the kernel one by one.
bool has_long_pieces(const MemoryBytes& data, int64_t size) {
  if (size < kVectoredPiece) return false;
  Cursor memory(data.layout, 0, size);
  Run first;
  return memory.next(&first) && first.length >= kVectoredPiece;
}

/// Gathers a batch out of its window (`window` being the address of file offset 0), but nothing from file offset `limit`
/// on; returns the data bytes gathered, in order up to the first one missing.
int64_t gather_below(const PieceBatch& batch, const std::byte* window, int64_t limit, std::byte* target) {
  int64_t bytes = 0;
  for (int i = 0; i < batch.count; i++) {
    Run run = batch.runs[static_cast<size_t>(i)];
    int64_t last_end = run.offset + (run.count - 1) * run.stride + run.length;
    if (last_end <= limit) {
      gather_run(run, window, target + bytes);
      bytes += run.bytes();
      continue;
    }
    for (int64_t piece = 0; piece < run.count; piece++) {
      int64_t offset = run.offset + piece * run.stride;
      int64_t below = std::clamp(limit - offset, int64_t{0}, run.length);
      std::memcpy(target + bytes, window + offset, static_cast<size_t>(below));
      bytes += below;
      if (below < run.length) return bytes;
    }
  }
  return bytes;
}

}  // namespace

DirectRoute::DirectRoute(std::unique_ptr<File> file, const FileSystemTraits& traits, const DirectOptions& options,
                         OpenFor open)
    : file_(std::move(file)),
      options_(options),
      coherent_cache_(traits.coherent_cache),
      writing_(open.writing),
      map_reads_(open.reading && traits.shared_mapping && options.read_sieve_bytes > 0),
      map_writes_(open.reading && open.writing && traits.shared_mapping && traits.supports_allocate),
      windows_(static_cast<size_t>(options.read_sieve_bytes)),
      stages_(static_cast<size_t>(options.stage_bytes)) {}

Status DirectRoute::write(const FileBytes& where, const MemoryBytes& data) {
  if (where.size == 0) return Status();
  // The most common access by far goes straight to the call.
  if (where.view.is_contiguous())
    if (auto memory = contiguous_memory(data, where.size))
      return file_->pwrite(*memory, where.size, where.view.origin + where.view.pattern.lower() + where.begin);
  return write_scattered(where, data);
}

/// At least one side, the file or the memory, is not in one piece.
Status DirectRoute::write_scattered(const FileBytes& where, const MemoryBytes& data) {
  std::optional<int64_t> offset = contiguous_file(where);
  if (auto memory = contiguous_memory(data, where.size))
    return offset ? file_->pwrite(*memory, where.size, *offset) : write_packed(where, *memory);
  if (offset && has_long_pieces(data, where.size)) return write_vectored(*offset, where.size, data);
  BufferPool::Loan stage = stages_.borrow();
  if (stage.data() == nullptr) return Status(ErrorKind::kNoMemory, "no memory for a packing buffer");
  int64_t stage_bytes = static_cast<int64_t>(stages_.bytes());
  for (int64_t done = 0; done < where.size; done += stage_bytes) {
    int64_t part = std::min(stage_bytes, where.size - done);
    pack(data.layout, data.base, done, part, stage.data());
    SUIRO_RETURN_IF_ERROR(offset ? file_->pwrite(stage.data(), part, *offset + done)
                                 : write_packed(FileBytes{where.view, where.begin + done, part}, stage.data()));
  }
  return Status();
}

/// Hands the pieces of `size` bytes of memory to `move(parts, offset, bytes)`, a few hundred at a time; move tells whether
/// to go on.
template <class Move>
void for_vectors(const MemoryBytes& data, int64_t size, int64_t offset, Move move) {
  std::array<iovec, kVectorParts> parts;
  size_t count = 0;
  int64_t bytes = 0;
  Cursor memory(data.layout, 0, size);
  Run run;
  while (memory.next(&run)) {
    for (int64_t piece = 0; piece < run.count; piece++) {
      void* address = static_cast<std::byte*>(data.base) + run.offset + piece * run.stride;
      parts[count++] = iovec{address, static_cast<size_t>(run.length)};
      bytes += run.length;
      if (count < parts.size()) continue;
      if (!move(std::span<const iovec>(parts.data(), count), offset, bytes)) return;
      offset += bytes;
      bytes = 0;
      count = 0;
    }
  }
  if (count > 0) move(std::span<const iovec>(parts.data(), count), offset, bytes);
}

/// Writes scattered memory to one range of the file without packing it.
Status DirectRoute::write_vectored(int64_t offset, int64_t size, const MemoryBytes& data) {
  Status status;
  for_vectors(data, size, offset, [&](std::span<const iovec> parts, int64_t at, int64_t) {
    status = file_->pwritev(parts, at);
    return status.ok();
  });
  return status;
}

Result<int64_t> DirectRoute::read_vectored(int64_t offset, int64_t size, const MemoryBytes& data) {
  Result<int64_t> done = int64_t{0};
  for_vectors(data, size, offset, [&](std::span<const iovec> parts, int64_t at, int64_t bytes) {
    auto got = file_->preadv(parts, at);
    if (!got.ok()) {
      done = std::move(got);
      return false;
    }
    *done += *got;
    return *got == bytes;
  });
  return done;
}

/// A part of the data of a monotonic view that lies in one window of the file, whatever its nesting.
struct DirectRoute::Span {
  int64_t start = 0;  // in the file: the first byte of data ...
  int64_t end = 0;    // ... and behind the last one
  int64_t begin = 0;  // the same data in the view
  int64_t bytes = 0;
  int64_t length() const { return end - start; }
};

/// The part that begins `done` bytes into the selection; false when its place cannot be told.
bool DirectRoute::next_span(const FileBytes& where, int64_t done, Span* span) {
  span->begin = where.begin + done;
  auto first = where.view.offset_of(span->begin);
  if (!first.ok()) return false;
  span->start = *first;
  int64_t window_end = (span->start / kMapWindow + 1) * kMapWindow;
  int64_t stop = std::min(where.begin + where.size, where.view.data_below(window_end));
  auto last = where.view.offset_of(stop - 1);
  if (!last.ok()) return false;
  span->end = *last + 1;
  span->bytes = stop - span->begin;
  return true;
}

/// Runs copy(address of file offset 0) on a mapping of the span, if that is the fast way: dense enough, on storage that
/// exists, in the page cache, and mapped in large pieces. False: nothing, or an unknown part, is copied.
template <class Copy>
bool DirectRoute::copy_mapped(const Span& span, bool writable, Copy copy) {
  if (span.length() < kMapSpan || span.bytes < span.length() / kMapDensity ||
      !file_->is_dense(span.start, span.length()) || !file_->is_cached(span.start) ||
      !file_->is_cached(span.start + span.length() / 2) || !file_->is_cached(span.end - 1))
    return false;
  // Trying a mapping out costs some page faults: where it was in vain, the next spans are spared them.
  if (spans_to_skip_.load(std::memory_order_relaxed) > 0) {
    spans_to_skip_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  auto mapping = file_->map(span.start, span.length(), writable);
  if (!mapping.ok() || !maps_in_large_pieces(*mapping, span.length(), writable)) {
    spans_to_skip_.store(kSpansSkipped, std::memory_order_relaxed);
    return false;
  }
  return access_mapped(*mapping, [&] { copy(mapping->data() - span.start); });
}

/// Length of the piece that a selection begins with, as a sample of them all.
int64_t DirectRoute::first_piece(const FileBytes& where) {
  Cursor cursor(where.view, where.begin, where.begin + where.size);
  Run run;
  return cursor.next(&run) ? run.length : 0;
}

/// True when copy_mapped() may serve this selection at all.
bool DirectRoute::has_spans(const FileBytes& where) {
  return where.size >= kMapSpan / kMapDensity && where.view.is_monotonic() && where.view.extent > 0;
}

/// Writes contiguous memory to scattered pieces of the file.
Status DirectRoute::write_packed(const FileBytes& where, const std::byte* packed) {
  if (!map_writes_.load(std::memory_order_relaxed) || options_.map_piece_below_bytes == 0 || !has_spans(where))
    return write_pieces(where, packed);
  int64_t done = 0;
  Span span;
  while (done < where.size && next_span(where, done, &span)) {
    const std::byte* source = packed + done;
    bool stored = copy_mapped(span, true, [&](std::byte* file) { unpack(where.view, file, span.begin, span.bytes, source); });
    if (!stored) SUIRO_RETURN_IF_ERROR(write_pieces(FileBytes{where.view, span.begin, span.bytes}, source));
    done += span.bytes;
  }
  return done == where.size ? Status()
                            : write_pieces(FileBytes{where.view, where.begin + done, where.size - done}, packed + done);
}

Status DirectRoute::write_pieces(const FileBytes& where, const std::byte* packed) {
  BatchLimits limits;
  if (map_writes_.load(std::memory_order_relaxed))
    limits = BatchLimits{kMapWindow, kLargestMappedGap, options_.map_piece_below_bytes};
  BatchPlanner planner(where.view, where.begin, where.size, limits);
  PieceBatch batch;
  while (planner.next(&batch)) {
    SUIRO_RETURN_IF_ERROR(write_batch(batch, packed));
    packed += batch.bytes;
  }
  return Status();
}

/// False: the file system cannot do it this way, nothing was written.
Result<bool> DirectRoute::write_mapped(const PieceBatch& batch, const std::byte* packed) {
  // Allocated before it is touched: a full disk is an error here, not a SIGBUS at a store.
  Status allocated = file_->allocate(batch.start, batch.end - batch.start);
  if (allocated.kind() == ErrorKind::kUnsupportedOperation) return false;
  if (!allocated.ok()) return allocated;
  auto mapping = file_->map(batch.start, batch.end - batch.start, true);
  if (!mapping.ok()) return false;
  bool stored = access_mapped(*mapping, [&] {
    const std::byte* source = packed;
    for (int i = 0; i < batch.count; i++) {
      const Run& run = batch.runs[static_cast<size_t>(i)];
      scatter_run(run, mapping->data() - batch.start, source);
      source += run.bytes();
    }
  });
  if (!stored)
    return Status(ErrorKind::kIo, "write at offset " + std::to_string(batch.start) +
                                      ": the file was truncated meanwhile, or its storage failed");
  return true;
}

Status DirectRoute::write_batch(const PieceBatch& batch, const std::byte* packed) {
  // A mapping pays off once it replaces a few calls.
  if (!batch.one_by_one && batch.pieces >= 4 && map_writes_.load(std::memory_order_relaxed)) {
    auto written = write_mapped(batch, packed);
    if (!written.ok()) return written.take_status();
    if (*written) return Status();
    map_writes_.store(false, std::memory_order_relaxed);
  }
  for (int i = 0; i < batch.count; i++) {
    const Run& run = batch.runs[static_cast<size_t>(i)];
    for (int64_t piece = 0; piece < run.count; piece++) {
      SUIRO_RETURN_IF_ERROR(file_->pwrite(packed, run.length, run.offset + piece * run.stride));
      packed += run.length;
    }
  }
  return Status();
}

Result<int64_t> DirectRoute::read(const FileBytes& where, const MemoryBytes& data) {
  if (where.size == 0) return int64_t{0};
  if (where.view.is_contiguous())
    if (auto memory = contiguous_memory(data, where.size))
      return file_->pread(*memory, where.size, where.view.origin + where.view.pattern.lower() + where.begin);
  return read_scattered(where, data);
}

Result<int64_t> DirectRoute::read_scattered(const FileBytes& where, const MemoryBytes& data) {
  std::optional<int64_t> offset = contiguous_file(where);
  if (auto memory = contiguous_memory(data, where.size))
    return offset ? file_->pread(*memory, where.size, *offset) : read_packed(where, *memory);
  if (offset && has_long_pieces(data, where.size)) return read_vectored(*offset, where.size, data);
  BufferPool::Loan stage = stages_.borrow();
  if (stage.data() == nullptr) return Status(ErrorKind::kNoMemory, "no memory for a packing buffer");
  int64_t stage_bytes = static_cast<int64_t>(stages_.bytes());
  int64_t done = 0;
  while (done < where.size) {
    int64_t part = std::min(stage_bytes, where.size - done);
    Result<int64_t> got = offset ? file_->pread(stage.data(), part, *offset + done)
                                 : read_packed(FileBytes{where.view, where.begin + done, part}, stage.data());
    if (!got.ok()) return got;
    unpack(data.layout, data.base, done, *got, stage.data());
    done += *got;
    if (*got < part) break;
  }
  return done;
}

/// Reads scattered pieces of the file to contiguous memory: through a mapping where that is the fast way, else by windows.
Result<int64_t> DirectRoute::read_packed(const FileBytes& where, std::byte* packed) {
  if (!map_reads_ || !has_spans(where) || first_piece(where) >= kLongestWindowedPiece) return read_windowed(where, packed);
  int64_t done = 0;
  Span span;
  while (done < where.size && next_span(where, done, &span)) {
    std::byte* target = packed + done;
    bool loaded = copy_mapped(span, false, [&](std::byte* file) { pack(where.view, file, span.begin, span.bytes, target); });
    if (!loaded) {
      auto got = read_windowed(FileBytes{where.view, span.begin, span.bytes}, target);
      if (!got.ok()) return got;
      if (*got < span.bytes) return done + *got;
    }
    done += span.bytes;
  }
  if (done == where.size) return done;
  auto rest = read_windowed(FileBytes{where.view, where.begin + done, where.size - done}, packed + done);
  if (!rest.ok()) return rest;
  return done + *rest;
}

/// Each piece by a call of its own.
Result<int64_t> DirectRoute::read_pieces(const PieceBatch& batch, std::byte* packed) {
  int64_t got = 0;
  const Run& run = batch.runs[0];
  for (int64_t piece = 0; piece < run.count; piece++) {
    auto read = file_->pread(packed + got, run.length, run.offset + piece * run.stride);
    if (!read.ok()) return read;
    got += *read;
    if (*read < run.length) break;
  }
  return got;
}

Result<int64_t> DirectRoute::read_windowed(const FileBytes& where, std::byte* packed) {
  BatchPlanner planner(where.view, where.begin, where.size,
                       BatchLimits{options_.read_sieve_bytes, kLargestReadGap, kLongestWindowedPiece});
  BufferPool::Loan window = windows_.borrow();
  if (window.data() == nullptr) return Status(ErrorKind::kNoMemory, "no memory for a read buffer");
  int64_t done = 0;
  PieceBatch batch;
  while (planner.next(&batch)) {
    int64_t got = 0;
    if (batch.one_by_one || batch.pieces == 1) {
      auto read = read_pieces(batch, packed + done);
      if (!read.ok()) return read;
      got = *read;
    } else {
      auto read = file_->pread(window.data(), batch.end - batch.start, batch.start);
      if (!read.ok()) return read;
      got = gather_below(batch, window.data() - batch.start, batch.start + *read, packed + done);
    }
    done += got;
    if (got < batch.bytes) break;
  }
  return done;
}

Status DirectRoute::sync() {
  if (writing_) SUIRO_RETURN_IF_ERROR(file_->sync());
  return coherent_cache_ ? Status() : file_->reopen();
}

Status DirectRoute::preallocate(int64_t size) {
  if (size == 0) return Status();
  Status allocated = file_->allocate(0, size);
  if (allocated.kind() != ErrorKind::kUnsupportedOperation) return allocated;
  // No way to reserve: storage beyond the end can still be had by writing it. Holes before the end stay holes, as they
  // cannot be told from data that another rank is just writing.
  auto current = file_->size();
  if (!current.ok()) return current.take_status();
  return *current < size ? fill_with_zeros(*current, size) : Status();
}

Status DirectRoute::fill_with_zeros(int64_t from, int64_t to) {
  std::vector<std::byte> zeros(static_cast<size_t>(std::min<int64_t>(to - from, 1 << 20)));
  while (from < to) {
    int64_t part = std::min<int64_t>(to - from, static_cast<int64_t>(zeros.size()));
    SUIRO_RETURN_IF_ERROR(file_->pwrite(zeros.data(), part, from));
    from += part;
  }
  return Status();
}

}  // namespace suiro
