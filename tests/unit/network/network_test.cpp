// SPDX-License-Identifier: Apache-2.0
// A network must give the bits that its layers give one by one, with a buffer for everything.
#include "network/network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "layers/elementwise.hpp"
#include "spec/words.hpp"
#include "support/expect_error.hpp"
#include "unit/network/layers_alone.hpp"

namespace quern::test {

namespace {

/// Layers that make one number of one, which may work in place.
std::vector<LayerSpec> layers_of_single_numbers() {
  std::vector<LayerSpec> layers = {dropout(0.5)};
  for (const auto& [word, type] : words_of<LayerType>()) {
    try {
      make_elementwise(simple(type), {3});
      layers.push_back(simple(type));
    } catch (const Error&) {  // another type
    }
  }
  return layers;
}

}  // namespace

TEST(Network, EveryLayerTypeInOneNetwork) {
  LayerSpec norm = simple(LayerType::batch_norm);
  norm.statistics = Statistics::block;
  LayerSpec sets = simple(LayerType::group_norm);
  sets.groups = 2;
  const NetworkSpec spec =
      network_of({3, 9, 7}, {gelu,
                             conv2d(4, 3, 1, 1),
                             sets,
                             norm,
                             relu,
                             dropout(0.3),
                             pool(LayerType::max_pool2d, 2, 1),
                             sigmoid,
                             pool(LayerType::avg_pool2d, 2),
                             simple(LayerType::layer_norm),
                             silu,
                             flatten,
                             linear(11),
                             tanh_layer,
                             reading(simple(LayerType::global_avg_pool), {"silu1"}),
                             leaky_relu,
                             linear(11),
                             add({"tanh1", "linear2"}),
                             concat({"add1", "linear1", "add1"}),
                             upsample(3),
                             flatten,
                             dropout(0.5),
                             relu,
                             linear(5),
                             gelu});
  expect_same_as_layers(spec);
  for (const auto& [word, type] : words_of<LayerType>()) {
    if (type == LayerType::custom) continue;
    EXPECT_NE(std::ranges::find(spec.layers, type, &LayerSpec::type), spec.layers.end()) << word;
  }
}

TEST(Network, PaddedPoolsAndTheMeanOfChannels) {
  LayerSpec maximum = pool(LayerType::max_pool2d, 3, 2);
  LayerSpec mean = pool(LayerType::avg_pool2d, 2, 2);
  maximum.padding = mean.padding = 1;
  LayerSpec without_bias = conv2d(3, 3);
  without_bias.bias = false;
  const LayerSpec channels = simple(LayerType::global_avg_pool);
  expect_same_as_layers(network_of(
      {2, 11, 12}, {conv2d(4, 3, 2, 1), relu, maximum, without_bias, relu, channels, linear(3)}));
  expect_same_as_layers(
      network_of({1, 9, 8}, {without_bias, relu, mean, conv2d(2, 2), maximum, channels, relu}));
  expect_same_as_layers(network_of({2, 3, 3}, {channels, linear(4)}));
}

TEST(Network, ChainsOfLayersThatMayWorkInPlace) {
  // A layer whose backward reads its output must not be overwritten by the next one.
  for (const LayerSpec& first : layers_of_single_numbers()) {
    for (const LayerSpec& second : layers_of_single_numbers()) {
      SCOPED_TRACE(std::string(to_string(first.type)) + " " + to_string(second.type));
      expect_same_as_layers(network_of({19, 1, 1}, {linear(18), first, second, linear(3)}));
      expect_same_as_layers(network_of({2, 3, 3}, {first, conv2d(3, 2), first, second, second}));
    }
  }
}

TEST(Network, FlattenFirstLastAndTwice) {
  expect_same_as_layers(network_of({2, 4, 3}, {flatten, linear(5)}));
  expect_same_as_layers(network_of({2, 4, 3}, {flatten, conv2d(3, 1), relu}));
  expect_same_as_layers(network_of({2, 4, 3}, {conv2d(3, 2), flatten}));
  expect_same_as_layers(network_of({2, 4, 3}, {conv2d(3, 2), flatten, flatten, linear(2)}));
  expect_same_as_layers(network_of({2, 4, 3}, {flatten, relu, flatten, linear(2), flatten}));
}

TEST(Network, ImageLayersBetweenFlatOnes) {
  expect_same_as_layers(network_of({17, 1, 1}, {linear(20), conv2d(6, 1), relu, linear(4)}));
}

TEST(Network, OutputsThatNobodyReadsAreLeftOut) {
  // The last pool reads 8 of 9 rows, so conv2d2 reads 12 of 13 of the first pool's, which reads 24
  // of 26 rows of conv2d1.
  const NetworkSpec lenet =
      network_of({1, 28, 28}, {conv2d(3, 3), relu, pool(LayerType::avg_pool2d, 2), conv2d(4, 5),
                               relu, pool(LayerType::max_pool2d, 2), flatten, linear(2)});
  const Network network(lenet);
  EXPECT_EQ(network.layers()[0]->output_shape(), (Shape{3, 24, 24}));
  EXPECT_EQ(network.layers()[2]->output_shape(), (Shape{3, 12, 12}));
  EXPECT_EQ(network.layers()[3]->output_shape(), (Shape{4, 8, 8}));
  EXPECT_EQ(network.forward_macs(), 3 * 26 * 26 * 9 + 4 * 9 * 9 * 75 + 64 * 2) << "all outputs";
  expect_same_as_layers(lenet);

  // Padding, strides, windows with gaps and overlaps; a conv2d directly after another.
  expect_same_as_layers(
      network_of({2, 11, 8}, {conv2d(3, 3, 1, 1), tanh_layer, conv2d(2, 4, 2, 2), relu,
                              pool(LayerType::avg_pool2d, 2, 3), flatten, linear(3)}));
  expect_same_as_layers(
      network_of({2, 10, 11}, {conv2d(17, 2), relu, pool(LayerType::max_pool2d, 3, 2), conv2d(2, 3),
                               pool(LayerType::avg_pool2d, 2), flatten, linear(3)}));
  // Inputs that keep their size although no output reads their last rows: their gradient is 0.
  expect_same_as_layers(
      network_of({1, 12, 12}, {conv2d(3, 3), dropout(0.5), conv2d(2, 2),
                               pool(LayerType::avg_pool2d, 2), flatten, linear(2)}));
  expect_same_as_layers(
      network_of({2, 8, 8}, {conv2d(3, 3, 1, 1), relu, conv2d(2, 3, 1, 1),
                             pool(LayerType::avg_pool2d, 3), flatten, linear(2)}));
  // Dropout draws by unit: it keeps its shape. The last layer is read by the caller.
  expect_same_as_layers(
      network_of({1, 9, 9}, {conv2d(3, 3), dropout(0.5), pool(LayerType::avg_pool2d, 3),
                             conv2d(2, 2), pool(LayerType::max_pool2d, 1), relu}));
}

TEST(Network, BranchesThatMeetAgain) {
  const LayerSpec mean = pool(LayerType::avg_pool2d, 2);
  // A residual block, with and without a convolution beside it.
  expect_same_as_layers(
      network_of({3, 6, 6}, {conv2d(4, 3, 1, 1), relu, conv2d(4, 3, 1, 1), relu, conv2d(4, 3, 1, 1),
                             add({"conv2d3", "relu1"}), relu, conv2d(5, 3, 2, 1), relu,
                             conv2d(5, 3, 1, 1), reading(conv2d(5, 1, 2), {"relu3"}),
                             add({"conv2d5", "conv2d6"}), relu, mean, flatten, linear(3)}));
  // What one reader might overwrite, the other still reads, and its gradient too.
  for (const LayerSpec& layer : layers_of_single_numbers()) {
    SCOPED_TRACE(to_string(layer.type));
    const std::string name = to_string(layer.type) + std::string("1");
    expect_same_as_layers(
        network_of({19, 1, 1}, {linear(18), layer, add({"linear1", name}), linear(3)}));
    expect_same_as_layers(
        network_of({19, 1, 1}, {linear(18), layer, linear(18), add({name, "linear2"}), layer}));
    expect_same_as_layers(network_of(
        {19, 1, 1}, {linear(18), layer, linear(18), reading(layer, {name}),
                     add({"linear2", to_string(layer.type) + std::string("2"), "linear1"})}));
    expect_same_as_layers(
        network_of({19, 1, 1}, {linear(18), add({"linear1", "linear1"}), layer, linear(2)}));
  }
}

TEST(Network, OneValueReadInSeveralWays) {
  // In two layouts; by a pool and a convolution that need different parts of it; three times.
  expect_same_as_layers(network_of(
      {2, 6, 5},
      {conv2d(3, 3), flatten, linear(4), reading(conv2d(4, 1), {"conv2d1"}),
       pool(LayerType::avg_pool2d, 3), flatten, add({"linear1", "flatten2"}), linear(2)}));
  expect_same_as_layers(network_of(
      {1, 9, 9},
      {conv2d(3, 2), relu, pool(LayerType::max_pool2d, 3), reading(conv2d(3, 3, 3), {"relu1"}),
       reading(pool(LayerType::avg_pool2d, 3, 2), {"relu1"}), conv2d(3, 2),
       add({"max_pool2d1", "conv2d2", "conv2d3"}), flatten, linear(2)}));
  // Two values get the gradient of one sum while a part of one of them is still to come.
  expect_same_as_layers(
      network_of({19, 1, 1}, {linear(18), linear(18), linear(18), add({"linear2", "linear1"}),
                              add({"add1", "linear3"}), linear(2)}));
  // The batch itself; two branches of it, one of them without parameters.
  expect_same_as_layers(network_of({18, 1, 1}, {linear(18), add({"linear1", "input"}), linear(2)}));
  expect_same_as_layers(network_of({18, 1, 1}, {relu, linear(18), add({"relu1", "linear1"})}));
  expect_same_as_layers(
      network_of({2, 4, 4}, {conv2d(2, 3, 1, 1), add({"input", "conv2d1"}), flatten, linear(2)}));
  expect_same_as_layers(network_of({18, 1, 1}, {linear(9), relu, reading(linear(9), {"input"}),
                                                add({"linear2", "relu1"}), linear(2)}));
}

TEST(Network, OutputLayoutThatTheLossWants) {
  const NetworkSpec spec = network_of({2, 3, 3}, {conv2d(4, 3)});
  EXPECT_EQ(Network(spec).output_layout(), Layout::nchw16n);
  NetworkSetup setup;
  setup.output_layout = flat_layout();
  const Network network(spec, setup);
  EXPECT_EQ(network.output_layout(), flat_layout());
  EXPECT_EQ(network.output_shape(), Shape{4});
}

TEST(Network, BatchIsNeverOverwritten) {
  // It may be the target, too (auto-encoder).
  for (const LayerSpec& first : {relu, tanh_layer, dropout(0.5)}) {
    const NetworkSpec spec = network_of({20, 1, 1}, {first, relu, linear(20)});
    const TestBatch batch;
    const Network network(spec);
    Activations arrays = network.allocate(batch.rows());
    arrays.set_rows(batch.rows());
    const StepContext step = step_for(batch, network.table());
    const std::vector<float> before = row_values(batch, 20, 1, 0);
    set_values(arrays.input(), before);
    network.forward(ExecSpace(), step, arrays);
    set_values(arrays.d_output(), row_values(batch, 20, 2, 0));
    network.backward(ExecSpace(), step, arrays);
    EXPECT_EQ(values_of(arrays.input()), before);
  }
}

TEST(Network, RankWithoutRowsWritesNothing) {
  for (const NetworkSpec& spec :
       {network_of({2, 4, 4}, {conv2d(3, 2, 1, 1), relu, flatten, linear(2)}),
        network_of({2, 4, 4},
                   {conv2d(3, 3, 1, 1), relu, pool(LayerType::max_pool2d, 2), flatten, linear(2)}),
        network_of({2, 4, 4}, {conv2d(3, 3, 1, 1), relu, conv2d(3, 3, 1, 1),
                               add({"conv2d2", "relu1"}), relu, flatten, linear(2)})}) {
    const Network network(spec);
    Activations arrays = network.allocate(0);
    arrays.set_rows(0);
    StepContext step = step_for({}, network.table());
    step.schedule = make_block_schedule(3, 3, 3, 16);
    ASSERT_EQ(step.schedule.num_partial_sums, 0);
    const std::vector<float> before = to_vector(step.gradients.data);
    const std::vector<float> parameters = to_vector(step.parameters);
    ASSERT_FALSE(before.empty());
    network.forward(ExecSpace(), step, arrays);
    EXPECT_EQ(arrays.output().rows, 0);
    network.backward(ExecSpace(), step, arrays);
    EXPECT_EQ(to_vector(step.gradients.data), before);
    EXPECT_EQ(to_vector(step.parameters), parameters);
  }
}

TEST(Network, TakesNoMoreRowsThanThereIsRoomFor) {
  const TestBatch batch;
  const Network network(network_of({4, 1, 1}, {linear(3)}));
  Activations arrays = network.allocate(batch.rows());
  EXPECT_NO_THROW(arrays.set_rows(batch.rows()));
  EXPECT_THROW(arrays.set_rows(batch.rows() + kLanes), Error);
}

// Kernels that leave out empty rows would read it anyway.
TEST(Network, WantsToKnowTheSampleOfEachRow) {
  const TestBatch batch;
  const Network network(network_of({4, 1, 1}, {linear(3), simple(LayerType::batch_norm)}));
  Activations arrays = network.allocate(batch.rows());
  arrays.set_rows(batch.rows());
  StepContext step = make_test_step(batch, network.table().block_size());
  step.mode = Mode::evaluate;
  step.sample_of_row = {};
  expect_error([&] { network.forward(ExecSpace(), step, arrays); }, ExitCode::failure,
               {"StepContext::sample_of_row tells of 0 rows",
                "expected the " + std::to_string(batch.rows()) + " of the batch"});
}

TEST(Network, TensorsHaveTheRateOfTheirLayer) {
  NetworkSpec spec = network_of({4, 3, 3}, {conv2d(5, 2, 1, 0), simple(LayerType::batch_norm), relu,
                                            flatten, linear(7), linear(3)});
  spec.layers[1].lr_factor = 0.5;
  spec.layers[5].lr_factor = 2;
  std::map<std::string, float> factors;
  const Network network(spec);
  for (const ParameterEntry& entry : network.table().entries())
    factors[entry.name.substr(0, entry.name.find('.'))] += entry.lr_factor;
  const std::string& norm = spec.layers[1].name;
  const std::string& last = spec.layers[5].name;
  for (const auto& [layer, sum] : factors) {
    const int tensors = layer == norm ? 4 : 2;  // with the running statistics
    const float expected = layer == norm ? 0.5f : layer == last ? 2.0f : 1.0f;
    EXPECT_EQ(sum, static_cast<float>(tensors) * expected) << layer;
  }
  EXPECT_EQ(factors.size(), 4u);
}

}  // namespace quern::test
