#include "file/open_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/message.h"
#include "os/file.h"
#include "os/file_traits.h"
#include "routes/direct/direct_route.h"

namespace suiro {
namespace {

/// A name that no other open and no other user can know, for the shared memory of one open.
std::array<char, 40> secret_name() {
  unsigned char random[12];
  if (::getrandom(random, sizeof random, 0) != sizeof random) {
    // Only uniqueness is at stake here: the region is created exclusively and belongs to the user.
    static std::atomic<unsigned> counter{0};
    unsigned parts[3] = {static_cast<unsigned>(::getpid()), counter++, static_cast<unsigned>(::time(nullptr))};
    std::memcpy(random, parts, sizeof random);
  }
  std::array<char, 40> name{};
  char* end = name.data() + std::snprintf(name.data(), name.size(), "suiro-");
  for (unsigned char byte : random) end += std::snprintf(end, 3, "%02x", byte);
  return name;
}

/// What rank 0 tells the others in the middle of an open.
struct Announcement {
  int64_t kind = 0;  // ErrorKind of opening the file and making the shared memory
  std::array<char, 40> shared_name{};
};

int64_t amode_bits(const AccessMode& mode) {
  return mode.read | mode.write << 1 | mode.create << 2 | mode.exclusive << 3 | mode.append << 4 |
         mode.delete_on_close << 5 | mode.sequential << 6 | mode.unique_open << 7;
}

}  // namespace

OpenFile::OpenFile(std::unique_ptr<Comm> comm, const AccessMode& mode, const FileSettings& settings, bool threaded)
    : comm_(std::move(comm)), mode_(mode), settings_(settings), threaded_(threaded), view_(std::make_shared<const View>()) {
  // The program may change its directory while the file is open; delete on close and reopening must find it all the same.
  if (char* directory; !settings_.path.starts_with('/') && (directory = ::getcwd(nullptr, 0)) != nullptr) {
    std::string absolute = std::string(directory) + "/" + settings_.path;
    std::free(directory);
    if (absolute.size() < PATH_MAX) settings_.path = std::move(absolute);
  }
}

OpenFile::~OpenFile() = default;

Status OpenFile::open_storage(bool creator) {
  int flags = creator ? mode_.creator_flags() : mode_.follower_flags();
  auto permissions = static_cast<mode_t>(settings_.file_perm);
  auto file = open_posix_file(path(), flags, permissions);
  if (!file.ok() && !creator && mode_.create && file.status().system_errno() == ENOENT)
    file = open_posix_file(path(), flags | O_CREAT, permissions);  // a client that has not heard of the new file yet
  bool readable = true;
  if (!file.ok() && mode_.write && !mode_.read && file.status().kind() == ErrorKind::kAccess) {
    readable = false;
    file = open_posix_file(path(), (flags & ~O_ACCMODE) | O_WRONLY, permissions);
  }
  if (!file.ok()) return file.take_status();

  auto traits = file_system_traits(path());
  if (!traits.ok()) return traits.take_status();
  DirectOptions options;
  options.read_sieve_bytes = settings_.read_sieve_bytes;
  options.stage_bytes = settings_.stage_bytes;
  switch (settings_.strided_write) {
    case StridedWrite::kAuto:
      options.map_piece_below_bytes = std::min(settings_.map_piece_below_bytes, traits->map_pieces_below);
      break;
    case StridedWrite::kPwrite: options.map_piece_below_bytes = 0; break;
    case StridedWrite::kMap:
      options.map_piece_below_bytes = INT64_MAX;
      if (creator && !(traits->shared_mapping && traits->supports_allocate))
        log_warning("strided_write=map has no effect on " + path() + ": " + traits->name +
                    " is not known to keep shared mappings coherent");
      break;
  }
  route_ = std::make_unique<DirectRoute>(std::move(*file), *traits, options,
                                         DirectRoute::OpenFor{readable, mode_.write});
  return Status();
}

Result<std::unique_ptr<OpenFile>> OpenFile::Open(std::unique_ptr<Comm> comm, const AccessMode& mode,
                                                 const FileSettings& settings, bool threaded) {
  std::unique_ptr<OpenFile> file(new OpenFile(std::move(comm), mode, settings, threaded));
  Comm& ranks = *file->comm_;
  const bool leader = ranks.rank() == 0;

  SUIRO_RETURN_IF_ERROR(file->same_everywhere(amode_bits(mode), "the access mode"));
  SUIRO_RETURN_IF_ERROR(mode.validate());

  // Rank 0 goes first: it creates the file, so that EXCL has one winner and the others find the file.
  Status local;
  Announcement announcement;
  if (leader) {
    local = file->open_storage(true);
    if (local.ok()) {
      if (ranks.size() > 1) announcement.shared_name = secret_name();
      auto shared = ranks.size() == 1 ? SharedState::Private()
                                      : SharedState::Create(settings.shared_dir, announcement.shared_name.data());
      if (shared.ok()) {
        file->shared_ = std::move(*shared);
        if (mode.append) {
          auto size = file->route_->size();
          local = size.ok() ? file->shared_->set_pointer(0, *size) : size.take_status();
        }
      } else if (settings.on_error == OnError::kFail) {
        local = Status(ErrorKind::kOther, "open " + file->path() + ": " + std::string(shared.status().message()) +
                                              " (on_error=fail)");
      } else {
        announcement.shared_name[0] = '\0';
        log_warning(std::string(shared.status().message()) +
                    "; shared file pointers and atomic mode of " + file->path() + " are not available");
      }
    }
    announcement.kind = static_cast<int64_t>(local.kind());
  }
  ranks.broadcast(&announcement, sizeof announcement, 0);
  if (announcement.kind != 0) {
    if (leader && file->shared_) file->shared_->remove_name();
    if (leader) return local;
    return Status(static_cast<ErrorKind>(announcement.kind), "rank 0 could not open " + file->path());
  }

  bool attached = announcement.shared_name[0] != '\0' || ranks.size() == 1;
  if (!leader) {
    local = file->open_storage(false);
    if (attached) {
      auto shared = SharedState::Attach(settings.shared_dir, announcement.shared_name.data());
      attached = shared.ok();
      if (shared.ok()) file->shared_ = std::move(*shared);
    }
  }
  if (local.ok() && mode.append) {
    auto size = file->route_->size();
    if (size.ok()) file->position_ = *size;
    else local = size.take_status();
  }
  Status agreed = ranks.agree(std::move(local));
  // Ranks that cannot attach are on other nodes: then nobody uses the shared memory.
  int64_t all_attached = attached ? 1 : 0;
  ranks.min(&all_attached, 1);
  if (leader && file->shared_) file->shared_->remove_name();
  if (!agreed.ok()) return agreed;
  if (all_attached == 0) file->shared_.reset();
  if (leader)
    log_info("opened " + file->path() + " preset=" + std::string(preset_name(settings.preset)) +
             " ranks=" + std::to_string(ranks.size()));
  return file;
}

Status OpenFile::close() {
  Status agreed = comm_->agree(route_->close());
  if (!mode_.delete_on_close) return agreed;
  Status removed;
  if (comm_->rank() == 0) removed = delete_file(path());
  removed = comm_->agree(std::move(removed));
  return agreed.ok() ? std::move(removed) : std::move(agreed);
}

Status OpenFile::check_access(bool writing, PointerKind pointer) const {
  if (writing && !mode_.write) return Status(ErrorKind::kReadOnly, "write " + path() + ": it is open for reading only");
  if (!writing && !mode_.read) return Status(ErrorKind::kAccess, "read " + path() + ": it is open for writing only");
  if (mode_.sequential && pointer != PointerKind::kShared && pointer != PointerKind::kOrdered)
    return Status(ErrorKind::kUnsupportedOperation,
                  path() + " is open with MPI_MODE_SEQUENTIAL: only the shared file pointer can be used");
  if (!shared_ && (pointer == PointerKind::kShared || pointer == PointerKind::kOrdered))
    return Status(ErrorKind::kUnsupportedOperation,
                  path() + ": shared file pointers need ranks that share memory; these run on several nodes");
  return Status();
}

/// The data bytes of a view from etype `start` on, checked to lie at representable places.
Result<FileBytes> OpenFile::locate(const View& view, int64_t start, int64_t size) const {
  auto begin = checked_mul(start, view.etype_bytes);
  auto end = begin ? checked_add(*begin, size) : std::nullopt;
  if (start < 0 || !end)
    return Status(ErrorKind::kArgument, path() + ": offset " + std::to_string(start) + " is out of range");
  if (view.contiguous) {
    if (!checked_add(view.file.origin, *end))
      return Status(ErrorKind::kArgument, path() + ": offset " + std::to_string(start) + " is out of range");
  } else if (size > 0) {
    if (view.file.pattern.size() == 0)
      return Status(ErrorKind::kArgument, path() + ": the view selects no bytes, so none can be read or written");
    auto range = view.file.bounds(*begin, *end);
    if (!range.ok()) return Status(ErrorKind::kArgument, path() + ": " + std::string(range.status().message()));
    if (range->offset < 0) return Status(ErrorKind::kArgument, path() + ": the view reaches before the start of the file");
  }
  return FileBytes{view.file, *begin, size};
}

Result<int64_t> OpenFile::ordered_start(int64_t etypes, int64_t epoch) {
  int64_t before = comm_->exclusive_sum(etypes);
  // The last rank knows the total; it moves the pointer once for all.
  struct {
    int64_t kind;
    int64_t base;
  } moved = {0, 0};
  int last = comm_->size() - 1;
  if (comm_->rank() == last) {
    auto base = shared_->advance_pointer(epoch, before + etypes);
    if (base.ok()) moved.base = *base;
    else moved.kind = static_cast<int64_t>(base.status().kind());
  }
  comm_->broadcast(&moved, sizeof moved, last);
  if (moved.kind != 0) return Status(static_cast<ErrorKind>(moved.kind), path() + ": moving the shared file pointer failed");
  return moved.base + before;
}

/// First etype of an access, moving the pointer that it uses.
Result<int64_t> OpenFile::start_of(PointerKind pointer, int64_t offset, int64_t size, const View& view, int64_t epoch) {
  int64_t etypes = size / view.etype_bytes;
  switch (pointer) {
    case PointerKind::kExplicit: return offset;
    case PointerKind::kIndividual: {
      std::lock_guard lock(mutex_);
      int64_t start = position_;
      position_ += etypes;
      return start;
    }
    case PointerKind::kShared: return shared_->advance_pointer(epoch, etypes);
    case PointerKind::kOrdered: return ordered_start(etypes, epoch);
  }
  return Status(ErrorKind::kArgument, "no such file pointer");
}

OpenFile::ViewInUse OpenFile::view_in_use() const {
  if (!threaded_) return {view_.get(), epoch_, nullptr};
  std::lock_guard lock(mutex_);
  return {view_.get(), epoch_, view_};
}

/// What reads and writes do before they move a byte: check, move the pointer, find the bytes.
Result<FileBytes> OpenFile::begin_access(bool writing, PointerKind pointer, int64_t offset, int64_t size,
                                         const ViewInUse& in_use, Status broken) {
  const View& view = *in_use.view;
  if (broken.ok() && size % view.etype_bytes != 0)
    broken = Status(ErrorKind::kIo, std::string(writing ? "write " : "read ") + path() + ": " + std::to_string(size) +
                                        " bytes are not a whole number of etypes of " +
                                        std::to_string(view.etype_bytes) + " bytes");
  if (!broken.ok()) {
    if (pointer == PointerKind::kOrdered) (void)ordered_start(0, in_use.epoch);  // the other ranks wait for this one
    return broken;
  }
  auto start = start_of(pointer, offset, size, view, in_use.epoch);
  if (!start.ok()) return start.take_status();
  return locate(view, *start, size);
}

Status OpenFile::write(PointerKind pointer, int64_t offset, int64_t size, const MemoryBytes& data, Status broken) {
  SUIRO_RETURN_IF_ERROR(check_access(true, pointer));
  const ViewInUse in_use = view_in_use();
  auto where = begin_access(true, pointer, offset, size, in_use, std::move(broken));
  if (!where.ok()) return where.take_status();
  AtomicSection section(atomic_.load(std::memory_order_relaxed) ? shared_.get() : nullptr);
  return route_->write(*where, data);
}

Result<int64_t> OpenFile::read(PointerKind pointer, int64_t offset, int64_t size, const MemoryBytes& data,
                               Status broken) {
  SUIRO_RETURN_IF_ERROR(check_access(false, pointer));
  const ViewInUse in_use = view_in_use();
  auto where = begin_access(false, pointer, offset, size, in_use, std::move(broken));
  if (!where.ok()) return where.take_status();
  AtomicSection section(atomic_.load(std::memory_order_relaxed) ? shared_.get() : nullptr);
  auto got = route_->read(*where, data);
  if (pointer == PointerKind::kIndividual && got.ok() && *got < size) {
    // At the end of the file the pointer stays behind the last etype read, unless another thread has moved it on.
    const int64_t etype_bytes = in_use.view->etype_bytes;
    const int64_t start = where->begin / etype_bytes;
    std::lock_guard lock(mutex_);
    if (position_ == start + size / etype_bytes) position_ = start + *got / etype_bytes;
  }
  return got;
}

Status OpenFile::set_view(View view) {
  if (view.file.origin < 0 || (view.file.pattern.size() > 0 && view.file.origin + view.file.pattern.lower() < 0))
    return Status(ErrorKind::kArgument, path() + ": the view begins before the start of the file");
  // Of all tilings the common one gets a short way: bytes one after the other from the displacement on.
  view.contiguous = view.file.is_contiguous() && view.file.pattern.lower() == 0 && view.file.pattern.size() > 0;
  auto fresh = std::make_shared<const View>(std::move(view));
  std::lock_guard lock(mutex_);
  view_ = std::move(fresh);
  epoch_++;
  position_ = 0;
  return Status();
}

std::shared_ptr<const View> OpenFile::view() const {
  std::lock_guard lock(mutex_);
  return view_;
}

/// The position that a seek leads to. The end of the file is the first etype of the view that lies wholly or partly
/// beyond it.
Result<int64_t> OpenFile::seek_target(int64_t offset, Whence whence, int64_t current) {
  int64_t base = 0;
  if (whence == Whence::kCurrent) base = current;
  if (whence == Whence::kEnd) {
    auto bytes = route_->size();
    if (!bytes.ok()) return bytes;
    auto seen = view();
    if (!seen->file.is_monotonic() || seen->file.extent <= 0)
      return Status(ErrorKind::kUnsupportedOperation, path() + ": the end of the file has no place in this view");
    base = (seen->file.data_below(*bytes) + seen->etype_bytes - 1) / seen->etype_bytes;
  }
  auto target = checked_add(base, offset);
  if (!target || *target < 0)
    return Status(ErrorKind::kArgument, "seek " + path() + ": the new position would be before the start of the view");
  return *target;
}

Status OpenFile::seek(int64_t offset, Whence whence) {
  SUIRO_RETURN_IF_ERROR(check_access(mode_.write, PointerKind::kIndividual));
  int64_t current;
  {
    std::lock_guard lock(mutex_);
    current = position_;
  }
  auto target = seek_target(offset, whence, current);
  if (!target.ok()) return target.take_status();
  std::lock_guard lock(mutex_);
  position_ = *target;
  return Status();
}

Result<int64_t> OpenFile::position() const {
  SUIRO_RETURN_IF_ERROR(check_access(mode_.write, PointerKind::kIndividual));
  std::lock_guard lock(mutex_);
  return position_;
}

/// A sequential file has no positions to ask for or to go to (MPI-4.0 section 14.2.1).
Status OpenFile::refuse_sequential(const char* what) const {
  if (!mode_.sequential) return Status();
  return Status(ErrorKind::kUnsupportedOperation,
                std::string(what) + " " + path() + ": not possible with MPI_MODE_SEQUENTIAL");
}

Result<int64_t> OpenFile::byte_offset(int64_t offset) const {
  SUIRO_RETURN_IF_ERROR(refuse_sequential("get a byte offset of"));
  return place_of(*view(), offset);
}

Result<int64_t> OpenFile::place_of(const View& view, int64_t offset) const {
  auto data = checked_mul(offset, view.etype_bytes);
  if (offset < 0 || !data)
    return Status(ErrorKind::kArgument, path() + ": offset " + std::to_string(offset) + " is out of range");
  if (view.file.pattern.size() == 0) return view.file.origin;
  return view.file.offset_of(*data);
}

Status OpenFile::same_everywhere(int64_t value, const char* what) {
  int64_t both[2] = {value, ~value};  // the complement turns the order round, as the negative does, but never overflows
  comm_->max(both, 2);
  if (both[0] == ~both[1]) return Status();
  return Status(ErrorKind::kNotSame, path() + ": " + what + " is not the same on all ranks");
}

Status OpenFile::seek_shared(int64_t offset, Whence whence, Status broken) {
  SUIRO_RETURN_IF_ERROR(check_access(mode_.write, PointerKind::kShared));  // both are the same on all ranks
  SUIRO_RETURN_IF_ERROR(refuse_sequential("seek in"));
  SUIRO_RETURN_IF_ERROR(comm_->agree(std::move(broken)));
  Status same = same_everywhere(offset, "the offset of seek_shared");
  Status same_whence = same_everywhere(static_cast<int64_t>(whence), "the update mode of seek_shared");
  if (!same.ok()) return same;
  if (!same_whence.ok()) return same_whence;
  // Every rank has arrived, so none uses the pointer while rank 0 moves it; agree() keeps them here until it is moved.
  Status moved;
  if (comm_->rank() == 0) {
    auto current = shared_pointer_now();
    auto target = current.ok() ? seek_target(offset, whence, *current) : std::move(current);
    moved = target.ok() ? shared_->set_pointer(epoch_, *target) : target.take_status();
  }
  return comm_->agree(std::move(moved));
}

Result<int64_t> OpenFile::shared_position() {
  SUIRO_RETURN_IF_ERROR(refuse_sequential("get the position of"));
  return shared_pointer_now();
}

Result<int64_t> OpenFile::sequential_displacement() {
  auto position = shared_pointer_now();
  if (!position.ok()) return position;
  return place_of(*view(), *position);
}

Result<int64_t> OpenFile::shared_pointer_now() {
  SUIRO_RETURN_IF_ERROR(check_access(mode_.write, PointerKind::kShared));
  int64_t epoch;
  {
    std::lock_guard lock(mutex_);
    epoch = epoch_;
  }
  return shared_->pointer(epoch);
}

Status OpenFile::set_size(int64_t size) {
  SUIRO_RETURN_IF_ERROR(same_everywhere(size, "the size"));
  if (!mode_.write) return Status(ErrorKind::kReadOnly, "set the size of " + path() + ": it is open for reading only");
  if (size < 0) return Status(ErrorKind::kArgument, "set the size of " + path() + ": negative size");
  Status done;
  if (comm_->rank() == 0) done = route_->set_size(size);
  return comm_->agree(std::move(done));
}

Status OpenFile::preallocate(int64_t size) {
  SUIRO_RETURN_IF_ERROR(same_everywhere(size, "the size"));
  if (!mode_.write) return Status(ErrorKind::kReadOnly, "preallocate " + path() + ": it is open for reading only");
  if (size < 0) return Status(ErrorKind::kArgument, "preallocate " + path() + ": negative size");
  Status done;
  if (comm_->rank() == 0) done = route_->preallocate(size);
  return comm_->agree(std::move(done));
}

Status OpenFile::set_atomicity(bool atomic) {
  SUIRO_RETURN_IF_ERROR(same_everywhere(atomic ? 1 : 0, "the atomicity"));
  if (atomic && !shared_)
    return Status(ErrorKind::kUnsupportedOperation,
                  path() + ": atomic mode needs ranks that share memory; these run on several nodes");
  atomic_.store(atomic);
  return Status();
}

Result<int64_t> OpenFile::size() { return route_->size(); }

Status OpenFile::sync() { return route_->sync(); }

Status delete_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0) return Status();
  return Status::FromErrno(errno, "delete " + path);
}

}  // namespace suiro
