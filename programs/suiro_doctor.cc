// `suiro doctor`: looks at this machine. Everything it claims about a file system was tried with a file there.
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/message.h"
#include "command.h"
#include "os/file_traits.h"
#include "rules/rules.h"
#include "system.h"

namespace suiro::command {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::seconds kPatience{10};

enum class Level { kOk, kNote, kProblem };

struct Finding {
  Level level;
  std::string area;
  std::string text;
  std::string advice;
};

const char* level_name(Level level) { return level == Level::kOk ? "ok" : level == Level::kNote ? "note" : "problem"; }

std::string mebibytes(uint64_t bytes) { return fmt::format("{} MiB", bytes >> 20); }

class Doctor {
 public:
  std::vector<Finding> findings;

  void ok(std::string area, std::string text) {
    findings.push_back({Level::kOk, std::move(area), std::move(text), ""});
  }
  void note(std::string area, std::string text, std::string advice) {
    findings.push_back({Level::kNote, std::move(area), std::move(text), std::move(advice)});
  }
  void problem(std::string area, std::string text, std::string advice) {
    findings.push_back({Level::kProblem, std::move(area), std::move(text), std::move(advice)});
  }

  void look_at_suiro();
  void look_at_mpi();
  void look_at_launchers();
  void look_at_shared_memory(const std::string& folder);
  void look_at_file_system(const std::string& path);
  void look_at_limits();
  void look_at_preloads();
  void look_at_rules(const Rules& rules);

 private:
  void look_at_mpi_library(const std::string& name, const std::string& path);
  std::string library_folder_;  // of libsuiro.so; empty when it was not found
};

void Doctor::look_at_suiro() {
  Result<std::string> library = find_preload_library();
  if (!library.ok()) {
    problem("suiro", std::string(library.status().message()), "install Suiro as a whole, or build it");
    return;
  }
  library_folder_ = fs::path(*library).parent_path().string();
  Output loaded = run_in_child(
      [&] { return ::dlopen(library->c_str(), RTLD_NOW) != nullptr ? std::string() : std::string(::dlerror()); },
      kPatience);
  if (!loaded.finished) problem("suiro", *library + " crashes or hangs when it is loaded", "reinstall Suiro");
  else if (!loaded.text.empty()) problem("suiro", *library + " cannot be loaded: " + loaded.text, "reinstall Suiro");
  else ok("suiro", *library + " can be loaded");
}

/// The MPI library's own description of itself, or why it has none. Second line: why the shim does not load, or empty.
std::string ask_mpi(const std::string& path, const std::string& shim) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return std::string("cannot be loaded: ") + ::dlerror() + "\n";
  auto version = reinterpret_cast<int (*)(char*, int*)>(::dlsym(library, "MPI_Get_library_version"));
  char text[8192] = "";  // MPI_MAX_LIBRARY_VERSION_STRING of both families is at most that
  int length = 0;
  if (version == nullptr || version(text, &length) != 0) return "does not tell its version\n";
  std::string first(text, ::strcspn(text, "\n"));
  std::replace(first.begin(), first.end(), '\t', ' ');
  void* loaded = shim.empty() ? library : ::dlopen(shim.c_str(), RTLD_NOW | RTLD_LOCAL);
  return first + "\n" + (loaded != nullptr ? "" : ::dlerror());
}

void Doctor::look_at_mpi_library(const std::string& name, const std::string& path) {
  const char* shim_name = name.starts_with("libmpi_abi.so")                                        ? "libsuiro-abi.so"
                          : name.starts_with("libmpich.so.12") || name.starts_with("libmpi.so.12") ? "libsuiro-mpich.so"
                          : name.starts_with("libmpi.so.40")                                       ? "libsuiro-ompi.so"
                                                                                                   : nullptr;
  std::string shim = shim_name != nullptr && !library_folder_.empty() ? library_folder_ + "/suiro/" + shim_name : "";
  bool has_shim = !shim.empty() && ::access(shim.c_str(), R_OK) == 0;
  Output answer = run_in_child([&] { return ask_mpi(path, has_shim ? shim : ""); }, kPatience);
  size_t newline = answer.text.find('\n');
  if (!answer.finished || newline == std::string::npos) {
    note("mpi", name + " (" + path + ") crashes or hangs when it is loaded", "check the MPI installation");
    return;
  }
  std::string about = name + ": " + answer.text.substr(0, newline);
  std::string failure = answer.text.substr(newline + 1);
  if (shim_name == nullptr) note("mpi", about, "Suiro has no shim for it: its programs keep their own MPI-IO");
  else if (!has_shim)
    note("mpi", about,
         std::string(shim_name) +
             " is not installed beside libsuiro.so: its programs keep "
             "their own MPI-IO");
  else if (!failure.empty()) problem("mpi", about + ", but its shim cannot be loaded: " + failure, "reinstall Suiro");
  else ok("mpi", about + ", served by " + shim_name);
}

void Doctor::look_at_mpi() {
  const char* ldconfig = ::access("/sbin/ldconfig", X_OK) == 0 ? "/sbin/ldconfig" : "ldconfig";
  Output cache = run_and_read({ldconfig, "-p"}, kPatience);
  std::istringstream lines(cache.text);
  std::map<std::string, std::string> found;  // real path -> name
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, path;
    words >> name;
    size_t arrow = line.find("=> ");
    bool is_mpi = name.starts_with("libmpi.so") || name.starts_with("libmpich.so") || name.starts_with("libmpi_abi.so");
    if (!is_mpi || arrow == std::string::npos) continue;
    path = line.substr(arrow + 3);
    std::error_code error;
    std::string real = fs::canonical(path, error).string();
    std::string& known = found[error ? path : real];
    if (name.size() > known.size()) known = name;  // "libmpi.so.40" says more than "libmpi.so"
  }
  for (const auto& [path, name] : found) look_at_mpi_library(name, path);
  if (found.empty())
    note("mpi", "the system's loader knows no MPI library",
         "load the module of the MPI that your programs use, or ignore "
         "this if they find theirs in another way");
}

void Doctor::look_at_launchers() {
  std::map<std::string, std::set<std::string>> found;  // real path -> names
  for (const std::string& folder : path_folders()) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      std::string name = entry.path().filename().string();
      if (!name.starts_with("mpiexec") && !name.starts_with("mpirun") && name != "srun") continue;
      std::error_code broken_link;
      fs::path real = fs::canonical(entry.path(), broken_link);
      if (!broken_link && find_program(entry.path().string())) found[real.string()].insert(name);
    }
  }
  for (const auto& [path, names] : found) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    Output version = run_and_read({path, "--version"}, kPatience);
    std::istringstream lines(version.text);
    std::string line, first;
    while (std::getline(lines, line)) {
      line.erase(0, std::min(line.find_first_not_of(" \t"), line.size()));
      if (first.empty()) first = line;
      if (line.starts_with("Version:")) {  // hydra's second line
        first = "Hydra " + line.substr(std::min(line.find_first_not_of(' ', 8), line.size()));
        break;
      }
    }
    ok("launcher", list + ": " + (first.empty() ? path : first));
  }
  if (found.empty()) note("launcher", "no mpiexec, mpirun or srun in the PATH", "load the module of your MPI");
}

/// A file that is gone when this object is.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& folder) : path_(folder + "/.suiro-doctor-XXXXXX") {
    fd_ = ::mkostemp(path_.data(), O_CLOEXEC);
    why_ = errno;
  }
  ~ScratchFile() {
    if (fd_ < 0) return;
    ::close(fd_);
    ::unlink(path_.c_str());
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  int fd() const { return fd_; }
  int why() const { return why_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int fd_ = -1;
  int why_ = 0;
};

void Doctor::look_at_shared_memory(const std::string& folder) {
  std::string area = "shared memory";
  ScratchFile file(folder);
  if (file.fd() < 0) {
    problem(area, fmt::format("{}: no file can be created: {}", folder, std::strerror(file.why())),
            "mount a tmpfs there, or name another directory with SUIRO_SHARED_DIR");
    return;
  }
  struct statvfs info;
  uint64_t free = 0, size = 0;
  if (::fstatvfs(file.fd(), &info) == 0) {
    free = uint64_t{info.f_bavail} * info.f_frsize;
    size = uint64_t{info.f_blocks} * info.f_frsize;
  }
  constexpr size_t kTried = 1 << 20;
  int why = ::posix_fallocate(file.fd(), 0, kTried);
  void* memory = why == 0 ? ::mmap(nullptr, kTried, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0) : MAP_FAILED;
  if (memory == MAP_FAILED) {
    problem(area, fmt::format("{}: 1 MiB cannot be had: {}", folder, std::strerror(why != 0 ? why : errno)),
            "make room, or name another directory with SUIRO_SHARED_DIR");
    return;
  }
  std::memset(memory, 1, kTried);
  ::munmap(memory, kTried);
  std::string text = fmt::format("{}: works, {} free of {}", folder, mebibytes(free), mebibytes(size));
  constexpr uint64_t kScarce = uint64_t{64} << 20;
  if (free < kScarce) note(area, text, "that is little; give it more (containers: --shm-size)");
  else ok(area, text);
}

bool shared_mapping_reaches_file(const ScratchFile& file) {
  constexpr size_t kLength = 8192;
  if (::ftruncate(file.fd(), kLength) != 0) return false;
  auto* memory = static_cast<char*>(::mmap(nullptr, kLength, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0));
  if (memory == MAP_FAILED) return false;
  char read_back = 0;
  memory[4321] = 'a';
  bool reaches = ::pread(file.fd(), &read_back, 1, 4321) == 1 && read_back == 'a';
  const char kWritten = 'b';
  reaches = reaches && ::pwrite(file.fd(), &kWritten, 1, 4322) == 1 && memory[4322] == 'b';
  ::munmap(memory, kLength);
  return reaches;
}

bool writes_directly(const ScratchFile& file) {
  int fd = ::open(file.path().c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
  if (fd < 0) return false;
  constexpr size_t kBlock = 4096;
  void* block = std::aligned_alloc(kBlock, kBlock);
  bool works = block != nullptr && std::memset(block, 0, kBlock) && ::pwrite(fd, block, kBlock, 0) == kBlock;
  std::free(block);
  ::close(fd);
  return works;
}

bool has_birth_time(const ScratchFile& file) {
  struct statx info;
  return ::statx(file.fd(), "", AT_EMPTY_PATH, STATX_BTIME, &info) == 0 && (info.stx_mask & STATX_BTIME) != 0;
}

void Doctor::look_at_file_system(const std::string& path) {
  std::string area = "file system";
  struct stat info;
  std::string folder = path;
  if (::stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode)) folder = fs::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  if (::stat(folder.c_str(), &info) != 0) {
    problem(area, fmt::format("{}: {}", path, std::strerror(errno)), "name an existing file or directory");
    return;
  }
  Result<FileSystemTraits> traits = file_system_traits(folder);
  if (!traits.ok()) {
    problem(area, path + ": " + std::string(traits.status().message()), "");
    return;
  }
  std::string kind = fmt::format("{}: {}, {}{}", path, traits->name, traits->is_local ? "local" : "shared or network",
                                 traits->coherent_cache ? "" : ", clients' caches are not coherent");
  ScratchFile file(folder);
  if (file.fd() < 0) {
    note(area, fmt::format("{}; nothing can be written there: {}", kind, std::strerror(file.why())),
         "fine for reading; programs cannot create files in it");
    return;
  }
  const std::pair<const char*, bool> kTraits[] = {
      {"shared mappings", shared_mapping_reaches_file(file)},
      {"preallocation", ::fallocate(file.fd(), 0, 0, 65536) == 0},
      {"O_DIRECT", writes_directly(file)},
      {"user attributes", ::fsetxattr(file.fd(), "user.suiro.doctor", "1", 1, 0) == 0},
      {"birth time", has_birth_time(file)},
  };
  std::string works, fails;
  for (const auto& [name, has] : kTraits) {
    std::string& list = has ? works : fails;
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  std::string text = kind;
  if (!works.empty()) text += "; works: " + works;
  if (!fails.empty()) text += "; does not: " + fails;
  if (!kTraits[0].second && traits->shared_mapping)
    problem(area, text, "Suiro expects shared mappings to work here: set strided_write = \"pwrite\" for its files");
  else if (!traits->coherent_cache)
    note(area, text, "a write on one node may be read late on another; sync, barrier, sync in the program orders them");
  else ok(area, text);
}

/// The smallest memory limit of this process's control groups, with its name; 0 when there is none.
uint64_t memory_limit() {
  std::ifstream groups("/proc/self/cgroup");
  uint64_t smallest = 0;
  for (std::string line; std::getline(groups, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    bool is_v1_memory = ("," + controllers + ",").find(",memory,") != std::string::npos;
    if (!controllers.empty() && !is_v1_memory) continue;
    fs::path root = is_v1_memory ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
    const char* file = is_v1_memory ? "memory.limit_in_bytes" : "memory.max";
    // A limit of a parent holds too; in a container the path may name groups outside of it.
    for (fs::path group = fs::path(line.substr(second + 1)).relative_path();; group = group.parent_path()) {
      uint64_t limit = 0;
      std::ifstream value(root / group / file);
      constexpr uint64_t kUnlimited = uint64_t{1} << 60;
      if (value >> limit && limit < kUnlimited && (smallest == 0 || limit < smallest)) smallest = limit;
      if (group.empty()) break;
    }
  }
  return smallest;
}

void Doctor::look_at_limits() {
  struct rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    std::string text = limit.rlim_cur == RLIM_INFINITY ? std::string("any number of open files")
                                                       : fmt::format("{} open files per process", limit.rlim_cur);
    // A routed file takes two descriptors in each rank: the file's and that of its MPI handle.
    constexpr rlim_t kScarce = 256;
    if (limit.rlim_cur < kScarce) note("limits", text, "raise it with `ulimit -n` if programs open many files");
    else ok("limits", text);
  }
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    note("limits", fmt::format("files may not grow beyond {}", mebibytes(limit.rlim_cur)),
         "`ulimit -f unlimited` removes the limit");
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    note("limits", fmt::format("address space of a process: {}", mebibytes(limit.rlim_cur)),
         "mappings of large files need address space: `ulimit -v unlimited`, or strided_write = \"pwrite\"");
  uint64_t memory = memory_limit();
  ok("limits", memory == 0 ? std::string("no memory limit of a control group")
                           : fmt::format("memory limit of the control group: {}", mebibytes(memory)));
}

void Doctor::look_at_preloads() {
  const char* list = std::getenv("LD_PRELOAD");
  if (list == nullptr || *list == '\0') {
    ok("preload", "LD_PRELOAD is not set");
    return;
  }
  std::string text(list);
  std::replace(text.begin(), text.end(), ':', ' ');
  std::istringstream words(text);
  for (std::string entry; words >> entry;) {
    if (entry.find('/') != std::string::npos && ::access(entry.c_str(), R_OK) != 0)
      problem("preload", "LD_PRELOAD names " + entry + ", which cannot be read", "remove it from LD_PRELOAD");
    else if (fs::path(entry).filename().string().starts_with("libsuiro.so"))
      ok("preload", "LD_PRELOAD holds Suiro already: " + entry);
    else
      note("preload", "LD_PRELOAD holds " + entry,
           "it stays in front of Suiro; if it redirects MPI_File calls or file "
           "operations itself, try without it");
  }
}

void Doctor::look_at_rules(const Rules& rules) {
  if (rules.disabled())
    note("rules", "SUIRO is off: every file goes to the MPI library's own MPI-IO", "unset SUIRO to change that");
  for (const Problem& found : rules.problems()) {
    if (found.level == MessageLevel::kError) problem("rules", found.text, "until then every MPI_File_open fails");
    else note("rules", found.text, "correct it");
  }
  for (const std::string& file : rules.files_read()) ok("rules", file + " was read");
  if (rules.status().ok() && !rules.disabled())
    ok("rules", fmt::format("a file that no rule names gets the preset {}", preset_name(rules.defaults().preset)));
}

void print(const Doctor& doctor, bool json) {
  long problems = std::ranges::count(doctor.findings, Level::kProblem, &Finding::level);
  if (json) {
    nlohmann::json document = {{"problems", problems}, {"checks", nlohmann::json::array()}};
    for (const Finding& finding : doctor.findings)
      document["checks"].push_back({{"level", level_name(finding.level)},
                                    {"area", finding.area},
                                    {"text", finding.text},
                                    {"advice", finding.advice}});
    fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  for (const Finding& finding : doctor.findings) {
    fmt::print("{:<8} {}: {}\n", level_name(finding.level), finding.area, finding.text);
    if (!finding.advice.empty()) fmt::print("         -> {}\n", finding.advice);
  }
  fmt::print("{}\n", problems == 0   ? std::string("no problem found")
                     : problems == 1 ? std::string("1 problem found")
                                     : fmt::format("{} problems found", problems));
}

}  // namespace

int doctor(const DoctorOptions& options) {
  Rules rules = Rules::Load(Environment::of_process());
  Doctor doctor;
  doctor.look_at_suiro();
  doctor.look_at_mpi();
  doctor.look_at_launchers();
  doctor.look_at_shared_memory(rules.defaults().shared_dir);
  if (options.paths.empty()) doctor.look_at_file_system(".");
  for (const std::string& path : options.paths) doctor.look_at_file_system(path);
  doctor.look_at_limits();
  doctor.look_at_preloads();
  doctor.look_at_rules(rules);
  print(doctor, options.json);
  bool healthy = std::ranges::none_of(doctor.findings, [](const auto& f) { return f.level == Level::kProblem; });
  return healthy ? kExitOk : kExitProblem;
}

}  // namespace suiro::command
