// Opens one file on several thread ranks and runs a test body on each of them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "file/open_file.h"
#include "temp_dir.h"
#include "thread_comm.h"

namespace suiro::file_test {

using test::Bytes;
using test::run_ranks;

inline AccessMode read_write() {
  AccessMode mode;
  mode.read = mode.write = true;
  return mode;
}
inline AccessMode creating() {
  AccessMode mode = read_write();
  mode.create = true;
  return mode;
}
inline AccessMode reading() {
  AccessMode mode;
  mode.read = true;
  return mode;
}
inline AccessMode writing() {
  AccessMode mode;
  mode.write = true;
  return mode;
}

/// Memory without gaps.
inline const Tiling& plain() {
  static const Tiling tiling{Pattern::Bytes(1), 0, 1};
  return tiling;
}

inline Status write(OpenFile& file, PointerKind pointer, int64_t offset, const std::string& data, Status broken = {}) {
  return file.write(pointer, offset, static_cast<int64_t>(data.size()),
                    MemoryBytes{plain(), const_cast<char*>(data.data())}, std::move(broken));
}
/// What was read, as text; on failure the name of the error in angle brackets.
inline std::string read(OpenFile& file, PointerKind pointer, int64_t offset, int64_t size, Status broken = {}) {
  std::string data(static_cast<size_t>(size), '?');
  auto got = file.read(pointer, offset, size, MemoryBytes{plain(), data.data()}, std::move(broken));
  if (!got.ok()) return "<" + std::string(kind_name(got.status().kind())) + ">";
  data.resize(static_cast<size_t>(*got));
  return data;
}

/// A view of contiguous etypes, or of blocks of `block` bytes every `extent` bytes.
inline View view_of(int64_t etype_bytes, int64_t displacement, int64_t block, int64_t extent) {
  View view;
  view.etype_bytes = etype_bytes;
  view.file = Tiling{Pattern::Bytes(block), displacement, extent};
  return view;
}

class FileTest : public ::testing::TestWithParam<int> {
 protected:
  int ranks() const { return GetParam(); }
  FileSettings settings(const std::string& path) const {
    FileSettings settings;
    settings.preset = Preset::kDirect;
    settings.path = path;
    settings.shared_dir = shared_dir_.path();
    return settings;
  }
  void content(const std::string& text) { test::write_whole_file(path_, Bytes(text.begin(), text.end())); }
  std::string content() const {
    Bytes bytes = test::read_whole_file(path_);
    return std::string(bytes.begin(), bytes.end());
  }

  /// Opens path_ on all ranks and runs body(file) on each; closes it.
  template <class Body>
  void with_file(const AccessMode& mode, Body body) {
    run_ranks(ranks(), [&](std::unique_ptr<Comm> comm) {
      auto file = OpenFile::Open(std::move(comm), mode, settings(path_), false);
      ASSERT_TRUE(file.ok()) << file.status().message();
      body(**file);
      EXPECT_TRUE((*file)->close().ok());
    });
    EXPECT_TRUE(shared_dir_.empty());
  }
  /// Kind of the result of opening, which has to be the same on all ranks; a file that opens is closed.
  ErrorKind open_kind(const std::string& path, const AccessMode& mode) {
    std::vector<ErrorKind> kinds(static_cast<size_t>(ranks()));
    run_ranks(ranks(), [&](std::unique_ptr<Comm> comm) {
      auto rank = static_cast<size_t>(comm->rank());
      auto file = OpenFile::Open(std::move(comm), mode, settings(path), false);
      kinds[rank] = file.status().kind();
      if (file.ok()) {
        EXPECT_TRUE((*file)->close().ok());
      } else {
        EXPECT_NE(file.status().message(), "");
      }
    });
    for (ErrorKind kind : kinds) EXPECT_EQ(kind, kinds[0]);
    EXPECT_TRUE(shared_dir_.empty());
    return kinds[0];
  }

  test::TempDir dir_;
  test::TempDir shared_dir_{"/dev/shm"};
  std::string path_ = dir_.file("data");
};

#define SUIRO_ON_RANKS(fixture, ...) INSTANTIATE_TEST_SUITE_P(Ranks, fixture, ::testing::Values(__VA_ARGS__))

}  // namespace suiro::file_test
