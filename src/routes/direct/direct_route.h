// The direct route: plain positioned reads and writes of the file by the rank itself.
//
// Non-contiguous reads touch neighbours' bytes too, which is harmless: from the page cache through a mapping, else
// through a window that is read whole and gathered from. Non-contiguous writes store exactly their own bytes: long
// pieces by one write each, short ones, where the file system's mappings are coherent, through a shared mapping whose
// storage has been allocated first. There is no read-modify-write and no lock, so ranks never disturb each other.
#pragma once

#include <atomic>
#include <memory>

#include "os/file.h"
#include "os/file_traits.h"
#include "routes/direct/buffer_pool.h"
#include "routes/direct/piece_batch.h"
#include "routes/route.h"

namespace suiro {

struct DirectOptions {
  int64_t read_sieve_bytes = int64_t{256} << 10;  // window of non-contiguous reads; 0: none
  int64_t map_piece_below_bytes = 8 << 10;        // new pages: shorter pieces go through a mapping; 0: no mapping
  int64_t stage_bytes = int64_t{1} << 20;         // packing buffer for non-contiguous memory
};

class DirectRoute final : public Route {
 public:
  /// How the file is open, which decides what can be mapped.
  struct OpenFor {
    bool reading = false;
    bool writing = false;
  };
  /// Takes over `file`. Mappings are used only where the traits allow it.
  DirectRoute(std::unique_ptr<File> file, const FileSystemTraits& traits, const DirectOptions& options, OpenFor open);

  Status write(const FileBytes& where, const MemoryBytes& data) override;
  Result<int64_t> read(const FileBytes& where, const MemoryBytes& data) override;
  Status sync() override;
  Result<int64_t> size() override { return file_->size(); }
  Status set_size(int64_t size) override { return file_->truncate(size); }
  Status preallocate(int64_t size) override;
  Status close() override { return file_->close(); }

 private:
  struct Span;
  [[gnu::noinline]] Status write_scattered(const FileBytes& where, const MemoryBytes& data);
  [[gnu::noinline]] Result<int64_t> read_scattered(const FileBytes& where, const MemoryBytes& data);
  Status write_vectored(int64_t offset, int64_t size, const MemoryBytes& data);
  Result<int64_t> read_vectored(int64_t offset, int64_t size, const MemoryBytes& data);

  static int64_t first_piece(const FileBytes& where);
  static bool has_spans(const FileBytes& where);
  static bool next_span(const FileBytes& where, int64_t done, Span* span);
  template <class Copy>
  bool copy_mapped(const Span& span, bool writable, Copy copy);
  Status write_packed(const FileBytes& where, const std::byte* packed);
  Status write_pieces(const FileBytes& where, const std::byte* packed);
  Status write_batch(const PieceBatch& batch, const std::byte* packed);
  Result<bool> write_mapped(const PieceBatch& batch, const std::byte* packed);
  Result<int64_t> read_packed(const FileBytes& where, std::byte* packed);
  Result<int64_t> read_windowed(const FileBytes& where, std::byte* packed);
  Result<int64_t> read_pieces(const PieceBatch& batch, std::byte* packed);
  Status fill_with_zeros(int64_t from, int64_t to);

  std::unique_ptr<File> file_;
  DirectOptions options_;
  bool coherent_cache_;
  bool writing_;
  bool map_reads_;
  std::atomic<bool> map_writes_;  // turned off when the file system turns out not to allocate or map
  std::atomic<int> spans_to_skip_{0};  // after a mapping that was not worth it
  BufferPool windows_;
  BufferPool stages_;
};

}  // namespace suiro
