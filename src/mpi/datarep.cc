#include "mpi/datarep.h"

#include <algorithm>
#include <climits>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "access/external32.h"
#include "mpi/basic_types.h"
#include "mpi/datatype.h"

namespace suiro::mpi {
namespace {

class NativeRepresentation final : public Representation {
 public:
  bool is_native() const override { return true; }
  Result<int64_t> basic_bytes(MPI_Datatype type) const override {
    MPI_Count bytes = 0;
    PMPI_Type_size_x(type, &bytes);
    return static_cast<int64_t>(bytes);
  }
  Status to_file(const void* user, MPI_Datatype type, int64_t, void* file, int64_t bytes, MPI_Comm comm) const override {
    auto layout = layout_of(type, comm);
    if (!layout.ok()) return layout.take_status();
    pack((*layout)->tiles, user, 0, bytes, file);
    return Status();
  }
  Result<int64_t> from_file(const void* file, int64_t bytes, void* user, MPI_Datatype type, int64_t,
                            MPI_Comm comm) const override {
    auto layout = layout_of(type, comm);
    if (!layout.ok()) return layout.take_status();
    unpack((*layout)->tiles, user, 0, bytes, file);
    return bytes;
  }
};

/// The basic elements of a datatype in type map order, as nested repetitions: `count` times either one basic element or
/// the sequence of `parts`.
struct Signature {
  int64_t count = 1;
  BasicType basic;
  std::vector<Signature> parts;  // empty: basic
  int64_t native_bytes = 0;      // of all repetitions
  int64_t file_bytes = 0;

  void add_up() {
    int64_t native_once = basic.native_bytes;
    int64_t file_once = basic.external_bytes;
    if (!parts.empty()) {
      native_once = file_once = 0;
      for (const Signature& part : parts) {
        native_once += part.native_bytes;
        file_once += part.file_bytes;
      }
    }
    native_bytes = count * native_once;
    file_bytes = count * file_once;
  }
};

Signature repeat(int64_t count, Signature once) {
  Signature all;
  if (once.count == 1) {
    all = std::move(once);
    all.count = count;
  } else {
    all.count = count;
    all.parts.push_back(std::move(once));
  }
  all.add_up();
  return all;
}

Result<Signature> signature_of(MPI_Datatype type) {
  auto contents = contents_of(type);
  if (!contents.ok()) return contents.take_status();
  if (contents->is_predefined()) {
    auto elements = basic_elements(type);
    if (!elements.ok()) return elements.take_status();
    Signature signature;
    for (BasicType element : *elements) {
      Signature leaf;
      leaf.basic = element;
      leaf.add_up();
      if (elements->size() == 1) return leaf;
      signature.parts.push_back(std::move(leaf));
    }
    signature.add_up();
    return signature;
  }
  if (contents->combiner == MPI_COMBINER_STRUCT) {
    Signature signature;
    for (size_t i = 0; i < contents->children.size(); i++) {
      auto part = signature_of(contents->children[i]);
      if (!part.ok()) return part;
      signature.parts.push_back(repeat(contents->numbers[1 + i], std::move(*part)));
    }
    if (signature.parts.empty()) signature.count = 0;
    signature.add_up();
    return signature;
  }
  // Every other constructor repeats one inner type; how often follows from the sizes.
  MPI_Datatype child = contents->children.at(0);
  auto once = signature_of(child);
  if (!once.ok()) return once;
  MPI_Count all_bytes = 0, once_bytes = 0;
  if (PMPI_Type_size_x(type, &all_bytes) != MPI_SUCCESS || PMPI_Type_size_x(child, &once_bytes) != MPI_SUCCESS)
    return Status(ErrorKind::kType, "the MPI library does not tell the size of a datatype");
  return repeat(once_bytes == 0 ? 0 : all_bytes / once_bytes, std::move(*once));
}

/// Walks a signature over two contiguous buffers, converting basic elements one way or the other.
class Conversion {
 public:
  Conversion(bool to_file, const std::byte* from, std::byte* to, int64_t file_budget)
      : to_file_(to_file), from_(from), to_(to), file_left_(file_budget) {}

  /// Stops quietly when the file bytes run out.
  Status run(const Signature& signature) {
    if (signature.parts.empty()) return elements(signature.basic, signature.count);
    for (int64_t i = 0; i < signature.count && file_left_ > 0; i++)
      for (const Signature& part : signature.parts) SUIRO_RETURN_IF_ERROR(run(part));
    return Status();
  }
  int64_t native_bytes() const { return native_bytes_; }

 private:
  Status elements(BasicType type, int64_t count) {
    count = std::min(count, file_left_ / type.external_bytes);
    if (count == 0) return Status();
    Status done = to_file_ ? to_external32(type, count, from_, to_) : from_external32(type, count, from_, to_);
    if (!done.ok()) return done;
    int64_t native = count * type.native_bytes;
    int64_t file = count * type.external_bytes;
    from_ += to_file_ ? native : file;
    to_ += to_file_ ? file : native;
    native_bytes_ += native;
    file_left_ -= file;
    return Status();
  }
  bool to_file_;
  const std::byte* from_;
  std::byte* to_;
  int64_t file_left_;
  int64_t native_bytes_ = 0;
};

class External32 final : public Representation {
 public:
  Result<int64_t> basic_bytes(MPI_Datatype type) const override {
    auto elements = basic_elements(type);
    if (!elements.ok()) return elements.take_status();
    int64_t bytes = 0;
    for (BasicType element : *elements) bytes += element.external_bytes;
    return bytes;
  }
  Status to_file(const void* user, MPI_Datatype type, int64_t count, void* file, int64_t bytes,
                 MPI_Comm comm) const override {
    auto once = signature_of(type);
    if (!once.ok()) return once.take_status();
    Signature all = repeat(count, std::move(*once));
    std::vector<std::byte> packed(static_cast<size_t>(all.native_bytes));
    SUIRO_RETURN_IF_ERROR(native_representation().to_file(user, type, count, packed.data(), all.native_bytes, comm));
    return Conversion(true, packed.data(), static_cast<std::byte*>(file), bytes).run(all);
  }
  Result<int64_t> from_file(const void* file, int64_t bytes, void* user, MPI_Datatype type, int64_t count,
                            MPI_Comm comm) const override {
    auto once = signature_of(type);
    if (!once.ok()) return once.take_status();
    Signature all = repeat(count, std::move(*once));
    std::vector<std::byte> packed(static_cast<size_t>(all.native_bytes));
    Conversion conversion(false, static_cast<const std::byte*>(file), packed.data(), bytes);
    SUIRO_RETURN_IF_ERROR(conversion.run(all));
    return native_representation().from_file(packed.data(), conversion.native_bytes(), user, type, count, comm);
  }
};

class UserRepresentation final : public Representation {
 public:
  UserRepresentation(std::string name, const UserConversions& functions) : name_(std::move(name)), user_(functions) {}

  Result<int64_t> basic_bytes(MPI_Datatype type) const override {
    MPI_Aint bytes = 0;
    int code = user_.extent(type, &bytes, user_.extra_state);
    if (code != MPI_SUCCESS || bytes <= 0)
      return Status(ErrorKind::kConversion, "the extent function of data representation " + name_ + " failed");
    return static_cast<int64_t>(bytes);
  }

  Status to_file(const void* user, MPI_Datatype type, int64_t count, void* file, int64_t bytes,
                 MPI_Comm comm) const override {
    auto* memory = const_cast<void*>(user);
#if MPI_VERSION >= 4
    if (user_.write_c != nullptr) return checked(user_.write_c(memory, type, count, file, 0, user_.extra_state), "write");
#endif
    if (user_.write == nullptr) return native_representation().to_file(user, type, count, file, bytes, comm);
    return in_parts(type, count, bytes, memory, file, comm, user_.write, "write");
  }

  Result<int64_t> from_file(const void* file, int64_t bytes, void* user, MPI_Datatype type, int64_t count,
                            MPI_Comm comm) const override {
    auto layout = layout_of(type, comm);
    if (!layout.ok()) return layout.take_status();
    auto item = layout_in_file(type, [this](MPI_Datatype basic) { return basic_bytes(basic); });
    if (!item.ok()) return item.take_status();
    int64_t items = item->size == 0 ? 0 : std::min(count, bytes / item->size);  // whole items only
    auto* source = const_cast<void*>(file);
#if MPI_VERSION >= 4
    if (user_.read_c != nullptr) {
      SUIRO_RETURN_IF_ERROR(checked(user_.read_c(user, type, items, source, 0, user_.extra_state), "read"));
      return items * (*layout)->size;
    }
#endif
    if (user_.read == nullptr) return native_representation().from_file(file, bytes, user, type, count, comm);
    SUIRO_RETURN_IF_ERROR(in_parts(type, items, items * item->size, user, source, comm, user_.read, "read"));
    return items * (*layout)->size;
  }

 private:
  Status checked(int code, const char* what) const {
    if (code == MPI_SUCCESS) return Status();
    return Status(ErrorKind::kConversion,
                  std::string("the ") + what + " conversion function of data representation " + name_ + " failed");
  }
  /// The functions of MPI_Register_datarep count in int.
  Status in_parts(MPI_Datatype type, int64_t count, int64_t bytes, void* user, void* file, MPI_Comm comm,
                  MPI_Datarep_conversion_function* convert, const char* what) const {
    auto layout = layout_of(type, comm);
    if (!layout.ok()) return layout.take_status();
    int64_t file_item = count == 0 ? 0 : bytes / count;
    for (int64_t done = 0; done < count;) {
      int64_t part = std::min<int64_t>(count - done, INT_MAX);
      SUIRO_RETURN_IF_ERROR(checked(convert(static_cast<std::byte*>(user) + done * (*layout)->extent, type,
                                            static_cast<int>(part), static_cast<std::byte*>(file) + done * file_item, 0,
                                            user_.extra_state),
                                    what));
      done += part;
    }
    return Status();
  }

  std::string name_;
  UserConversions user_;
};

struct Registry {
  std::mutex mutex;
  NativeRepresentation native;
  External32 external32;
  std::map<std::string, std::unique_ptr<UserRepresentation>, std::less<>> users;
};

Registry& registry() {
  static Registry* made = new Registry;  // open files point into it until the process ends
  return *made;
}

}  // namespace

const Representation& native_representation() { return registry().native; }

const Representation* find_representation(std::string_view name) {
  Registry& known = registry();
  if (name == "native" || name == "internal") return &known.native;
  if (name == "external32") return &known.external32;
  std::lock_guard lock(known.mutex);
  auto found = known.users.find(name);
  return found == known.users.end() ? nullptr : found->second.get();
}

Status register_representation(const char* name, const UserConversions& conversions) {
  std::string key = name == nullptr ? "" : name;
  if (key.empty() || key.size() >= MPI_MAX_DATAREP_STRING)
    return Status(ErrorKind::kArgument, "register_datarep: the name must have 1 to " +
                                            std::to_string(MPI_MAX_DATAREP_STRING - 1) + " characters");
  if (conversions.extent == nullptr)
    return Status(ErrorKind::kArgument, "register_datarep " + key + ": no extent function given");
  if (find_representation(key) != nullptr)
    return Status(ErrorKind::kDupDatarep, "register_datarep: there is a data representation " + key + " already");
  std::lock_guard lock(registry().mutex);
  registry().users.emplace(key, std::make_unique<UserRepresentation>(key, conversions));
  return Status();
}

}  // namespace suiro::mpi
