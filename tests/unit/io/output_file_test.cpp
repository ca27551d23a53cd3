// SPDX-License-Identifier: Apache-2.0
#include "io/output_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>

#include "base/host_name.hpp"
#include "support/expect_error.hpp"
#include "support/sync_calls.hpp"
#include "support/temp_dir.hpp"

namespace quern {
namespace {

std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(OutputFile, AppearsWholeOrNotAtAll) {
  const test::TempDir folder;
  std::ofstream(folder / "a") << "old";
  {
    OutputFile file(folder / "a");
    file.write("new");
    EXPECT_EQ(contents_of(folder / "a"), "old");
  }
  EXPECT_EQ(contents_of(folder / "a"), "old") << "not finished";
  write_whole_file(folder / "a", "new");
  EXPECT_EQ(contents_of(folder / "a"), "new");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(OutputFile, RemovesWhatKilledProcessesHaveLeftOfIt) {
  const test::TempDir folder;
  const pid_t child = fork();
  if (child == 0) {
    OutputFile file(folder / "a");
    file.write("half");
    raise(SIGKILL);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  const std::string left = folder / ("a.tmp." + host_name() + "." + std::to_string(child));
  ASSERT_EQ(contents_of(left), "half");
  const auto make_old = [](const std::string& file) {
    using std::filesystem::file_time_type;
    std::filesystem::last_write_time(file, file_time_type::clock::now() - std::chrono::hours(2));
  };
  const std::string alive = folder / ("a.tmp." + host_name() + "." + std::to_string(getppid()));
  std::ofstream(alive) << "of a process that lives";
  make_old(alive);
  const std::string elsewhere = folder / "a.tmp.elsewhere.1";
  std::ofstream(elsewhere) << "of another machine, or a user's";
  make_old(elsewhere);
  write_whole_file(folder / "a", "new");
  EXPECT_TRUE(std::filesystem::exists(left)) << "its process may live in another container";
  make_old(left);
  write_whole_file(folder / "b", "another file");
  EXPECT_TRUE(std::filesystem::exists(left));
  write_whole_file(folder / "a", "new");
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(alive));
  EXPECT_TRUE(std::filesystem::exists(elsewhere));
  EXPECT_EQ(contents_of(folder / "a"), "new");
}

TEST(OutputFile, KeepsLinksAndPipes) {
  const test::TempDir folder;
  std::ofstream(folder / "target") << "old";
  std::filesystem::create_symlink("target", folder / "link");
  write_whole_file(folder / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(contents_of(folder / "target"), "new");

  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  write_whole_file(pipe, "through");
  std::array<char, 16> bytes{};
  EXPECT_EQ(read(reader, bytes.data(), bytes.size()), 7);
  EXPECT_EQ(std::string(bytes.data()), "through");
  close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST(OutputFile, MakesTheFileThatALinkLeadsTo) {
  const test::TempDir folder;
  std::filesystem::create_directory(folder / "elsewhere");
  std::filesystem::create_symlink("elsewhere/second", folder / "first");
  std::filesystem::create_symlink(folder / "elsewhere/target", folder / "elsewhere/second");
  write_whole_file(folder / "first", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "first"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "elsewhere/second"));
  EXPECT_FALSE(std::filesystem::is_symlink(folder / "elsewhere/target"));
  EXPECT_EQ(contents_of(folder / "elsewhere/target"), "new");

  std::filesystem::create_symlink("none/target", folder / "lost");
  test::expect_error([&] { write_whole_file(folder / "lost", "new"); }, ExitCode::bad_input,
                     {"lost': No such file or directory"});
  std::filesystem::create_symlink("circle", folder / "circle");
  test::expect_error([&] { write_whole_file(folder / "circle", "new"); }, ExitCode::bad_input,
                     {"circle': Too many levels of symbolic links"});
}

// A disk that is full may be emptied before the next start; a folder that is not there is a
// mistake.
TEST(OutputFile, TellsFailuresFromMistakes) {
  const test::TempDir folder;
  test::expect_error([&] { write_whole_file("/dev/full", "text"); }, ExitCode::failure,
                     {"cannot write '/dev/full': No space left on device"});
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  test::expect_error([&] { write_whole_file(folder / "no/file", "text"); }, ExitCode::bad_input,
                     {"no/file': No such file or directory"});
  test::expect_error([&] { write_whole_file(folder.path(), "text"); }, ExitCode::bad_input,
                     {"Is a directory"});
}

// What was cut off must not be there again after a loss of power, in front of what comes then.
TEST(OutputFile, IsShortenedOnTheDisk) {
  const test::TempDir folder;
  std::ofstream(folder / "a") << "first\nsecond\n";
  const test::SyncCalls syncs;
  shorten_file(folder / "a", 6);
  EXPECT_EQ(contents_of(folder / "a"), "first\n");
  EXPECT_EQ(syncs.paths(), std::vector<std::filesystem::path>{folder / "a"});
  test::expect_error([&] { shorten_file(folder / "none", 6); }, ExitCode::bad_input,
                     {"none': No such file or directory"});
}

}  // namespace
}  // namespace quern
