// A folder of a test's own, and plain whole-file reading and writing that shares no code with Suiro.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace suiro::test {

class TempDir {
 public:
  /// Below `parent`; by default where GoogleTest puts temporary files.
  explicit TempDir(const std::string& parent = ::testing::TempDir()) {
    path_ = parent + "/suiro-unit-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) {
      ADD_FAILURE() << "no temporary folder below " << parent;
      std::abort();
    }
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  bool empty() const { return std::filesystem::is_empty(path_); }

 private:
  std::string path_;
};

using Bytes = std::vector<unsigned char>;

inline Bytes read_whole_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  stream.seekg(0, std::ios::end);
  Bytes bytes(static_cast<size_t>(stream.tellg()));
  stream.seekg(0);
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  EXPECT_TRUE(stream.good()) << path;
  return bytes;
}

inline void write_whole_file(const std::string& path, const Bytes& bytes) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  stream.close();
  EXPECT_TRUE(stream.good()) << path;
}

/// Bytes that differ from their neighbours near and far, and between seeds.
inline Bytes numbered_bytes(size_t count, unsigned seed) {
  Bytes bytes(count);
  for (size_t i = 0; i < count; i++)
    bytes[i] = static_cast<unsigned char>(i * 131 + (i >> 8) * 29 + (i >> 16) * 7 + seed * 53);
  return bytes;
}

}  // namespace suiro::test
