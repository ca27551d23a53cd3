// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/writer.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/host_name.hpp"
#include "checkpoint/reader.hpp"
#include "checkpoint_fixture.hpp"

namespace quern {
namespace {

using test::expect_error;
using test::names_in;
using test::SampleRun;
using test::TempDir;

TEST(Writer, NamesTheFileAfterTheStepAndLeavesNothingElse) {
  const TempDir folder;
  const auto path = write_checkpoint(folder / "run/checkpoints", SampleRun(123).state());
  EXPECT_EQ(path, folder / "run/checkpoints" / "ckpt-0000000123.h5");
  EXPECT_EQ(names_in(folder / "run/checkpoints"), std::vector<std::string>{"ckpt-0000000123.h5"});
}

TEST(Writer, ReplacesACheckpointOfTheSameStep) {
  const TempDir folder;
  SampleRun second(5, 1);
  write_checkpoint(folder.path(), SampleRun(5, 0).state());
  const auto path = write_checkpoint(folder.path(), second.state());
  test::expect_same_state(read_checkpoint(path).state(), second.state());
  EXPECT_EQ(names_in(folder.path()).size(), 1u);
}

TEST(Writer, RefusesStatesThatCannotBeStored) {
  const TempDir folder;
  SampleRun twice;
  twice.state().model.push_back(twice.state().model[0]);
  expect_error([&] { write_checkpoint(folder.path(), twice.state()); }, ExitCode::failure,
               {"ckpt-0000000123.h5", "/model/fc1/weight"});
  SampleRun short_of_values;
  short_of_values.state().model[0].shape = {5, 6};
  expect_error([&] { write_checkpoint(folder.path(), short_of_values.state()); }, ExitCode::failure,
               {"as many values"});
  SampleRun nested;
  nested.state().model[0].name = "fc1.bias.inner";
  expect_error([&] { write_checkpoint(folder.path(), nested.state()); }, ExitCode::failure,
               {"fc1/bias"});
  EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST(Writer, AsksJustBeforeTheFileAppears) {
  const TempDir folder;
  write_checkpoint(folder.path(), SampleRun(5).state());
  expect_error(
      [&] {
        CheckpointWriter(folder.path(), 1).write(SampleRun(6).state(), [&] {
          EXPECT_EQ(names_in(folder.path()).size(), 2u) << "it is written, under another name";
          throw Error("taken over");
        });
      },
      ExitCode::failure, {"ckpt-0000000006.h5", "taken over"});
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"ckpt-0000000005.h5"});
}

TEST(Writer, UnusableFolderIsAClearError) {
  const TempDir folder;
  test::put_bytes(folder / "file", "x");
  expect_error([&] { write_checkpoint(folder / "file/checkpoints", SampleRun().state()); },
               ExitCode::failure, {"file/checkpoints", "Not a directory"});
  expect_error([&] { CheckpointWriter(folder / "file", 3); }, ExitCode::failure, {"file"});
}

TEST(Writer, ANameThatIsTakenByAFolderIsAClearErrorAndLeavesNoTemporary) {
  const TempDir folder;
  std::filesystem::create_directories(folder / "ckpt-0000000123.h5/occupied");
  expect_error([&] { write_checkpoint(folder.path(), SampleRun().state()); }, ExitCode::failure,
               {"ckpt-0000000123.h5", "rename"});
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"ckpt-0000000123.h5"});
}

TEST(Writer, AFileOfAnyNameIsNamedWhereItCannotBeWritten) {
  const TempDir folder;
  const std::string path = (folder / "none/start.h5").string();
  expect_error([&] { write_checkpoint_file(path, SampleRun().state()); }, ExitCode::bad_input,
               {"cannot write the checkpoint '" + path + "'", "No such file"});
  std::filesystem::create_directories(folder / "start.h5/occupied");
  expect_error([&] { write_checkpoint_file(folder / "start.h5", SampleRun().state()); },
               ExitCode::failure, {"cannot write the checkpoint", "start.h5", "rename"});
}

/// -> 0 when writing fails with a good message.
int write_and_fail(const std::filesystem::path& folder) {
  try {
    write_checkpoint(folder, SampleRun(200, 1).state());
  } catch (const Error& error) {
    const std::string message = error.what();
    const bool good = message.find("ckpt-0000000200.h5") != std::string::npos &&
                      message.find("File too large") != std::string::npos &&
                      message.find("older checkpoints are intact") != std::string::npos;
    return good && error.code() == ExitCode::failure ? 0 : 2;
  }
  return 1;
}

/// Writes in a child whose files may not grow beyond `limit` bytes, as on a full disk; then, as
/// when somebody has made room, again to another folder. -> whether all that went in good order.
bool fails_cleanly_at(const std::filesystem::path& folder, rlim_t limit,
                      const std::filesystem::path& later) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    rlimit size{};
    getrlimit(RLIMIT_FSIZE, &size);
    const rlimit full{limit, size.rlim_max};
    setrlimit(RLIMIT_FSIZE, &full);
    int status = write_and_fail(folder);
    setrlimit(RLIMIT_FSIZE, &size);
    SampleRun next(201, 1);
    test::expect_same_state(read_checkpoint(write_checkpoint(later, next.state())).state(),
                            next.state());
    if (::testing::Test::HasFailure()) status = 3;
    std::exit(status);  // with HDF5's own clean-up, which must not crash
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(Writer, FullDiskLeavesTheOldCheckpointsAndNoTemporary) {
  const TempDir folder;
  const TempDir later;
  const auto old = write_checkpoint(folder.path(), SampleRun(100).state());
  const auto size = std::filesystem::file_size(old);
  for (const rlim_t limit : {rlim_t{0}, rlim_t{10}, rlim_t{2000}, rlim_t{5000}, size - 500,
                             size - 200, size - 50, size - 1}) {
    EXPECT_TRUE(fails_cleanly_at(folder.path(), limit, later.path())) << limit;
    EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"ckpt-0000000100.h5"}) << limit;
  }
  test::expect_same_state(read_checkpoint(old).state(), SampleRun(100).state());
}

TEST(Writer, AStateLargerThanTheDiskIsRefusedBeforeAnythingIsWritten) {
  const TempDir folder;
  const auto available = std::filesystem::space(folder.path()).available;
  // Never touched: only its size is looked at.
  const auto count = static_cast<std::int64_t>(available / 2);
  SampleRun run;
  run.state().model[0] = {"fc1.weight", {count}, {run.weight().data(), std::size_t(count)}};
  expect_error([&] { write_checkpoint(folder.path(), run.state()); }, ExitCode::failure,
               {"iB free", "ckpt-0000000123.h5"});
  EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST(CheckpointWriter, MakesNoRunFolderThatIsGone) {
  const TempDir folder;
  expect_error([&] { CheckpointWriter(folder / "run/checkpoints", 2); }, ExitCode::failure,
               {"cannot make the checkpoint folder", "No such file"});
  std::filesystem::create_directory(folder / "run");
  CheckpointWriter writer(folder / "run/checkpoints", 2);
  std::filesystem::remove(folder / "run/checkpoints");
  writer.write(SampleRun(1).state());
  std::filesystem::rename(folder / "run", folder / "moved");
  expect_error(
      [&] { writer.write(SampleRun(2).state()); }, ExitCode::failure,
      {"cannot write the checkpoint", "cannot make the checkpoint folder", "No such file"});
  EXPECT_FALSE(std::filesystem::exists(folder / "run"));
}

TEST(CheckpointWriter, CleansUpAfterDeadRunsAndKeepsTheNewest) {
  const TempDir folder;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  test::put_bytes(folder / ("ckpt-0000000001.h5.tmp." + host_name() + "." + std::to_string(child)),
                  "half");

  CheckpointWriter writer(folder.path(), 2);
  for (const std::int64_t step : {1, 2, 3, 4}) writer.write(SampleRun(step).state());

  EXPECT_EQ(names_in(folder.path()),
            (std::vector<std::string>{"ckpt-0000000003.h5", "ckpt-0000000004.h5"}));
}

}  // namespace
}  // namespace quern
