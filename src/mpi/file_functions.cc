#include "mpi/file_functions.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/message.h"
#include "mpi/datatype.h"
#include "mpi/errors.h"
#include "mpi/handle_table.h"
#include "mpi/native.h"
#include "rules/rules.h"

namespace suiro::mpi {
namespace {

int answer(RoutedFile& file, const Status& status) { return status.ok() ? MPI_SUCCESS : raise(file.identity, status); }

template <class Value, class Out>
int answer(RoutedFile& file, const Result<Value>& result, Out* out) {
  if (!result.ok()) return raise(file.identity, result.status());
  *out = static_cast<Out>(*result);
  return MPI_SUCCESS;
}

/// Rank 0's decision about an open, sent to all ranks of the program's communicator. For a file that is not ours this
/// one small broadcast is all that Suiro adds.
struct Decision {
  int64_t error_kind = 0;      // ErrorKind
  int64_t routed = 0;
  int64_t prefix_length = 0;   // characters of the file name before the path
  int64_t settings_bytes = 0;  // of the encoded settings that follow when routed
};

struct OpenPlan {
  Decision decision;
  Status error;  // rank 0 knows the text
  FileSettings settings;
};

/// ROMIO_FSTYPE_FORCE asks for one of ROMIO's drivers, as a prefix would, for names that have no prefix.
Result<FileSettings> settings_of(const std::string& name, const Pairs& hints) {
  auto settings = Rules::of_process().resolve(name, hints);
  const char* forced = std::getenv("ROMIO_FSTYPE_FORCE");
  if (!settings.ok() || settings->preset == Preset::kNone || settings->path != name || forced == nullptr || *forced == '\0')
    return settings;
  return Rules::of_process().resolve(std::string(forced) + (std::string_view(forced).ends_with(':') ? "" : ":") + name,
                                     hints);
}

Status decide(const char* filename, MPI_Info info, OpenPlan* plan) {
  auto hints = hints_at_open(info);
  if (!hints.ok()) return hints.take_status();
  auto settings = settings_of(filename, *hints);
  if (!settings.ok()) return settings.take_status();
  auto name_length = static_cast<int64_t>(std::strlen(filename));
  // What the library gets keeps its own prefixes; a forced driver was never part of the name.
  plan->decision.prefix_length = std::max<int64_t>(name_length - static_cast<int64_t>(settings->path.size()), 0);
  plan->decision.routed = settings->preset != Preset::kNone;
  plan->settings = std::move(*settings);
  return Status();
}

/// Collective over the program's communicator.
OpenPlan agree_on_plan(MPI_Comm comm, int rank, int size, const char* filename, MPI_Info info) {
  OpenPlan plan;
  std::string encoded;
  if (rank == 0) {
    plan.error = decide(filename, info, &plan);
    plan.decision.error_kind = static_cast<int64_t>(plan.error.kind());
    if (plan.error.ok() && plan.decision.routed != 0) encoded = encode(plan.settings);
    plan.decision.settings_bytes = static_cast<int64_t>(encoded.size());
  }
  if (size == 1) return plan;
  PMPI_Bcast(&plan.decision, sizeof plan.decision, MPI_BYTE, 0, comm);
  if (plan.decision.error_kind != 0) {
    if (rank != 0)
      plan.error = Status(static_cast<ErrorKind>(plan.decision.error_kind),
                           std::string("rank 0 could not decide how to open ") + filename);
    return plan;
  }
  if (plan.decision.settings_bytes == 0) return plan;
  encoded.resize(static_cast<size_t>(plan.decision.settings_bytes));
  PMPI_Bcast(encoded.data(), static_cast<int>(encoded.size()), MPI_BYTE, 0, comm);
  if (rank != 0) {
    auto decoded = decode(encoded);
    if (decoded.ok()) {
      plan.settings = std::move(*decoded);
      // Each rank opens the name it was given: relative names may be spelled differently on different ranks.
      std::string_view own = filename;
      auto prefix = static_cast<size_t>(plan.decision.prefix_length);
      plan.settings.path = own.size() > prefix ? own.substr(prefix) : own;
    } else {
      plan.error = decoded.take_status();  // agreed upon in open_routed
    }
  }
  return plan;
}

Result<AccessMode> access_mode(int amode) {
  AccessMode mode;
  int access = amode & (MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR);
  mode.read = access == MPI_MODE_RDONLY || access == MPI_MODE_RDWR;
  mode.write = access == MPI_MODE_WRONLY || access == MPI_MODE_RDWR;
  mode.create = (amode & MPI_MODE_CREATE) != 0;
  mode.exclusive = (amode & MPI_MODE_EXCL) != 0;
  mode.append = (amode & MPI_MODE_APPEND) != 0;
  mode.delete_on_close = (amode & MPI_MODE_DELETE_ON_CLOSE) != 0;
  mode.sequential = (amode & MPI_MODE_SEQUENTIAL) != 0;
  mode.unique_open = (amode & MPI_MODE_UNIQUE_OPEN) != 0;
  return mode;
}

/// Collective. Opens on all ranks or on none.
Result<std::unique_ptr<RoutedFile>> open_routed(MPI_Comm users, OpenPlan& plan, int amode, MPI_Info info) {
  auto comm = MpiComm::From(users);
  if (!comm.ok()) return comm.take_status();
  auto file = std::make_unique<RoutedFile>();
  file->comm = (*comm)->handle();
  file->amode = amode;

  Status local = plan.error;
  if (auto hints = hints_at_open(info); hints.ok()) file->hints = std::move(*hints);
  auto identity = open_identity();
  if (identity.ok()) file->identity = *identity;
  else if (local.ok()) local = identity.take_status();
  SUIRO_RETURN_IF_ERROR((*comm)->agree(std::move(local)));

  int thread_level = MPI_THREAD_MULTIPLE;
  PMPI_Query_thread(&thread_level);
  auto opened = OpenFile::Open(std::move(*comm), *access_mode(amode), plan.settings, thread_level == MPI_THREAD_MULTIPLE);
  if (!opened.ok()) return opened.take_status();
  file->file = std::move(*opened);
  return file;
}

MPI_Datatype keep_type(MPI_Datatype type) {
  if (is_predefined(type)) return type;
  MPI_Datatype copy = MPI_DATATYPE_NULL;
  PMPI_Type_dup(type, &copy);
  return copy;
}

/// What MPI-4.0 section 14.1.1 asks of etype and filetype.
Status check_view_type(const TypeLayout& layout, const char* which, bool writable) {
  const Pattern& pattern = layout.tiles.pattern;
  if (pattern.size() > 0 && pattern.lower() < 0)
    return Status(ErrorKind::kIo, std::string("set_view: the ") + which + " has a negative displacement");
  if (!pattern.starts_ascend())
    return Status(ErrorKind::kIo, std::string("set_view: the displacements of the ") + which + " decrease");
  if (writable && !pattern.is_free_of_overlap())
    return Status(ErrorKind::kIo, std::string("set_view: the ") + which + " selects bytes twice, and the file is writable");
  return Status();
}

}  // namespace

RoutedFile::~RoutedFile() {
  free_type(view.etype);
  free_type(view.filetype);
  if (identity == MPI_FILE_NULL) return;
  NativeSection section;
  native().MPI_File_close(&identity);
}

void free_type(MPI_Datatype type) {
  if (type != MPI_DATATYPE_NULL && !is_predefined(type)) PMPI_Type_free(&type);
}

int file_open(MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* handle) {
  int is_inter = 0;
  // What the host library must reject itself (no communicator, an intercommunicator, no name) and its own inner calls.
  if (NativeSection::active() || comm == MPI_COMM_NULL || filename == nullptr || handle == nullptr ||
      PMPI_Comm_test_inter(comm, &is_inter) != MPI_SUCCESS || is_inter != 0)
    return native().MPI_File_open(comm, filename, amode, info, handle);
  int rank = 0;
  int size = 1;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  OpenPlan plan = agree_on_plan(comm, rank, size, filename, info);
  if (plan.decision.error_kind != 0) {
    *handle = MPI_FILE_NULL;
    return raise_without_file(plan.error);
  }
  if (plan.decision.routed == 0) {
    NativeSection section;
    int code = native().MPI_File_open(comm, filename + plan.decision.prefix_length, amode, info, handle);
    if (code == MPI_SUCCESS) HandleTable::instance().forget(*handle);
    return code;
  }
  auto opened = open_routed(comm, plan, amode, info);
  if (!opened.ok()) {
    *handle = MPI_FILE_NULL;
    return raise_without_file(opened.status());
  }
  *handle = (*opened)->identity;
  HandleTable::instance().insert(*handle, opened->release());
  return MPI_SUCCESS;
}

int file_close(MPI_File* handle) {
  RoutedFile* file = handle == nullptr ? nullptr : HandleTable::instance().find(*handle);
  if (file == nullptr) return native().MPI_File_close(handle);
  if (file == HandleTable::closed()) {
    log_error("MPI_File_close: the file is closed already");
    return MPI_ERR_FILE;
  }
  Status closed = file->file->close();
  int code = answer(*file, closed);
  HandleTable::instance().mark_closed(*handle);  // before the host library can hand the handle out again
  delete file;
  *handle = MPI_FILE_NULL;
  return code;
}

int file_delete(const char* filename, MPI_Info info) {
  if (NativeSection::active() || filename == nullptr) return native().MPI_File_delete(filename, info);
  OpenPlan plan;
  Status status = decide(filename, info, &plan);
  if (!status.ok()) return raise_without_file(status);
  if (plan.decision.routed == 0) {
    NativeSection section;
    return native().MPI_File_delete(filename + plan.decision.prefix_length, info);
  }
  status = delete_file(plan.settings.path);
  return status.ok() ? MPI_SUCCESS : raise_without_file(status);
}

int set_size(RoutedFile& file, MPI_Offset size) { return answer(file, file.file->set_size(size)); }
int preallocate(RoutedFile& file, MPI_Offset size) { return answer(file, file.file->preallocate(size)); }
int get_size(RoutedFile& file, MPI_Offset* size) { return answer(file, file.file->size(), size); }

int get_group(RoutedFile& file, MPI_Group* group) { return PMPI_Comm_group(file.comm, group); }

int get_amode(RoutedFile& file, int* amode) {
  *amode = file.amode;
  return MPI_SUCCESS;
}

int set_info(RoutedFile& file, MPI_Info info) {
  auto given = pairs_of(info);
  if (!given.ok()) return raise(file.identity, given.status());
  const Pairs in_force = hints_in_force(file.file->settings());
  std::lock_guard lock(file.mutex);
  for (const auto& [key, value] : *given) {
    if (!key.starts_with("suiro_")) {
      set_pair(&file.hints, key, value);
      continue;
    }
    // Our settings are decided at open and stay. Programs hand back what get_info gave them: that is no request.
    bool unchanged = std::ranges::find(in_force, std::pair(key, value)) != in_force.end();
    if (!unchanged) log_warning("hint " + key + " has no effect after MPI_File_open (" + file.file->path() + ")");
  }
  return MPI_SUCCESS;
}

int get_info(RoutedFile& file, MPI_Info* info) {
  Pairs in_force;
  {
    std::lock_guard lock(file.mutex);
    for (const auto& [key, value] : file.hints)
      if (!key.starts_with("suiro_")) set_pair(&in_force, key, value);
  }
  for (const auto& [key, value] : hints_in_force(file.file->settings())) set_pair(&in_force, key, value);
  return answer(file, info_of(in_force), info);
}

int set_view(RoutedFile& file, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype, const char* datarep,
             MPI_Info info) {
  auto make = [&]() -> Result<ViewArguments> {
    ViewArguments arguments;
    arguments.datarep = datarep == nullptr ? "" : datarep;
    const Representation* representation = find_representation(arguments.datarep);
    if (representation == nullptr)
      return Status(ErrorKind::kUnsupportedDatarep,
                    "set_view " + file.file->path() + ": no data representation is named '" + arguments.datarep + "'");
    if (file.file->mode().sequential) {
      if (displacement != MPI_DISPLACEMENT_CURRENT)
        return Status(ErrorKind::kArgument, "set_view " + file.file->path() +
                                                ": with MPI_MODE_SEQUENTIAL the displacement must be MPI_DISPLACEMENT_CURRENT");
      auto byte = file.file->sequential_displacement();
      if (!byte.ok()) return byte.take_status();
      displacement = *byte;
    }
    if (displacement < 0)
      return Status(ErrorKind::kArgument, "set_view " + file.file->path() + ": negative displacement");
    auto etype_layout = layout_of(etype, file.comm);
    if (!etype_layout.ok()) return etype_layout.take_status();
    auto filetype_layout = layout_of(filetype, file.comm);
    if (!filetype_layout.ok()) return filetype_layout.take_status();
    SUIRO_RETURN_IF_ERROR(check_view_type(**etype_layout, "etype", file.file->mode().write));
    SUIRO_RETURN_IF_ERROR(check_view_type(**filetype_layout, "filetype", file.file->mode().write));

    View view;
    if (representation->is_native()) {
      view.etype_bytes = (*etype_layout)->size;
      view.file = (*filetype_layout)->tiles;
    } else {
      BasicBytes bytes = [representation](MPI_Datatype basic) { return representation->basic_bytes(basic); };
      auto etype_in_file = layout_in_file(etype, bytes);
      if (!etype_in_file.ok()) return etype_in_file.take_status();
      auto filetype_in_file = layout_in_file(filetype, bytes);
      if (!filetype_in_file.ok()) return filetype_in_file.take_status();
      view.etype_bytes = etype_in_file->size;
      view.file = filetype_in_file->tiles;
    }
    if (view.etype_bytes <= 0) return Status(ErrorKind::kArgument, "set_view: the etype has no data");
    if (view.file.pattern.size() % view.etype_bytes != 0)
      return Status(ErrorKind::kArgument, "set_view: the filetype is not made of whole etypes");
    if (view.file.pattern.size() > 0 && view.file.extent < 0)
      return Status(ErrorKind::kIo, "set_view: the filetype has a negative extent");
    if (file.file->mode().write && view.file.pattern.size() > 0 && view.file.extent == 0)
      return Status(ErrorKind::kIo, "set_view: a filetype of extent 0 selects bytes twice, and the file is writable");
    view.file.origin = displacement;
    SUIRO_RETURN_IF_ERROR(file.file->set_view(std::move(view)));
    file.representation.store(representation, std::memory_order_release);
    arguments.displacement = displacement;
    arguments.etype = keep_type(etype);
    arguments.filetype = keep_type(filetype);
    return arguments;
  };
  auto arguments = make();
  if (!arguments.ok()) return raise(file.identity, arguments.status());
  {
    std::lock_guard lock(file.mutex);
    std::swap(file.view, *arguments);
  }
  free_type(arguments->etype);
  free_type(arguments->filetype);
  return info == MPI_INFO_NULL ? MPI_SUCCESS : set_info(file, info);
}

int get_view(RoutedFile& file, MPI_Offset* displacement, MPI_Datatype* etype, MPI_Datatype* filetype, char* datarep) {
  std::lock_guard lock(file.mutex);
  *displacement = file.view.displacement;
  *etype = keep_type(file.view.etype);
  *filetype = keep_type(file.view.filetype);
  std::memcpy(datarep, file.view.datarep.c_str(), file.view.datarep.size() + 1);
  return MPI_SUCCESS;
}

namespace {
Result<Whence> whence_of(int whence) {
  if (whence == MPI_SEEK_SET) return Whence::kSet;
  if (whence == MPI_SEEK_CUR) return Whence::kCurrent;
  if (whence == MPI_SEEK_END) return Whence::kEnd;
  return Status(ErrorKind::kArgument, "seek: the update mode is none of MPI_SEEK_SET, MPI_SEEK_CUR, MPI_SEEK_END");
}
}  // namespace

int seek(RoutedFile& file, MPI_Offset offset, int whence) {
  auto update = whence_of(whence);
  return answer(file, update.ok() ? file.file->seek(offset, *update) : update.take_status());
}

int get_position(RoutedFile& file, MPI_Offset* offset) { return answer(file, file.file->position(), offset); }

int get_byte_offset(RoutedFile& file, MPI_Offset offset, MPI_Offset* displacement) {
  return answer(file, file.file->byte_offset(offset), displacement);
}

int seek_shared(RoutedFile& file, MPI_Offset offset, int whence) {
  auto update = whence_of(whence);
  // Collective: a rank with a bad argument must take part, or the others would wait for it.
  return answer(file, file.file->seek_shared(offset, update.ok() ? *update : Whence::kSet, update.take_status()));
}

int get_position_shared(RoutedFile& file, MPI_Offset* offset) {
  return answer(file, file.file->shared_position(), offset);
}

int set_atomicity(RoutedFile& file, int flag) { return answer(file, file.file->set_atomicity(flag != 0)); }

int get_atomicity(RoutedFile& file, int* flag) {
  *flag = file.file->atomicity() ? 1 : 0;
  return MPI_SUCCESS;
}

int sync(RoutedFile& file) { return answer(file, file.file->sync()); }

Result<int64_t> type_extent(RoutedFile& file, MPI_Datatype type) {
  auto layout = layout_of(type, file.comm);
  if (!layout.ok()) return layout.take_status();
  const Representation* representation = file.representation.load(std::memory_order_acquire);
  if (representation->is_native()) return (*layout)->extent;
  auto in_file = layout_in_file(type, [&](MPI_Datatype basic) { return representation->basic_bytes(basic); });
  if (!in_file.ok()) return in_file.take_status();
  return in_file->extent;
}

}  // namespace suiro::mpi
