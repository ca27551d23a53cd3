// SPDX-License-Identifier: Apache-2.0
#include "layers/dropout.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "layers/reference/dropout.hpp"
#include "support/gradient_check.hpp"
#include "support/random_values.hpp"

namespace quern {
namespace {

LayerSpec spec_with(double probability) {
  LayerSpec spec;
  spec.type = LayerType::dropout;
  spec.name = "dropout1";
  spec.probability = probability;
  return spec;
}

std::vector<float> run(Dropout& layer, const StepContext& step, const Activation& x,
                       Activation* output = nullptr) {
  const Activation y = test::filled_activation(x.shape, x.layout, x.rows, 777);
  const ExecSpace exec;
  layer.forward(exec, step, {x, y});
  exec.fence("test: read y");
  if (output) *output = y;
  return test::values_of(y);
}

TEST(Dropout, MatchesTheReferenceInAllLayoutsAndEmptyRowsAreZero) {
  constexpr int number = 5;
  constexpr float probability = 0.3f;
  const test::TestBatch batch{17, 4, 16};
  const StepContext step = test::make_test_step(batch);
  const std::vector<std::int64_t> samples = test::sample_of_row(batch);
  for (const Layout layout : test::all_layouts())
    for (const int units : {1, 3, 17, 33, 257}) {
      Dropout layer(spec_with(probability), {units}, number);
      const std::vector<float> inputs =
          test::random_values(static_cast<std::size_t>(batch.rows() * units), 1);
      const Activation x = test::make_activation({units}, layout, batch.rows(), inputs, 5);
      Activation y;
      const std::vector<float> outputs = run(layer, step, x, &y);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const std::int64_t sample = samples[i / static_cast<std::size_t>(units)];
        const bool kept = sample >= 0 && reference::dropout_keeps(
                                             7, 3, number, static_cast<std::uint64_t>(sample),
                                             i % static_cast<std::size_t>(units), probability);
        ASSERT_EQ(outputs[i], kept ? inputs[i] * (1 / (1 - probability)) : 0.0f) << i;
      }
      EXPECT_EQ(test::padding_of(y), 0);
    }
}

TEST(Dropout, MaskFollowsTheSampleNotTheRow) {
  Dropout layer(spec_with(0.5), {64}, 0);
  StepContext step = test::make_test_step({16, 16, 16});
  const Activation ones = test::filled_activation({64}, Layout::nc, 16, 1);
  std::vector<std::int64_t> samples(16, -1);
  samples[2] = 40;
  step.sample_of_row = test::to_view(samples);
  const std::vector<float> before = run(layer, step, ones);
  samples[2] = -1;
  samples[11] = 40;
  step.sample_of_row = test::to_view(samples);
  const std::vector<float> after = run(layer, step, ones);
  EXPECT_EQ(test::sample_of(before, 64, 2), test::sample_of(after, 64, 11));
}

TEST(Dropout, EpochSeedLayerAndSampleEachChangeTheMask) {
  const test::TestBatch batch{2, 2, 2};
  const StepContext step = test::make_test_step(batch);
  const Activation ones = test::filled_activation({64}, Layout::nc, 2, 1);
  Dropout layer(spec_with(0.5), {64}, 0);
  Dropout other(spec_with(0.5), {64}, 1);
  const std::vector<float> first = run(layer, step, ones);
  EXPECT_EQ(first, run(layer, step, ones));
  EXPECT_NE(first, run(other, step, ones));
  EXPECT_NE(test::sample_of(first, 64, 0), test::sample_of(first, 64, 1));
  StepScalars scalars;
  scalars.seed = 7;
  scalars.epoch = 4;
  test::set_scalars(step.scalars, scalars);
  EXPECT_NE(first, run(layer, step, ones));
  scalars.seed = 8;
  scalars.epoch = 3;
  test::set_scalars(step.scalars, scalars);
  EXPECT_NE(first, run(layer, step, ones));
}

TEST(Dropout, KeepsTheExpectedShareAndTheMean) {
  const StepContext step = test::make_test_step({64, 64, 64});
  Dropout layer(spec_with(0.2), {1024}, 0);
  const std::vector<float> values =
      run(layer, step, test::filled_activation({1024}, Layout::nc, 64, 1));
  double mean = 0;
  for (const float value : values) mean += value / static_cast<double>(values.size());
  EXPECT_NEAR(mean, 1.0, 5 * std::sqrt(0.25 / static_cast<double>(values.size())));
}

TEST(Dropout, EvaluationIsTheIdentity) {
  StepContext step = test::make_test_step({16, 16, 16});
  step.mode = Mode::evaluate;
  Dropout layer(spec_with(0.9), {33}, 0);
  const std::vector<float> inputs = test::random_values(16 * 33, 1);
  const Activation x = test::make_activation({33}, Layout::nchw16n, 16, inputs);
  EXPECT_EQ(run(layer, step, x), inputs);
}

TEST(Dropout, ProbabilityZeroKeepsAndOneDropsEverything) {
  const StepContext step = test::make_test_step({3, 3, 3});
  const std::vector<float> inputs = test::random_values(3 * 33, 1);
  const Activation x = test::make_activation({33}, Layout::nc, 3, inputs);
  Dropout none(spec_with(0), {33}, 0);
  Dropout all(spec_with(1), {33}, 0);
  EXPECT_EQ(run(none, step, x), inputs);
  EXPECT_EQ(run(all, step, x), std::vector<float>(inputs.size(), 0.0f));
}

TEST(Dropout, DerivativesMatchDifferences) {
  Dropout layer(spec_with(0.4), {2, 3, 7}, 2);
  test::check_layer_gradients(layer);
}

}  // namespace
}  // namespace quern
