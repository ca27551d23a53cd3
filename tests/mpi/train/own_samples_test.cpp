// SPDX-License-Identifier: Apache-2.0
// Samples that a program hands over are checked to be the same on all ranks.
#include "train/own_samples.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "config/read_recipe.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"
#include "support/world.hpp"
#include "train/training_run.hpp"

namespace quern::test {

using quern::testing::world;

TEST(OwnSamples, MustBeEqualOnAllRanks) {
  const TempDir folder;
  const Recipe recipe = parse_recipe(R"(
name = "own"
data = {source = "program", global_batch = 8, target = "values"}
loss = {type = "mse"}
optimizer = {type = "sgd", lr = 1.0}
network = {input = [1], layers = [{type = "linear", features = 1}]}
)",
                                     "test");
  const auto samples = [](float first) {
    return make_target_samples({1}, std::vector<float>{first, 1, 2, 3}, 1,
                               std::vector<float>{0, 1, 2, 3});
  };
  EXPECT_NO_THROW(TrainingRun(world(), recipe, {.folder = folder / "run", .train = samples(0)}));
  if (world().size() == 1) return;
  const bool is_last = world().rank() == world().size() - 1;
  expect_error(
      [&] {
        TrainingRun(world(), recipe,
                    {.folder = folder / "run", .train = samples(is_last ? 7.0f : 0.0f)});
      },
      ExitCode::bad_input,
      {"rank " + std::to_string(world().size() - 1), "other samples than on rank 0"});
}

}  // namespace quern::test
