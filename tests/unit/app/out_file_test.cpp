// SPDX-License-Identifier: Apache-2.0
#include "app/out_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "support/temp_dir.hpp"

namespace quern {
namespace {

TEST(OutFile, IsNoInputUnderAnyName) {
  const test::TempDir folder;
  const std::string input = (folder.path() / "x.npy").string();
  std::ofstream(input) << "samples";
  std::filesystem::create_symlink(input, folder.path() / "link.npy");
  EXPECT_THROW(refuse_input_as_output(input, {"", input}), InputError);
  EXPECT_THROW(refuse_input_as_output(folder.path() / "link.npy", {input}), InputError);
  EXPECT_THROW(refuse_input_as_output(folder.path() / "." / "x.npy", {input}), InputError);
  refuse_input_as_output(folder.path() / "y.npy", {input, "", "absent"});
  refuse_input_as_output("", {input});
}

TEST(OutFile, IsNotTakenForACheckpoint) {
  for (const char* name :
       {"ckpt-0000000005.h5", "runs/a/ckpt-0000000005.h5", "a/checkpoints/best.h5"})
    EXPECT_THROW(refuse_input_as_output(name, {}), InputError) << name;
  for (const char* name : {"best.h5", "ckpt-5.h5", "checkpoints"}) refuse_input_as_output(name, {});
}

}  // namespace
}  // namespace quern
