#include "system.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "install_paths.h"

namespace suiro::command {
namespace {

namespace fs = std::filesystem;
constexpr size_t kMaxOutput = size_t{1} << 20;

bool is_program(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

bool is_regular_file(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

/// Reads `fd` until its end or the deadline.
bool read_until(int fd, std::chrono::steady_clock::time_point deadline, std::string* text) {
  char block[4096];
  for (;;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    struct pollfd wait = {fd, POLLIN, 0};
    int ready = ::poll(&wait, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    ssize_t got = ::read(fd, block, sizeof block);
    if (got == 0) return true;
    if (got < 0 && errno != EINTR) return false;
    if (got > 0 && text->size() < kMaxOutput) text->append(block, static_cast<size_t>(got));
  }
}

/// Forks; the child's `body` writes to the descriptor it is given and must not return to us.
Output collect(const std::function<void(int)>& body, std::chrono::milliseconds limit) {
  Output output;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return output;
  pid_t child = ::fork();
  if (child == 0) {
    ::setpgid(0, 0);  // so that what it starts can be ended with it
    body(ends[1]);
    ::_exit(127);
  }
  ::close(ends[1]);
  if (child > 0) {
    bool ended = read_until(ends[0], std::chrono::steady_clock::now() + limit, &output.text);
    if (!ended && ::kill(-child, SIGKILL) != 0) ::kill(child, SIGKILL);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    output.finished = ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  ::close(ends[0]);
  return output;
}

}  // namespace

std::string executable_folder() {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? std::string(".") : self.parent_path().string();
}

Result<std::string> find_preload_library() {
  if (const char* chosen = std::getenv("SUIRO_LIB"); chosen != nullptr && *chosen != '\0') {
    if (!is_regular_file(chosen))
      return Status(ErrorKind::kNoSuchFile, std::string("SUIRO_LIB=") + chosen + " is no file");
    return fs::absolute(chosen).string();
  }
  std::string folder = executable_folder();
  const std::string kFolders[] = {folder + "/" SUIRO_LIBDIR_FROM_BINDIR, folder + "/../lib", folder + "/../lib64",
                                  folder + "/../src/preload"};
  std::string tried;
  for (const std::string& candidate : kFolders) {
    std::string path = candidate + "/libsuiro.so";
    if (is_regular_file(path)) return fs::path(path).lexically_normal().string();
    tried += (tried.empty() ? "" : ", ") + fs::path(candidate).lexically_normal().string();
  }
  return Status(ErrorKind::kNoSuchFile, "libsuiro.so was not found in " + tried + "; set SUIRO_LIB to its path");
}

std::vector<std::string> path_folders() {
  std::vector<std::string> folders;
  const char* text = std::getenv("PATH");
  std::string_view rest = text != nullptr ? text : "/usr/local/bin:/usr/bin:/bin";
  for (;;) {
    size_t colon = rest.find(':');
    std::string_view folder = rest.substr(0, colon);
    folders.emplace_back(folder.empty() ? "." : folder);
    if (colon == std::string_view::npos) return folders;
    rest.remove_prefix(colon + 1);
  }
}

std::optional<std::string> find_program(std::string_view name) {
  if (name.empty()) return std::nullopt;
  if (name.find('/') != std::string_view::npos)
    return is_program(std::string(name)) ? std::optional(std::string(name)) : std::nullopt;
  for (const std::string& folder : path_folders()) {
    std::string path = folder + "/" + std::string(name);
    if (is_program(path)) return path;
  }
  return std::nullopt;
}

Output run_and_read(const std::vector<std::string>& command, std::chrono::milliseconds limit) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  return collect(
      [&](int out) {
        int null = ::open("/dev/null", O_RDONLY);
        ::dup2(null, 0);
        ::dup2(out, 1);
        ::dup2(out, 2);
        ::unsetenv("LD_PRELOAD");
        ::execvp(arguments[0], arguments.data());
      },
      limit);
}

Output run_in_child(const std::function<std::string()>& work, std::chrono::milliseconds limit) {
  return collect(
      [&](int out) {
        int null = ::open("/dev/null", O_RDWR);
        for (int fd = 0; fd <= 2; ++fd) ::dup2(null, fd);
        std::string text = work();
        for (size_t done = 0; done < text.size();) {
          ssize_t put = ::write(out, text.data() + done, text.size() - done);
          if (put <= 0) ::_exit(1);
          done += static_cast<size_t>(put);
        }
        ::_exit(0);
      },
      limit);
}

bool file_contains(const std::string& path, std::string_view bytes) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat info;
  bool found = false;
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
    auto size = static_cast<size_t>(info.st_size);
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data != MAP_FAILED) {
      found = ::memmem(data, size, bytes.data(), bytes.size()) != nullptr;
      ::munmap(data, size);
    }
  }
  ::close(fd);
  return found;
}

}  // namespace suiro::command
