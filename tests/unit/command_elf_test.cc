// Reading programs: this test's own, and damaged copies of it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>

#include "elf_program.h"

// A symbol that this program defines; "C" so that its name is as written.
extern "C" int suiro_elf_test_marker();
extern "C" int suiro_elf_test_marker() { return 1; }

namespace suiro::command {
namespace {

constexpr std::string_view kSymbols[] = {"suiro_elf_test_marker", "suiro_elf_test_mark", "no_such_symbol"};

std::string own_bytes() {
  std::ifstream in("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(ReadElf, KnowsThisProgram) {
  ASSERT_EQ(suiro_elf_test_marker(), 1);
  Result<ElfProgram> program = read_elf("/proc/self/exe", kSymbols);
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_TRUE(program->is_elf);
  EXPECT_TRUE(program->is_64_bit);
  EXPECT_NE(program->interpreter.find("ld-linux"), std::string::npos);
  EXPECT_NE(std::ranges::find(program->needed, "libc.so.6"), program->needed.end());
  EXPECT_EQ(program->defined, std::vector<std::string>{"suiro_elf_test_marker"});
}

TEST(ReadElf, OtherFilesAreNoPrograms) {
  EXPECT_FALSE(read_elf("/proc/self/status", kSymbols)->is_elf);
  EXPECT_FALSE(read_elf("/dev/null", kSymbols)->is_elf);
  EXPECT_EQ(read_elf("/nowhere", kSymbols).status().kind(), ErrorKind::kNoSuchFile);
  EXPECT_FALSE(parse_elf("", kSymbols)->is_elf);
  EXPECT_FALSE(parse_elf("#!/bin/sh\n", kSymbols)->is_elf);
}

TEST(LibrariesOf, FollowsTheLoader) {
  Result<ElfProgram> program = read_elf("/proc/self/exe", kSymbols);
  ASSERT_TRUE(program.ok());
  // Not /proc/self/exe: in the loader's process that would be the loader.
  char path[4096];
  ssize_t length = ::readlink("/proc/self/exe", path, sizeof path - 1);
  ASSERT_GT(length, 0);
  std::vector<Library> libraries = libraries_of(std::string(path, static_cast<size_t>(length)), program->interpreter);
  auto libc = std::ranges::find(libraries, "libc.so.6", &Library::name);
  ASSERT_NE(libc, libraries.end());
  EXPECT_TRUE(libc->path.starts_with('/'));
}

TEST(ParseElf, DamagedProgramsNeverCrashTheReader) {
  // The header, the program headers and the dynamic section are what a reader trips over.
  std::string good = own_bytes().substr(0, 16384);
  std::mt19937_64 random(11);
  int read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good.substr(0, round % 3 == 0 ? random() % good.size() : good.size());
    for (size_t n = 1 + random() % 8; n > 0 && !bytes.empty(); --n)
      bytes[random() % std::min<size_t>(bytes.size(), round % 2 == 0 ? 1024 : bytes.size())] =
          static_cast<char>(random());
    read += parse_elf(bytes, kSymbols).ok();
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace suiro::command
