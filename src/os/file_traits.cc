#include "os/file_traits.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace suiro {
namespace {

struct Row {
  uint32_t magic;
  const char* name;
  bool is_local;
  bool coherent_cache;
  bool shared_mapping;
  bool supports_allocate;
  int64_t map_pieces_below;
};

// statfs(2) f_type -> traits. Coherence of network file systems as their documentation promises it by default.
constexpr Row kByMagic[] = {
    {0xEF53, "ext4", true, true, true, true, 8 << 10},
    {0x58465342, "xfs", true, true, true, true, 8 << 10},
    {0x9123683E, "btrfs", true, true, true, true, 1024},
    {0x01021994, "tmpfs", true, true, true, true, 1024},
    {0xF2F52010, "f2fs", true, true, true, true, 1024},
    {0x2FC12FC1, "zfs", true, true, true, false, 0},
    {0x858458f6, "ramfs", true, true, true, false, 1024},
    {0x794c7630, "overlay", true, true, true, true, 4096},
    {0x6969, "nfs", false, false, false, false, 0},
    {0x0BD00BD0, "lustre", false, true, false, false, 0},
    {0x47504653, "gpfs", false, true, false, true, 0},
    {0x19830326, "beegfs", false, false, false, false, 0},
    {0x00C36400, "ceph", false, true, false, false, 0},
    {0x20030528, "pvfs2", false, true, false, false, 0},
    {0xAAD7AAEA, "panfs", false, true, false, false, 0},
    {0x01021997, "9p", false, false, false, false, 0},
    {0xFF534D42, "cifs", false, false, false, false, 0},
    {0xFE534D42, "smb2", false, false, false, false, 0},
};

// FUSE programs by the type in /proc/self/mountinfo. MooseFS invalidates its clients' caches on change; GlusterFS and
// the others keep pages by time-out.
constexpr Row kByFuseType[] = {
    {0, "fuse.mfs", false, true, false, false, 0},
    {0, "fuse.glusterfs", false, false, false, false, 0},
    {0, "fuse.ceph-fuse", false, true, false, false, 0},
};
constexpr uint32_t kFuseMagic = 0x65735546;

FileSystemTraits traits_from(const Row& row, const std::string& name) {
  FileSystemTraits traits;
  traits.name = name;
  traits.is_local = row.is_local;
  traits.coherent_cache = row.coherent_cache;
  traits.shared_mapping = row.shared_mapping;
  traits.map_pieces_below = row.map_pieces_below;
  traits.supports_allocate = row.supports_allocate;
  return traits;
}

/// Type of the mount with this device number, from /proc/self/mountinfo; empty when it is not listed.
std::string mount_type(dev_t device) {
  std::ostringstream wanted;
  wanted << major(device) << ':' << minor(device);
  std::ifstream mounts("/proc/self/mountinfo");
  std::string line;
  while (std::getline(mounts, line)) {
    std::istringstream fields(line);
    std::string id, parent, numbers, word;
    fields >> id >> parent >> numbers;
    if (numbers != wanted.str()) continue;
    while (fields >> word && word != "-") {
    }
    std::string type;
    if (fields >> type) return type;
  }
  return "";
}

}  // namespace

Result<FileSystemTraits> file_system_traits(const std::string& path) {
  std::string looked_at = path;
  struct statfs info;
  int failed = ::statfs(looked_at.c_str(), &info);
  if (failed != 0 && errno == ENOENT) {
    size_t slash = path.rfind('/');
    looked_at = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    failed = ::statfs(looked_at.c_str(), &info);
  }
  if (failed != 0) return Status::FromErrno(errno, "look at the file system of " + path);
  auto magic = static_cast<uint32_t>(info.f_type);
  if (magic == kFuseMagic) {
    struct stat file;
    std::string type = ::stat(looked_at.c_str(), &file) == 0 ? mount_type(file.st_dev) : "";
    for (const Row& row : kByFuseType)
      if (type == row.name) return traits_from(row, type);
    return traits_from(Row{kFuseMagic, "fuse", false, false, false, false, 0}, type.empty() ? "fuse" : type);
  }
  for (const Row& row : kByMagic)
    if (row.magic == magic) return traits_from(row, row.name);
  char name[40];
  std::snprintf(name, sizeof name, "unknown (0x%08x)", magic);
  return traits_from(Row{magic, "", false, false, false, false, 0}, name);
}

}  // namespace suiro
