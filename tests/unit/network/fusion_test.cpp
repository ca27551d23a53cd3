// SPDX-License-Identifier: Apache-2.0
// Nodes that compute their neighbours: that they do so, and that the bits stay.
#include "network/fusion.hpp"

#include <gtest/gtest.h>

#include "tensor/kernel_choice.hpp"
#include "unit/network/layers_alone.hpp"

namespace quern::test {

TEST(Fusion, AFirstConvolutionTakesOverReluAndPool) {
  const LayerSpec mean = pool(LayerType::avg_pool2d, 2);
  const LayerSpec maximum = pool(LayerType::max_pool2d, 3);
  expect_same_as_layers(network_of({2, 10, 8}, {conv2d(5, 3), relu, mean, flatten, linear(3)}));
  expect_same_as_layers(network_of({1, 9, 12}, {conv2d(7, 3, 1, 1), relu, maximum, tanh_layer}));
  expect_same_as_layers(network_of({1, 8, 8}, {conv2d(3, 3), relu, mean}));
  expect_same_as_layers(network_of({1, 8, 8}, {conv2d(3, 3), relu, mean, flatten}));
  // Not: another convolution, a first layer in front, somebody who reads between.
  expect_same_as_layers(
      network_of({1, 14, 14}, {conv2d(3, 3), conv2d(4, 3), relu, mean, flatten, linear(2)}));
  expect_same_as_layers(network_of({1, 10, 10}, {relu, conv2d(3, 3), relu, mean}));
  expect_same_as_layers(network_of({1, 10, 10}, {conv2d(3, 3), relu, dropout(0.5), mean}));
  expect_same_as_layers(network_of({1, 10, 10}, {conv2d(3, 3), tanh_layer, mean}));

  // Neither what lies between nor its gradient has a buffer of its own.
  const Network fused(network_of({1, 10, 10}, {conv2d(4, 3), relu, mean}));
  const Network apart(network_of({1, 10, 10}, {conv2d(4, 3), tanh_layer, mean}));
  if (!runs_device_kernels()) {
    EXPECT_LT(fused.memory_bytes(64), apart.memory_bytes(64));
  }
}

// `layer` reads these layers.
TEST(Fusion, TwoBranchesThatAreBothFused) {
  // Each a convolution of the batch with its ReLU and pool, of one value and of two.
  const LayerSpec mean = pool(LayerType::avg_pool2d, 2);
  const NetworkSpec pools =
      network_of({2, 8, 8}, {conv2d(4, 3), relu, mean, reading(conv2d(4, 3), {"input"}), relu, mean,
                             add({"avg_pool2d1", "avg_pool2d2"}), flatten, linear(3)});
  expect_same_as_layers(pools);
  if (!runs_device_kernels()) {
    const Network network(pools);
    EXPECT_TRUE(network.fusion().node(0).pool);
    EXPECT_TRUE(network.fusion().node(3).pool);
  }
  // A ReLU whose derivative both of its readers apply, and one that only one of them could.
  const NetworkSpec relus =
      network_of({9, 1, 1}, {linear(18), relu, linear(7), reading(linear(7), {"relu1"}),
                             add({"linear2", "linear3"}), relu, linear(3)});
  expect_same_as_layers(relus);
  const Network both(relus);
  EXPECT_TRUE(both.fusion().node(1).backward_elsewhere);
  EXPECT_TRUE(both.fusion().node(2).with_input_relu);
  EXPECT_TRUE(both.fusion().node(3).with_input_relu);
  EXPECT_TRUE(both.fusion().node(4).with_relu) << "the add computes the second ReLU";
  const NetworkSpec mixed = network_of(
      {9, 1, 1}, {linear(7), relu, linear(7), reading(gelu, {"relu1"}), add({"linear2", "gelu1"})});
  expect_same_as_layers(mixed);
  EXPECT_FALSE(Network(mixed).fusion().node(2).with_input_relu);
}

TEST(Fusion, BatchNormComputesTheSumBehindIt) {
  const LayerSpec norm = simple(LayerType::batch_norm);
  // The identity beside it; a convolution beside it, whose normalisation comes last.
  const NetworkSpec blocks =
      network_of({3, 6, 6}, {conv2d(4, 3, 1, 1), norm, relu, conv2d(4, 3, 1, 1), norm,
                             add({"batch_norm2", "relu1"}), relu, conv2d(5, 3, 2, 1), norm,
                             reading(conv2d(5, 1, 2), {"relu2"}), norm,
                             add({"batch_norm3", "batch_norm4"}), relu, flatten, linear(3)});
  expect_same_as_layers(blocks);
  const Network network(blocks);
  const auto sum_of = [&](int node) { return network.fusion().node(node).sum; };
  EXPECT_EQ(sum_of(1), -1);
  EXPECT_EQ(sum_of(4), 5);
  EXPECT_EQ(sum_of(8), -1) << "what is added comes later";
  EXPECT_EQ(sum_of(10), 11);
  EXPECT_EQ(network.fusion().node(11).overwritten, 1);
  // Without a ReLU; flat; the batch itself; three parts; not what others read, too.
  expect_same_as_layers(network_of(
      {17, 1, 1}, {linear(17), norm, add({"batch_norm1", "input"}), linear(4), norm, relu,
                   linear(4), norm, add({"relu1", "batch_norm3", "linear2"}), linear(2)}));
  const NetworkSpec read_twice = network_of(
      {2, 5, 4}, {conv2d(3, 1), norm, relu, conv2d(3, 1), norm, add({"relu1", "batch_norm2"}),
                  reading(relu, {"batch_norm2"}), add({"add1", "relu2"}), flatten, linear(2)});
  expect_same_as_layers(read_twice);
  EXPECT_EQ(Network(read_twice).fusion().node(4).sum, -1);
}

TEST(Fusion, TheSumOfGradientsAppliesTheDerivativeOfARelu) {
  const NetworkSpec spec =
      network_of({3, 6, 6}, {conv2d(4, 3, 1, 1), add({"conv2d1", "conv2d1"}), relu,
                             conv2d(4, 3, 1, 1), add({"conv2d2", "relu1"}), relu,
                             conv2d(4, 3, 1, 1), reading(conv2d(4, 1), {"relu2"}),
                             add({"conv2d3", "conv2d4", "relu2"}), flatten, linear(3)});
  expect_same_as_layers(spec);
  const Network network(spec);
  const BufferPlan plan = plan_buffers(network.graph(), network.fusion(), 32);
  EXPECT_TRUE(plan.backward[2].in_sum);
  EXPECT_TRUE(plan.backward[5].in_sum);
  int sums = 0;
  for (const GradientSum& sum : plan.backward[6].sums) sums += sum.with_relu ? 1 : 0;
  EXPECT_EQ(sums, 1) << "three parts, one of the sums is the last";
}

TEST(Fusion, AConvolutionOnTilesAddsToTheGradientOfItsInput) {
  // relu1 is read by a convolution and a sum; relu2 by two convolutions, of which the first one
  // leaves pixels out, and of which the other one could not apply the derivative.
  const NetworkSpec spec =
      network_of({3, 6, 7}, {conv2d(4, 3, 1, 1), relu, conv2d(4, 3, 1, 1),
                             simple(LayerType::batch_norm), add({"batch_norm1", "relu1"}), relu,
                             conv2d(5, 1, 2), reading(conv2d(5, 3, 2, 1), {"relu2"}),
                             add({"conv2d3", "conv2d4"}), conv2d(2, 1)});
  expect_same_as_layers(spec);
  for (const OperandPrecision precision : {OperandPrecision::bf16, OperandPrecision::bf16_pairs}) {
    if (runs_device_kernels()) break;
    NetworkSetup setup;
    setup.kernels.precision = precision;
    expect_same_as_layers(spec, setup.kernels);
    const Network network(spec, setup);
    const BufferPlan plan = plan_buffers(network.graph(), network.fusion(), 32);
    for (const int convolution : {2, 6}) {
      const NodeBackward& backward = plan.backward[static_cast<std::size_t>(convolution)];
      EXPECT_TRUE(backward.adds_to_dx && backward.with_relu_of_x) << convolution;
      EXPECT_TRUE(backward.sums.empty());
      EXPECT_TRUE(plan.backward[static_cast<std::size_t>(convolution - 1)].in_sum);
    }
    EXPECT_FALSE(plan.backward[7].adds_to_dx) << "the first to hand back a gradient";
    // Convolutions that all apply the derivative by themselves.
    expect_same_as_layers(
        network_of({3, 5, 6}, {conv2d(4, 3), relu, conv2d(5, 1), reading(conv2d(5, 1), {"relu1"}),
                               add({"conv2d2", "conv2d3"}), conv2d(2, 1)}),
        setup.kernels);
    // The sum hands back the gradient that the convolution reads.
    const NetworkSpec shared = network_of({3, 5, 6}, {conv2d(4, 3), relu, conv2d(4, 3, 1, 1),
                                                      add({"conv2d2", "relu1"}), conv2d(2, 1)});
    expect_same_as_layers(shared, setup.kernels);
    const Network apart(shared, setup);
    EXPECT_FALSE(plan_buffers(apart.graph(), apart.fusion(), 32).backward[2].adds_to_dx);
  }
}

TEST(Fusion, ConvolutionsAndBatchNormHandEachOtherBfloat16) {
  const LayerSpec norm = simple(LayerType::batch_norm);
  const auto no_bias = [](LayerSpec spec) {
    spec.bias = false;
    return spec;
  };
  // A convolution with a bias, whose normalisation two read; a block of two, with a sum at its end;
  // one in front of a tanh; one whose normalisation is all in front of the next.
  const NetworkSpec spec =
      network_of({3, 7, 6}, {conv2d(5, 3, 1, 1), norm, relu, no_bias(conv2d(7, 3, 1, 1)), norm,
                             relu, no_bias(conv2d(5, 1)), norm, add({"batch_norm3", "relu1"}), relu,
                             no_bias(conv2d(4, 3, 2, 1)), norm, tanh_layer,
                             no_bias(conv2d(6, 1, 2)), norm, conv2d(6, 3, 1, 1), relu});
  expect_same_as_layers(spec);
  for (const OperandPrecision precision : {OperandPrecision::bf16, OperandPrecision::bf16_pairs}) {
    if (runs_device_kernels()) break;
    NetworkSetup setup;
    setup.kernels.precision = precision;
    expect_same_as_layers(spec, setup.kernels);
    const Network network(spec, setup);
    std::string rounded;
    for (const NodeFusion& node : network.fusion().nodes)
      rounded += "-ogb"[(node.rounds_output ? 1 : 0) + (node.rounds_gradient ? 2 : 0)];
    EXPECT_EQ(rounded, "o--bbbb---b--bb--") << "output, gradient, both";
    // Elsewhere threads would overwrite what others have to read.
    const BufferPlan plan = plan_buffers(network.graph(), network.fusion(), 32);
    for (const std::size_t norm_node : {1, 4, 7, 11, 14}) {
      const NodeBackward& backward = plan.backward[norm_node];
      const bool is_same_layout = norm_node == 1 || norm_node == 4 || norm_node == 14;
      EXPECT_EQ(backward.dx[0] == backward.dy, is_same_layout) << norm_node;
    }
    EXPECT_LT(network.memory_bytes(64), Network(spec).memory_bytes(64));
    const TestBatch batch{7, 3, 16};
    EXPECT_EQ(run_network(spec, batch, 0, true, setup.kernels).gradients,
              run_network(spec, batch, 0, false, setup.kernels).gradients);
  }
}

// Samples, and the output of a ReLU, may have deviations that bfloat16 does not see.
TEST(Fusion, BatchNormRoundsWhatItReadsBehindAConvolutionAlone) {
  if (runs_device_kernels()) GTEST_SKIP() << "images in bfloat16 are for CPUs";
  const LayerSpec norm = simple(LayerType::batch_norm);
  const NetworkSpec spec =
      network_of({3, 7, 6}, {norm, conv2d(5, 3, 1, 1), relu, norm, conv2d(4, 3), norm});
  NetworkSetup setup;
  setup.kernels.precision = OperandPrecision::bf16;
  expect_same_as_layers(spec, setup.kernels);
  const Network network(spec, setup);
  std::string rounds;
  for (const Node& node : network.graph().nodes())
    if (node.layer) rounds += node.layer->traits().reads_rounded_input ? 'r' : '-';
  EXPECT_EQ(rounds, "-r--rr");
  EXPECT_TRUE(network.fusion().node(0).rounds_output) << "what only a convolution reads";
  EXPECT_FALSE(network.fusion().node(2).rounds_output);
}

// Copies what it is given into d_output(), as a loss does, after the ReLU if that is left to it.
std::vector<float> gradients_after_loss(const Network& network, const Activations& arrays,
                                        const TestBatch& batch) {
  const StepContext step = step_for(batch, network.table());
  set_values(arrays.input(), row_values(batch, network.input_shape().units(), 1, 0));
  network.forward(ExecSpace(), step, arrays);
  std::vector<float> gradient = row_values(batch, network.output_shape().units(), 2, 0);
  const std::vector<float> output = values_of(arrays.output());
  for (std::size_t i = 0; i < gradient.size(); ++i)
    if (network.relu_left_to_loss() && output[i] <= 0) gradient[i] = 0;
  set_values(arrays.d_output(), gradient);
  network.backward(ExecSpace(), step, arrays);
  return gradients_of(step, network.table());
}

TEST(Fusion, TheLossMayApplyTheDerivativeOfALastRelu) {
  NetworkSetup setup;
  setup.loss_applies_relu = true;
  const auto leaves_it = [&](const NetworkSpec& spec) {
    EXPECT_FALSE(Network(spec).relu_left_to_loss());
    return Network(spec, setup).relu_left_to_loss();
  };
  EXPECT_FALSE(leaves_it(network_of({20, 1, 1}, {linear(20)})));
  EXPECT_FALSE(leaves_it(network_of({20, 1, 1}, {linear(20), gelu})));
  // Its output and its input are two arrays there.
  EXPECT_FALSE(leaves_it(network_of({20, 1, 1}, {linear(20), tanh_layer, relu})));
  EXPECT_TRUE(leaves_it(network_of({2, 3, 3}, {conv2d(4, 2), relu})));
  NetworkSetup converted = setup;
  converted.output_layout = flat_layout();
  EXPECT_FALSE(Network(network_of({2, 3, 3}, {conv2d(4, 2), relu}), converted).relu_left_to_loss());

  const NetworkSpec spec = network_of({20, 1, 1}, {linear(18), relu, linear(19), relu});
  const TestBatch batch;
  const Network network(spec, setup);
  EXPECT_TRUE(network.relu_left_to_loss());
  Activations arrays = network.allocate(batch.rows());
  arrays.set_rows(batch.rows());
  EXPECT_EQ(gradients_after_loss(network, arrays, batch), run_network(spec, batch).gradients);
}

TEST(Fusion, TheLossMayOverwriteTheOutput) {
  NetworkSetup setup;
  setup.loss_overwrites_output = true;
  const auto lies_in_output = [&](const NetworkSpec& spec) {
    EXPECT_FALSE(Network(spec).fusion().loss_overwrites_output);
    const Network network(spec, setup);
    const TestBatch batch;
    Activations arrays = network.allocate(batch.rows());
    Activations beside = network.allocate(batch.rows(), &arrays);
    arrays.set_rows(batch.rows());
    beside.set_rows(batch.rows());
    const bool is_inside = arrays.d_output().data.data() == arrays.output().data.data();
    EXPECT_EQ(beside.d_output().data.data() == beside.output().data.data(), is_inside);
    EXPECT_NE(beside.output().data.data(), arrays.output().data.data());
    EXPECT_EQ(network.fusion().loss_overwrites_output, is_inside);
    // No other gradient, which may be larger, lies there later.
    const BufferPlan plan = plan_buffers(network.graph(), network.fusion(), batch.rows());
    EXPECT_EQ(plan.gradient_floats[static_cast<std::size_t>(plan.d_output)] == 0, is_inside);
    const std::int64_t saved = Network(spec).memory_bytes(64) - network.memory_bytes(64);
    EXPECT_GE(saved, 0);
    const std::vector<float> expected = run_network(spec, batch).gradients;
    for (const Activations* in_flight : {&arrays, &beside, &arrays})
      EXPECT_EQ(gradients_after_loss(network, *in_flight, batch), expected);
    return is_inside;
  };
  const NetworkSpec chain = network_of({20, 1, 1}, {linear(33), relu, linear(7)});
  EXPECT_LT(Network(chain, setup).memory_bytes(64), Network(chain).memory_bytes(64));
  const LayerSpec norm = simple(LayerType::batch_norm);
  const LayerSpec mean = pool(LayerType::avg_pool2d, 2);
  const LayerSpec maximum = pool(LayerType::max_pool2d, 3);
  // Gradients on the way that are as large as the output, and larger.
  EXPECT_TRUE(lies_in_output(network_of({20, 1, 1}, {linear(19), gelu, linear(19)})));
  EXPECT_TRUE(lies_in_output(network_of({20, 1, 1}, {linear(33), tanh_layer, linear(7)})));
  EXPECT_TRUE(lies_in_output(network_of({2, 3, 3}, {conv2d(4, 2), relu, conv2d(3, 2), flatten})));
  EXPECT_TRUE(lies_in_output(network_of({2, 3, 3}, {conv2d(4, 2), norm})));
  EXPECT_TRUE(lies_in_output(network_of({2, 3, 3}, {conv2d(4, 2), norm, relu})));
  EXPECT_TRUE(lies_in_output(network_of({2, 3, 3}, {conv2d(4, 2), gelu})));
  EXPECT_TRUE(lies_in_output(network_of({1, 8, 8}, {conv2d(3, 3), relu, mean})));
  EXPECT_TRUE(lies_in_output(network_of({1, 9, 9}, {conv2d(3, 3), relu, maximum})));
  EXPECT_TRUE(lies_in_output(
      network_of({9, 1, 1}, {linear(7), simple(LayerType::layer_norm), linear(5), norm})));
  EXPECT_TRUE(lies_in_output(network_of({9, 1, 1}, {linear(7), simple(LayerType::layer_norm)})));
  // In place of another value, or of none because backward reads that; both branches get it.
  EXPECT_TRUE(lies_in_output(network_of({20, 1, 1}, {linear(18), dropout(0.5)})));
  EXPECT_TRUE(lies_in_output(network_of({20, 1, 1}, {linear(18), tanh_layer, dropout(0.5)})));
  EXPECT_TRUE(lies_in_output(network_of(
      {9, 1, 1}, {linear(7), reading(linear(7), {"input"}), add({"linear1", "linear2"})})));
  EXPECT_TRUE(
      lies_in_output(network_of({9, 1, 1}, {linear(7), tanh_layer, reading(linear(7), {"input"}),
                                            tanh_layer, add({"tanh1", "tanh2"})})));
  // Backward reads the output.
  EXPECT_FALSE(lies_in_output(network_of({20, 1, 1}, {linear(19), tanh_layer})));
  EXPECT_FALSE(lies_in_output(network_of({20, 1, 1}, {linear(19), tanh_layer, tanh_layer})));
  EXPECT_FALSE(lies_in_output(network_of({20, 1, 1}, {linear(18), relu, linear(19), relu})));
  EXPECT_FALSE(lies_in_output(network_of({2, 3, 3}, {conv2d(4, 2), relu})));

  setup.loss_applies_relu = true;
  EXPECT_TRUE(lies_in_output(network_of({20, 1, 1}, {linear(18), relu, linear(19), relu})));
  EXPECT_TRUE(lies_in_output(network_of({2, 3, 3}, {conv2d(4, 2), relu})));

  setup.recompute = true;
  const NetworkSpec deep =
      network_of({20, 1, 1}, {linear(21), linear(22), linear(23), linear(24), linear(25),
                              linear(26), linear(27), linear(28), linear(29), linear(30)});
  EXPECT_GT(Network(deep, setup).num_recomputed_segments(), 0);
  EXPECT_TRUE(lies_in_output(deep));
}

// Operands are another layout.
TEST(Fusion, TheLossOverwritesNoOutputWhereItWritesTiles) {
  NetworkSetup setup;
  setup.kernels.precision = OperandPrecision::bf16;
  setup.loss_applies_relu = setup.loss_writes_tiles = true;
  NetworkSetup both = setup;
  both.loss_overwrites_output = true;
  for (const NetworkSpec& spec : {network_of({20, 1, 1}, {linear(18), relu, linear(19)}),
                                  network_of({20, 1, 1}, {linear(18), relu, linear(19), relu})}) {
    const Network network(spec, both);
    EXPECT_EQ(network.fusion().loss_overwrites_output, runs_device_kernels());
    EXPECT_EQ(network.memory_bytes(64) == Network(spec, setup).memory_bytes(64),
              !runs_device_kernels());
  }
}

}  // namespace quern::test
