// SPDX-License-Identifier: Apache-2.0
// Quern against PyTorch: outputs, gradients, weights and losses of the recipes in README.md.
#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <string>

#include "golden/golden_run.hpp"
#include "support/world.hpp"

namespace quern::test {

namespace {

using quern::testing::world;

// README.md says how far PyTorch's float32 run is from the same run in double precision; a correct
// program lands at about that distance on the other side. So these are a few times its figures.
struct Tolerance {
  double loss;
  double outputs;  // like the gradients without the sums over the batch
  double gradients;
  double weights;
};

void expect_outputs(const Golden& golden, const GoldenRun::FirstStep& first, double tolerance) {
  const auto count = static_cast<int>(golden.outputs.shape.at(0));
  const std::size_t units = golden.outputs.values.size() / static_cast<std::size_t>(count);
  double largest = 0;
  for (const float value : golden.outputs.values)
    largest = std::max(largest, double{std::abs(value)});
  for (const auto& [sample, values] : first.outputs) {
    if (sample >= count) continue;
    ASSERT_EQ(values.size(), units);
    for (std::size_t u = 0; u < units; ++u) {
      const double expected = golden.outputs.values[static_cast<std::size_t>(sample) * units + u];
      EXPECT_NEAR(values[u], expected, tolerance * largest) << "sample " << sample << " unit " << u;
    }
  }
}

void expect_tensors(const GoldenTensors& golden, const Tensors& actual, double tolerance,
                    const std::string& what) {
  ASSERT_EQ(golden.size(), actual.size());
  for (const auto& [name, tensor] : golden) {
    SCOPED_TRACE(what + " of " + name);
    expect_close(tensor, actual.at(name), tolerance);
  }
}

void expect_relative(double actual, double expected, double tolerance, const std::string& what) {
  EXPECT_NEAR(actual, expected, tolerance * std::abs(expected)) << what;
}

void follow(const std::string& name, const Tolerance& tolerance) {
  GoldenRun run(world(), name);
  const Golden& golden = run.golden();

  const GoldenRun::FirstStep first = run.first_step();
  expect_outputs(golden, first, tolerance.outputs);
  expect_tensors(golden.gradients, first.gradients, tolerance.gradients, "gradient");
  expect_relative(first.loss, golden.losses.at(0), tolerance.loss, "loss of the first step");
  if (!golden.gradient_norms.empty()) {
    expect_relative(first.gradient_norm, golden.gradient_norms[0], tolerance.gradients, "norm");
  }

  ASSERT_EQ(static_cast<std::int64_t>(golden.losses.size()), golden.steps);
  for (int step = 1; step <= golden.steps; ++step) {
    const double loss = run.train_step();
    const auto i = static_cast<std::size_t>(step - 1);
    expect_relative(loss, golden.losses[i], tolerance.loss, "loss of step " + std::to_string(step));
    expect_relative(loss, golden.losses_exact[i], tolerance.loss,
                    "exact loss of step " + std::to_string(step));
    const auto stored = golden.after_steps.find(step);
    if (stored == golden.after_steps.end()) continue;
    expect_tensors(stored->second, run.weights(), tolerance.weights,
                   "weights after step " + std::to_string(step));
  }
}

}  // namespace

TEST(GoldenTraining, MlpOnFashionMnistWithAdam) {
  follow("mlp-mnist", {1e-6, 2e-6, 2e-6, 1e-4});
}

TEST(GoldenTraining, LenetOnFashionMnistWithSgd) {
  follow("lenet-fashion", {1e-6, 2e-5, 4e-5, 3e-5});
}

TEST(GoldenTraining, AutoencoderOnFashionMnistWithAdam) {
  follow("autoencoder-mnist", {1e-6, 2e-6, 3e-6, 4e-5});
}

TEST(GoldenTraining, ToyRegressionWithSgd) {
  follow("ddp-toy", {1e-6, 1e-6, 1e-6, 1e-6});
}

TEST(GoldenTraining, OddConvolutionsWithNesterovMomentumAndL2) {
  follow("conv-odd", {1e-6, 2e-6, 2e-6, 1e-6});
}

TEST(GoldenTraining, ResidualBlocksWithDecayOfWeightsAlone) {
  follow("residual", {1e-6, 3e-6, 5e-6, 1e-6});
}

TEST(GoldenTraining, SmallResnetWithBatchNorm) {
  follow("small-resnet", {1e-6, 3e-6, 5e-6, 2e-6});
}

TEST(GoldenTraining, LayerNormOfImagesAndFlatSamples) {
  follow("layer-norm", {1e-6, 3e-6, 4e-6, 3e-6});
}

TEST(GoldenTraining, GroupNormOfImagesAndFlatSamples) {
  follow("group-norm", {1e-6, 3e-6, 6e-6, 8e-6});
}

TEST(GoldenTraining, SiluAndLeakyRelu) {
  follow("activations", {1e-6, 2e-6, 2e-6, 2e-6});
}

TEST(GoldenTraining, UNetWithJoinedChannels) {
  follow("unet", {1e-6, 3e-6, 5e-6, 2e-6});
}

TEST(GoldenTraining, AdamWWithClipping) {
  follow("adamw-clip", {1e-6, 1e-6, 1e-6, 2e-6});
}

TEST(GoldenTraining, LabelSmoothingAndLinearLayersWithoutBias) {
  follow("label-smoothing", {1e-6, 2e-6, 2e-6, 2e-6});
}

TEST(GoldenTraining, ClassesThatCountDifferently) {
  follow("class-weights", {1e-6, 2e-6, 2e-6, 2e-6});
}

TEST(GoldenTraining, AbsoluteErrors) {
  follow("l1", {1e-6, 2e-6, 2e-6, 2e-6});
}

TEST(GoldenTraining, BinaryCrossEntropy) {
  follow("binary-cross-entropy", {1e-6, 2e-6, 2e-6, 2e-6});
}

TEST(GoldenTraining, HuberLoss) {
  follow("huber", {1e-6, 2e-6, 2e-6, 2e-6});
}

TEST(GoldenTraining, LarsWithNesterovMomentumAndDecayOfWeightsAlone) {
  follow("lars", {1e-6, 3e-6, 4e-6, 4e-6});
}

TEST(GoldenTraining, LambWithClipping) {
  follow("lamb", {1e-6, 3e-6, 4e-6, 1e-5});
}

}  // namespace quern::test
