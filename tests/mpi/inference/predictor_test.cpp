// SPDX-License-Identifier: Apache-2.0
// The ranks predict together, or each alone.
#include "inference/predictor.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "comm/exchange.hpp"
#include "config/read_recipe.hpp"
#include "samples/own_samples.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"
#include "support/world.hpp"
#include "train/training_run.hpp"

namespace quern::test {

using quern::testing::world;

namespace {

std::vector<float> ramp(std::size_t count, float from) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = from + 0.1f * static_cast<float>(i);
  return values;
}

void train(const std::filesystem::path& folder) {
  const Recipe recipe = parse_recipe(R"(
name = "own"
data = {source = "program", global_batch = 8, target = "values"}
loss = {type = "mse"}
optimizer = {type = "sgd", lr = 0.01}
train = {epochs = 1}
network = {input = [2], layers = [{type = "linear", features = 3}]}
)",
                                     "test");
  TrainingRun run(
      world(), recipe,
      {.folder = folder, .train = make_target_samples({2}, ramp(32, 0), 3, ramp(48, 1))});
  run.train();
}

}  // namespace

TEST(Predictor, AnswersOnAllRanks) {
  const TempDir own;
  const std::string folder = broadcast_string(world(), (own / "run").string());
  train(folder);
  constexpr std::int64_t kCount = 11;
  const std::vector<float> inputs = ramp(2 * kCount, -1);
  Predictor together(world(), folder, 2);
  const std::vector<float> outputs = together.predict(inputs, kCount);
  ASSERT_EQ(outputs.size(), static_cast<std::size_t>(3 * kCount));

  const auto alone = world().split(world().rank());
  Predictor own_predictor(*alone, folder);
  EXPECT_EQ(own_predictor.predict(inputs, kCount), outputs);
  // Each rank has samples of its own then.
  const auto mine = static_cast<std::size_t>(world().rank());
  const std::vector<float> first = own_predictor.predict(std::span(inputs).subspan(2 * mine, 2), 1);
  EXPECT_EQ(first, std::vector<float>(outputs.begin() + static_cast<std::ptrdiff_t>(3 * mine),
                                      outputs.begin() + static_cast<std::ptrdiff_t>(3 * mine + 3)));

  if (world().size() == 1) return;
  const std::int64_t other = world().rank() + 1 == world().size() ? kCount - 1 : kCount;
  expect_error([&] { together.predict(inputs, other); }, ExitCode::bad_input,
               {"the samples to predict: 10 with the XXH3 ", ", and on rank 0 11 with the XXH3 "});
  // Whose answers would these be?
  std::vector<float> theirs = inputs;
  theirs[0] += static_cast<float>(world().rank());
  expect_error([&] { together.predict(theirs, kCount); }, ExitCode::bad_input,
               {"rank 1 on ", "the samples to predict: 11 with the XXH3 "});
  expect_error([&] { Predictor(world(), folder, 4 + world().rank()); }, ExitCode::bad_input,
               {"Predictor: a batch of 5 samples, and on rank 0 a batch of 4 samples"});
  const std::vector<float> targets(static_cast<std::size_t>(3 * kCount));
  expect_error(
      [&] { evaluate_checkpoint(world(), folder, make_target_samples({2}, theirs, 3, targets)); },
      ExitCode::bad_input, {"the samples to evaluate: SHA-256 "});
}

}  // namespace quern::test
