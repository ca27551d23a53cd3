// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  EXPECT_THAT(read_checkpoint(file).state().class_names, ElementsAre("grüße", "a, b", "\"", "dog"));
  EXPECT_TRUE(find_damage(file).empty());
  test::expect_same_state(read_checkpoint(file).state(), run.state());
}

// As earlier programs wrote them.
TEST(ClassNames, AreReadAsUtf8) {
  const test::TempDir folder;
  test::SampleRun run;
  run.state().class_names = {"caf\xe9", "dog"};
  const std::filesystem::path file = write_checkpoint(folder.path(), run.state());
  EXPECT_THAT(read_checkpoint(file).state().class_names, ElementsAre("caf\\xe9", "dog"));
}

TEST(ClassNames, AreOptional) {
  const test::TempDir folder;
  test::SampleRun run;
  EXPECT_THAT(read_checkpoint(write_checkpoint(folder.path(), run.state())).state().class_names,
              IsEmpty());
}

TEST(InputOfTheData, IsReadAsItWasWritten) {
  const test::TempDir folder;
  test::SampleRun run;
  EXPECT_EQ(read_checkpoint(write_checkpoint(folder.path(), run.state())).state().input, "");
  run.state().input = "values";
  const std::filesystem::path file = write_checkpoint(folder.path(), run.state());
  EXPECT_EQ(read_checkpoint(file).state().input, "values");
  EXPECT_TRUE(find_damage(file).empty());
}

}  // namespace
}  // namespace quern
