// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/class_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/reader.hpp"
#include "checkpoint/writer.hpp"
#include "checkpoint_fixture.hpp"

namespace quern {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ClassNames, AreReadAsTheyWereWritten) {
  const test::TempDir folder;
  test::SampleRun run;
  run.state().class_names = {"grüße", "a, b", "\"", "dog"};
  const std::filesystem::path file = write_checkpoint(folder.path(), run.state());
  EXPECT_THAT(read_class_names(file), ElementsAre("grüße", "a, b", "\"", "dog"));
  EXPECT_TRUE(find_damage(file).empty());
  test::expect_same_state(read_checkpoint(file).state(), run.state());
}

TEST(ClassNames, AreOptional) {
  const test::TempDir folder;
  test::SampleRun run;
  EXPECT_THAT(read_class_names(write_checkpoint(folder.path(), run.state())), IsEmpty());
  EXPECT_THAT(read_class_names(folder.path() / "ckpt-0000000007.h5"), IsEmpty());
}

TEST(ClassNames, AFileThatIsNoneIsRefused) {
  const test::TempDir folder;
  std::ofstream(folder.path() / "junk") << "junk";
  test::expect_error([&] { read_class_names(folder.path() / "junk"); }, ExitCode::bad_input,
                     {"junk"});
}

}  // namespace
}  // namespace quern
