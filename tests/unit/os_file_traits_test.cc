// What is said of the file systems that every Linux has.
#include <gtest/gtest.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "os/file_traits.h"
#include "temp_dir.h"

namespace suiro {
namespace {

TEST(FileSystemTraits, TmpfsIsLocalAndCoherent) {
  struct statfs info;
  if (::statfs("/dev/shm", &info) != 0 || info.f_type != 0x01021994) GTEST_SKIP() << "/dev/shm is not a tmpfs here";
  auto traits = file_system_traits("/dev/shm");
  ASSERT_TRUE(traits.ok());
  EXPECT_EQ(traits->name, "tmpfs");
  EXPECT_TRUE(traits->is_local);
  EXPECT_TRUE(traits->coherent_cache);
  EXPECT_TRUE(traits->shared_mapping);
  EXPECT_TRUE(traits->supports_allocate);
  EXPECT_GT(traits->map_pieces_below, 0);
}

TEST(FileSystemTraits, AFileHasThoseOfItsFolderWhetherItExistsOrNot) {
  test::TempDir dir;
  test::write_whole_file(dir.file("there"), {});
  auto folder = file_system_traits(dir.path());
  auto there = file_system_traits(dir.file("there"));
  auto missing = file_system_traits(dir.file("missing"));
  ASSERT_TRUE(folder.ok() && there.ok() && missing.ok());
  EXPECT_FALSE(folder->name.empty());
  for (const auto* other : {&there, &missing}) {
    EXPECT_EQ((*other)->name, folder->name);
    EXPECT_EQ((*other)->is_local, folder->is_local);
    EXPECT_EQ((*other)->coherent_cache, folder->coherent_cache);
    EXPECT_EQ((*other)->shared_mapping, folder->shared_mapping);
  }
  // What is local is coherent, and only what is coherent may be written through mappings.
  EXPECT_TRUE(!folder->is_local || folder->coherent_cache);
  EXPECT_TRUE(!folder->shared_mapping || folder->coherent_cache);
}

TEST(FileSystemTraits, NamesWithoutAFolder) {
  auto here = file_system_traits(".");
  auto relative = file_system_traits("no-such-file-here");
  auto root = file_system_traits("/");
  auto below_root = file_system_traits("/no-such-file-here");
  ASSERT_TRUE(here.ok() && relative.ok() && root.ok() && below_root.ok());
  EXPECT_EQ(relative->name, here->name);
  EXPECT_EQ(below_root->name, root->name);
}

TEST(FileSystemTraits, AMissingFolderIsAnError) {
  test::TempDir dir;
  EXPECT_EQ(file_system_traits(dir.file("no/such")).status().kind(), ErrorKind::kNoSuchFile);
  test::write_whole_file(dir.file("plain"), {});
  EXPECT_EQ(file_system_traits(dir.file("plain/below")).status().kind(), ErrorKind::kBadFile);
}

TEST(FileSystemTraits, NothingIsPromisedOfAnUnknownFileSystem) {
  auto traits = file_system_traits("/proc/self");
  ASSERT_TRUE(traits.ok());
  EXPECT_EQ(traits->name, "unknown (0x00009fa0)");
  EXPECT_FALSE(traits->is_local);
  EXPECT_FALSE(traits->coherent_cache);
  EXPECT_FALSE(traits->shared_mapping);
  EXPECT_FALSE(traits->supports_allocate);
  EXPECT_EQ(traits->map_pieces_below, 0);
}

}  // namespace
}  // namespace suiro
