#include "elf_program.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <sstream>

#include "system.h"

namespace suiro::command {
namespace {

/// Bounds-checked access to the bytes of a 64-bit ELF file.
class Reader {
 public:
  Reader(std::string_view bytes, std::span<const std::string_view> symbols) : bytes_(bytes), symbols_(symbols) {}

  Result<ElfProgram> read() {
    ElfProgram program;
    if (bytes_.size() < SELFMAG || std::memcmp(bytes_.data(), ELFMAG, SELFMAG) != 0) return program;
    program.is_elf = true;
    program.is_64_bit = bytes_.size() > EI_CLASS && bytes_[EI_CLASS] == ELFCLASS64;
    if (!program.is_64_bit) return program;
    auto header = at<Elf64_Ehdr>(0);
    if (!header) return damaged();
    program.is_x86_64 = header->e_machine == EM_X86_64;
    std::optional<Elf64_Phdr> dynamic;
    for (uint64_t i = 0; i < header->e_phnum; ++i) {
      auto segment = at<Elf64_Phdr>(header->e_phoff + i * sizeof(Elf64_Phdr));
      if (!segment) return damaged();
      if (segment->p_type == PT_LOAD) loads_.push_back(*segment);
      if (segment->p_type == PT_DYNAMIC) dynamic = segment;
      if (segment->p_type == PT_INTERP) program.interpreter = string_at(segment->p_offset);
    }
    if (dynamic) read_needed(*dynamic, &program);
    read_symbols(*header, &program);
    return program;
  }

 private:
  static Status damaged() { return Status(ErrorKind::kOther, "not a complete ELF file"); }

  template <class T>
  std::optional<T> at(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  std::string string_at(uint64_t offset) const {
    if (offset >= bytes_.size()) return {};
    std::string_view rest = bytes_.substr(offset);
    size_t end = rest.find('\0');
    return end == std::string_view::npos ? std::string() : std::string(rest.substr(0, end));
  }

  /// File offset of a virtual address; past the end when no segment holds it.
  uint64_t offset_of(uint64_t address) const {
    for (const Elf64_Phdr& load : loads_)
      if (address >= load.p_vaddr && address - load.p_vaddr < load.p_filesz)
        return load.p_offset + (address - load.p_vaddr);
    return bytes_.size();
  }

  void read_needed(const Elf64_Phdr& dynamic, ElfProgram* program) {
    std::vector<uint64_t> names;
    uint64_t strings = bytes_.size();
    for (uint64_t i = 0; i < dynamic.p_filesz / sizeof(Elf64_Dyn); ++i) {
      auto entry = at<Elf64_Dyn>(dynamic.p_offset + i * sizeof(Elf64_Dyn));
      if (!entry || entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_NEEDED) names.push_back(entry->d_un.d_val);
      if (entry->d_tag == DT_STRTAB) strings = offset_of(entry->d_un.d_ptr);
    }
    for (uint64_t name : names) {
      uint64_t offset = 0;
      if (!__builtin_add_overflow(strings, name, &offset)) program->needed.push_back(string_at(offset));
    }
  }

  void read_symbols(const Elf64_Ehdr& header, ElfProgram* program) {
    for (uint64_t i = 0; i < header.e_shnum; ++i) {
      auto section = at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
      if (!section) return;  // stripped of its sections: nothing to find
      if (section->sh_type != SHT_SYMTAB && section->sh_type != SHT_DYNSYM) continue;
      auto names = at<Elf64_Shdr>(header.e_shoff + uint64_t{section->sh_link} * sizeof(Elf64_Shdr));
      if (names) read_symbol_table(*section, *names, program);
    }
  }

  void read_symbol_table(const Elf64_Shdr& table, const Elf64_Shdr& names, ElfProgram* program) {
    for (uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
      auto symbol = at<Elf64_Sym>(table.sh_offset + i * sizeof(Elf64_Sym));
      if (!symbol) return;
      if (symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) continue;
      uint64_t offset = 0;
      if (__builtin_add_overflow(names.sh_offset, uint64_t{symbol->st_name}, &offset)) continue;
      for (std::string_view wanted : symbols_) {
        if (offset >= bytes_.size() || bytes_.compare(offset, wanted.size() + 1, std::string(wanted) + '\0') != 0)
          continue;
        if (std::ranges::find(program->defined, wanted) == program->defined.end())
          program->defined.emplace_back(wanted);
      }
    }
  }

  std::string_view bytes_;
  std::span<const std::string_view> symbols_;
  std::vector<Elf64_Phdr> loads_;
};

}  // namespace

Result<ElfProgram> parse_elf(std::string_view bytes, std::span<const std::string_view> symbols) {
  return Reader(bytes, symbols).read();
}

Result<ElfProgram> read_elf(const std::string& path, std::span<const std::string_view> symbols) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Status::FromErrno(errno, "cannot read " + path);
  struct stat info;
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) {
    ::close(fd);
    return ElfProgram{};
  }
  auto size = static_cast<size_t>(info.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  int why = errno;
  ::close(fd);
  if (data == MAP_FAILED) return Status::FromErrno(why, "cannot read " + path);
  Result<ElfProgram> program = parse_elf(std::string_view(static_cast<const char*>(data), size), symbols);
  ::munmap(data, size);
  return program;
}

std::vector<Library> libraries_of(const std::string& program, const std::string& interpreter) {
  // Lines such as "libmpi.so.40 => /lib/.../libmpi.so.40 (0x...)" or "libx.so => not found".
  Output listed = run_and_read({interpreter, "--list", program}, std::chrono::seconds(10));
  std::vector<Library> libraries;
  std::istringstream lines(listed.text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, arrow, path;
    if (!(words >> name >> arrow >> path) || arrow != "=>") continue;
    libraries.push_back(Library{name, path.starts_with('/') ? path : std::string()});
  }
  return libraries;
}

}  // namespace suiro::command
