// One open file of one rank: its view, its pointers, its consistency rules (MPI-4.0 sections 14.3, 14.4, 14.6). Knows
// bytes and etypes but no MPI; src/mpi translates datatypes, statuses and errors.
//
// "Collective" below means: every rank of the file's group calls it, in the same order, and all return the same kind of
// result. Everything else is local and never waits for a rank that is not in the same call.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "access/tiling.h"
#include "base/comm.h"
#include "base/status.h"
#include "file/access_mode.h"
#include "file/shared_state.h"
#include "routes/route.h"
#include "rules/settings.h"

namespace suiro {

/// Which bytes of the file a rank sees, in the sizes of the file's data representation. Immutable once set.
struct View {
  Tiling file{Pattern::Bytes(1), 0, 1};
  int64_t etype_bytes = 1;
  bool contiguous = true;  // data byte d is file byte origin + d; found out by set_view
};

/// How a data access says where it starts.
enum class PointerKind { kExplicit, kIndividual, kShared, kOrdered };
enum class Whence { kSet, kCurrent, kEnd };

class OpenFile {
 public:
  /// Collective. Opens settings.path on all ranks of `comm`, or on none. `threaded`: several threads may call at once;
  /// false spares their locks.
  static Result<std::unique_ptr<OpenFile>> Open(std::unique_ptr<Comm> comm, const AccessMode& mode,
                                                const FileSettings& settings, bool threaded);
  ~OpenFile();

  /// Collective. The object accepts no other call afterwards, whatever the result.
  Status close();

  const AccessMode& mode() const { return mode_; }
  const FileSettings& settings() const { return settings_; }
  const std::string& path() const { return settings_.path; }
  Comm& comm() { return *comm_; }

  /// Data access of `size` bytes of file data. `offset` is in etypes and counts only for kExplicit. kOrdered is
  /// collective and must be called even by a rank whose arguments are wrong: it passes `broken`, moves nothing and gets
  /// `broken` back. Write: all bytes or an error. Read: bytes read, fewer only at the end of the file.
  /// Errors: kAccess, kReadOnly (wrong mode), kArgument (offset), kIo (not whole etypes, or the storage),
  /// kUnsupportedOperation (pointer not usable here).
  Status write(PointerKind pointer, int64_t offset, int64_t size, const MemoryBytes& data, Status broken = {});
  Result<int64_t> read(PointerKind pointer, int64_t offset, int64_t size, const MemoryBytes& data, Status broken = {});
  /// kOk if a data access of this kind is allowed at all; checked first by read and write.
  Status check_access(bool writing, PointerKind pointer) const;

  /// Local although MPI calls it collective: programs set views very often. Resets both pointers. kArgument when the
  /// view begins before the file does.
  Status set_view(View view);
  std::shared_ptr<const View> view() const;

  Status seek(int64_t offset, Whence whence);
  Result<int64_t> position() const;                        // etypes
  Result<int64_t> byte_offset(int64_t offset) const;       // absolute bytes of a position in etypes; not SEQUENTIAL
  Status seek_shared(int64_t offset, Whence whence, Status broken = {});  // collective; `broken` as in write()
  Result<int64_t> shared_position();
  /// Where the next byte of a file opened SEQUENTIAL is: what MPI_DISPLACEMENT_CURRENT stands for (absolute bytes).
  Result<int64_t> sequential_displacement();

  Status set_size(int64_t size);          // collective
  Status preallocate(int64_t size);       // collective
  Status set_atomicity(bool atomic);      // collective
  bool atomicity() const { return atomic_; }
  Result<int64_t> size();
  /// Local: this rank's writes are on the storage device, and what others synced before is visible.
  Status sync();

 private:
  OpenFile(std::unique_ptr<Comm> comm, const AccessMode& mode, const FileSettings& settings, bool threaded);
  /// The view of one call, and its number. Stays as it is when another thread sets a view meanwhile.
  struct ViewInUse {
    const View* view;
    int64_t epoch;
    std::shared_ptr<const View> hold;  // null unless threaded
  };
  ViewInUse view_in_use() const;
  Result<FileBytes> begin_access(bool writing, PointerKind pointer, int64_t offset, int64_t size,
                                 const ViewInUse& in_use, Status broken);
  Status open_storage(bool creator);
  Result<int64_t> start_of(PointerKind pointer, int64_t offset, int64_t size, const View& view, int64_t epoch);
  Result<int64_t> ordered_start(int64_t etypes, int64_t epoch);
  Result<FileBytes> locate(const View& view, int64_t start, int64_t size) const;
  Status refuse_sequential(const char* what) const;
  Result<int64_t> place_of(const View& view, int64_t offset) const;
  Result<int64_t> shared_pointer_now();
  Result<int64_t> seek_target(int64_t offset, Whence whence, int64_t current);
  Status same_everywhere(int64_t value, const char* what);

  std::unique_ptr<Comm> comm_;
  AccessMode mode_;
  FileSettings settings_;
  std::unique_ptr<Route> route_;
  std::unique_ptr<SharedState> shared_;  // null when the ranks share no memory
  const bool threaded_;

  mutable std::mutex mutex_;  // guards the next three
  std::shared_ptr<const View> view_;
  int64_t epoch_ = 0;      // views set so far
  int64_t position_ = 0;   // individual pointer, etypes

  std::atomic<bool> atomic_{false};
};

/// Removes a file, as MPI_File_delete does. kNoSuchFile, kFileInUse, kAccess.
Status delete_file(const std::string& path);

}  // namespace suiro
