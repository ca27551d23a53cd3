// SPDX-License-Identifier: Apache-2.0
#include "bench/kernel_cost.hpp"

#include <gtest/gtest.h>

#include <set>

#include "bench/kernel_profile.hpp"
#include "bench/layer_info.hpp"
#include "comm/serial/communicator.hpp"
#include "strategy/training_step.hpp"
#include "support/layer_specs.hpp"
#include "support/step_recipes.hpp"

namespace quern {
namespace {

LayerInfo dense() {
  return {Shape{7}, Shape{3}, 21, 24};
}

NetworkSpec residual_network() {
  LayerSpec sum = test::simple(LayerType::add);
  sum.inputs = {"conv2d2", "relu1"};
  return test::network_of({2, 6, 6},
                          {test::conv2d(4, 3, 1, 1), test::relu, test::conv2d(4, 3, 1, 1), sum,
                           test::flatten, test::linear(3)});
}

TEST(LayerKernelCost, OfProductsCountsEveryArrayOnce) {
  for (const char* label :
       {"quern::layers::linear_forward", "quern::layers::linear_weight_gradient",
        "quern::layers::linear_parameter_gradients", "quern::layers::conv2d_input_gradient"}) {
    const KernelCost cost = layer_kernel_cost(label, dense(), 10);
    EXPECT_EQ(cost.flop, 2.0 * 21 * 10) << label;
    EXPECT_EQ(cost.bytes, 4.0 * (10 * 7 + 10 * 3 + 24)) << label;
    EXPECT_EQ(cost.working_set, cost.bytes) << label;
  }
}

// With train.recompute: one row for both calls, whose products are twice those of a pass.
TEST(LayerKernelCost, OfALayerThatRunsAgainCountsBothForwardPasses) {
  NetworkSetup setup;
  setup.recompute = true;
  const NetworkSpec spec = test::network_of(
      {2, 6, 6}, {test::conv2d(4, 3, 1, 1), test::relu, test::conv2d(4, 3, 1, 1), test::relu,
                  test::conv2d(4, 3, 1, 1), test::relu, test::conv2d(4, 3, 1, 1), test::relu,
                  test::flatten, test::linear(3)});
  const Network kept(spec);
  const Network again(spec, setup);
  int twice = 0;
  for (const Node& node : again.graph().nodes()) {
    if (!node.layer || node.layer->macs() == 0) continue;
    const LayerInfo once = layer_of_region(kept, node.region)->info;
    const LayerInfo info = layer_of_region(again, node.region)->info;
    EXPECT_EQ(once.forward_passes, 1);
    twice += info.forward_passes == 2;
    const auto ratio = [&](const char* label) {
      const KernelCost cost = layer_kernel_cost(label, info, 10);
      const KernelCost of_one = layer_kernel_cost(label, once, 10);
      EXPECT_EQ(cost.bytes / of_one.bytes, cost.flop / of_one.flop) << label;
      EXPECT_EQ(cost.working_set, of_one.working_set) << label;
      return cost.flop / of_one.flop;
    };
    EXPECT_EQ(ratio("quern::layers::conv2d_forward"), info.forward_passes);
    EXPECT_EQ(ratio("quern::layers::conv2d_input_gradient"), 1);
  }
  EXPECT_GE(twice, 1);
}

TEST(LayerKernelCost, OfAConvolutionWithItsPoolLeavesTheImageBetweenOut) {
  for (const char* label :
       {"quern::layers::conv2d_pool_forward", "quern::layers::conv2d_pool_gradients"}) {
    const KernelCost cost = layer_kernel_cost(label, dense(), 10);
    EXPECT_EQ(cost.flop, 2.0 * 21 * 10) << label;
    EXPECT_DOUBLE_EQ(cost.bytes, 4.0 * (10 * 7 + 10 * 3 * (0.25 + 1.0 / 32) + 24)) << label;
  }
}

TEST(LayerKernelCost, OfTheRestHasBytesOnly) {
  const auto bytes = [](const char* label) {
    const KernelCost cost = layer_kernel_cost(label, dense(), 10);
    EXPECT_EQ(cost.flop, 0) << label;
    return cost.bytes / 4;
  };
  EXPECT_EQ(bytes("quern::layers::linear_bias_gradient"), 30);
  EXPECT_EQ(bytes("quern::layers::linear_transpose"), 2 * 24);
  EXPECT_EQ(bytes("quern::layers::pack_linear_weights"), 2 * 24);
  EXPECT_EQ(bytes("quern::layers::round_gradients"), 2 * 30);
  EXPECT_EQ(bytes("quern::layers::conv2d_pack_forward"), 2 * 24);
  EXPECT_EQ(bytes("quern::layers::avg_pool2d"), 70 + 30);
  EXPECT_EQ(bytes("quern::layers::avg_pool2d_backward"), 70 + 30);
  EXPECT_EQ(bytes("quern::layers::max_pool2d_backward"), 2 * 70 + 30);
  EXPECT_EQ(bytes("quern::layers::upsample"), 70 + 30);
  EXPECT_EQ(bytes("quern::layers::upsample_backward"), 70 + 30);
  EXPECT_EQ(bytes("quern::layers::add"), 3 * 70) << "gradients of the layer's input";
  EXPECT_EQ(bytes("quern::layers::relu"), 70 + 30);
  EXPECT_EQ(bytes("quern::layers::relu_backward"), 70 + 2 * 30);
}

TEST(LayerKernelCost, OfSumsIsThatOfThreeArraysOfTheirSize) {
  const Network network(residual_network());
  const auto floats = [&](const std::string& name) {
    const auto layer = layer_of_region(network, region_of_layer(name));
    EXPECT_TRUE(layer) << name;
    return layer ? layer_kernel_cost("quern::layers::add", layer->info, 10).bytes / 4 : 0;
  };
  EXPECT_EQ(floats("add1"), 3 * 10 * 4 * 36) << "where branches meet";
  EXPECT_EQ(floats("conv2d2"), 3 * 10 * 4 * 36) << "of the gradients of its input";
  EXPECT_EQ(floats("flatten1"), 3 * 10 * 4 * 36);
  EXPECT_FALSE(layer_of_region(network, region_of_layer("layout"))) << "there are several";
  EXPECT_FALSE(layer_of_region(network, "quern::train::step"));
  const auto dense = layer_of_region(network, region_of_layer("linear1"));
  ASSERT_TRUE(dense);
  EXPECT_EQ(dense->info.macs, 4 * 36 * 3);
  EXPECT_EQ(dense->info.weights, 4 * 36 * 3 + 3);
}

TEST(LayerKernelCost, OfAConcatIsSharedByItsInputs) {
  LayerSpec joined = test::simple(LayerType::concat);
  joined.inputs = {"conv2d1", "relu1", "input"};
  const Network network(test::network_of(
      {2, 6, 6}, {test::conv2d(4, 3, 1, 1), test::relu, joined, test::conv2d(3, 1)}));
  const auto layer = layer_of_region(network, region_of_layer("concat1"));
  ASSERT_TRUE(layer);
  for (const char* label : {"quern::layers::concat", "quern::layers::concat_backward"})
    EXPECT_EQ(layer_kernel_cost(label, layer->info, 10).bytes / 4 * 3, 2 * 10 * 10 * 36) << label;
}

TEST(LayerKernelCost, CountsTwoBytesWhereImagesAreBfloat16) {
  if (runs_device_kernels()) GTEST_SKIP() << "images in bfloat16 are for CPUs";
  LayerSpec no_bias = test::conv2d(4, 3, 1, 1);
  no_bias.bias = false;
  const LayerSpec norm = test::simple(LayerType::batch_norm);
  NetworkSetup setup;
  setup.kernels.precision = OperandPrecision::bf16;
  const Network network(test::network_of({2, 6, 6}, {no_bias, norm, test::relu, no_bias, norm,
                                                     test::flatten, test::linear(3)}),
                        setup);
  // Bytes of a pixel; all layers but the first have 4 channels on both sides.
  const auto bytes = [&](const char* name, const std::string& kernel) {
    const auto layer = layer_of_region(network, region_of_layer(name));
    EXPECT_TRUE(layer) << name;
    LayerInfo info = layer ? layer->info : LayerInfo{};
    info.weights = 0;
    return layer_kernel_cost("quern::layers::" + kernel, info, 10).bytes / (10 * 36);
  };
  EXPECT_EQ(bytes("conv2d1", "conv2d_forward"), 2 * 4 + 4 * 2) << "of floats";
  EXPECT_EQ(bytes("conv2d2", "conv2d_forward"), 4 * (2 + 2));
  EXPECT_EQ(bytes("conv2d2", "conv2d_weight_gradient"), 4 * (2 + 2));
  EXPECT_EQ(bytes("conv2d2", "conv2d_input_gradient"), 4 * (2 + 2));
  EXPECT_EQ(bytes("batch_norm1", "batch_norm_statistics"), 4 * 2);
  EXPECT_EQ(bytes("batch_norm1", "batch_norm"), 4 * (2 + 2));
  EXPECT_EQ(bytes("batch_norm1", "batch_norm_backward"), 4 * (2 + 2 + 2));
  EXPECT_EQ(bytes("batch_norm2", "batch_norm"), 4 * (2 + 4)) << "a dense layer reads it";
  EXPECT_EQ(bytes("batch_norm2", "batch_norm_backward"), 4 * (2 + 2 + 4));
}

TEST(StepKernelCost, KnowsBatchLossAndOptimizer) {
  const StepInfo step{Shape{1, 4, 5}, Shape{3}, 1000};
  const auto bytes = [&](const char* label) { return step_kernel_cost(label, step, 8).bytes; };
  EXPECT_EQ(bytes("quern::layers::gather_images"), 8 * 20 * 5);
  EXPECT_EQ(bytes("quern::loss::cross_entropy"), 2 * 8 * 3 * 4);
  EXPECT_EQ(bytes("quern::optim::adam"), 7 * 1000 * 4);
  EXPECT_EQ(bytes("quern::optim::sgd_momentum"), 5 * 1000 * 4);
  EXPECT_EQ(bytes("quern::optim::sgd"), 3 * 1000 * 4);
  EXPECT_EQ(bytes("quern::optim::lamb_direction"), 7 * 1000 * 4);
  EXPECT_EQ(bytes("quern::optim::trust_squares"), 2 * 1000 * 4);
  EXPECT_EQ(bytes("quern::optim::adam_factors"), 0);
  EXPECT_EQ(bytes("quern::strategy::begin_batch"), 0);
}

TEST(StepKernelCost, CountsAnArrayThatIsReadAndWrittenOnceInTheWorkingSet) {
  const StepInfo step{Shape{1, 4, 5}, Shape{3}, 1000};
  const auto floats = [&](const char* label) {
    return step_kernel_cost(label, step, 8).working_set / 4;
  };
  EXPECT_EQ(floats("quern::optim::adam"), 4 * 1000);
  EXPECT_EQ(floats("quern::optim::sgd_momentum"), 3 * 1000);
  EXPECT_EQ(floats("quern::optim::sgd"), 2 * 1000);
  EXPECT_EQ(floats("quern::optim::lamb_direction"), 5 * 1000);
  EXPECT_EQ(floats("quern::optim::clip_chunks"), 1000);
  EXPECT_EQ(floats("quern::loss::regression"), 3 * 8 * 3);
  EXPECT_EQ(floats("quern::optim::adam_factors"), 0);
}

TEST(StepKernelCost, GathersABatchFromTheWholeDataSet) {
  const StepInfo step{Shape{1, 4, 5}, Shape{3}, 1000, 60000};
  const KernelCost images = step_kernel_cost("quern::layers::gather_images", step, 8);
  EXPECT_EQ(images.working_set, 8 * 20 * 4);
  EXPECT_EQ(images.gathered, 8 * 20);
  EXPECT_EQ(images.gathered_from, 60000 * 20);
  const KernelCost values = step_kernel_cost("quern::layers::gather_values", step, 8);
  EXPECT_EQ(values.gathered, 8 * 20 * 4);
  EXPECT_EQ(values.gathered_from, 60000 * 20 * 4);
}

TEST(KernelShape, SaysWhatTheKernelWorksOn) {
  const StepInfo step{Shape{1, 4, 5}, Shape{3}, 1000};
  EXPECT_EQ(layer_kernel_shape(dense(), 10), "10 x [7] -> [3]");
  EXPECT_EQ(step_kernel_shape("quern::layers::gather_images", step, 8), "8 x [1, 4, 5]");
  EXPECT_EQ(step_kernel_shape("quern::loss::regression_flat", step, 8), "8 x [3]");
  EXPECT_EQ(step_kernel_shape("quern::optim::adam", step, 8), "1000");
  EXPECT_EQ(step_kernel_shape("quern::strategy::end_batch", step, 8), "");
}

TEST(KernelCost, OfAKernelThatIsNotDeclaredIsUnknown) {
  // Once the words inside a label counted: a new kernel got the cost of another, or of none.
  for (const char* label : {"quern::layers::batch_norm2d_forward", "my::swish", "",
                            "quern::layers::relu_of_somebody_else"}) {
    EXPECT_EQ(layer_kernel_cost(label, dense(), 10).bytes, 0) << label;
    EXPECT_EQ(layer_kernel_cost(label, dense(), 10).flop, 0) << label;
    EXPECT_EQ(step_kernel_cost(label, {Shape{3}, Shape{3}, 1000}, 8).bytes, 0) << label;
  }
}

TEST(KernelCost, IsDeclaredForEveryKernelOfAStep) {
  const std::vector<std::string> declared = kernels_with_declared_cost();
  const std::set<std::string> known(declared.begin(), declared.end());
  EXPECT_EQ(known.size(), declared.size()) << "a kernel twice";
  auto recipes = test::step_recipes();
  for (const char* name : {"mlp-mnist", "autoencoder-mnist"})
    recipes.push_back(test::shipped_recipe(name));
  if (kHostExecution && !runs_device_kernels()) {
    const auto count = recipes.size();
    for (std::size_t i = 0; i < count; ++i)
      recipes.emplace_back(recipes[i]).train.precision = Precision::bf16;
  }
  std::set<std::string> seen;
  for (const Recipe& recipe : recipes) {
    const Samples samples = test::image_samples(45, recipe.network.input, 5);
    SerialCommunicator comm;
    Model model(recipe);
    TrainingStep step(recipe, comm, model, samples);
    KernelProfile profile;
    for (int i = 0; i < 2; ++i) step.run(ExecSpace(), false);
    for (const KernelTime& time : profile.take()) {
      if (time.kernel.rfind("quern::", 0) != 0) continue;  // Kokkos' own
      seen.insert(time.kernel);
      EXPECT_TRUE(known.count(time.kernel)) << time.kernel << " of " << recipe.name;
    }
  }
  for (const char* kernel : {"quern::optim::clip_chunks", "quern::optim::adam",
                             "quern::optim::sgd_momentum", "quern::layers::dropout"})
    EXPECT_TRUE(seen.count(kernel)) << kernel;
}

}  // namespace
}  // namespace quern
