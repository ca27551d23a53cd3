// SPDX-License-Identifier: Apache-2.0
// A network must give the bits that its layers give one by one, with a buffer for everything.
#include "network/network.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "layers/layout.hpp"
#include "network/build_layer.hpp"
#include "support/layer_specs.hpp"
#include "support/random_values.hpp"
#include "support/test_step.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern::test {

namespace {

constexpr float kGarbage = 3;  // in padding and slack, where nothing may depend on it

struct Numbers {
  std::vector<float> output;
  std::vector<float> gradients;  // all partial sums of all tensors, gaps left out
};

// Values of the filled rows; `empty` in the others.
std::vector<float> row_values(const TestBatch& batch, int units, std::uint64_t seed, float empty) {
  const auto size = static_cast<std::size_t>(units);
  std::vector<float> values;
  for (const std::int64_t sample : sample_of_row(batch)) {
    const std::vector<float> drawn =
        random_values(size, seed * 100 + static_cast<std::uint64_t>(sample + 1));
    for (const float value : drawn) values.push_back(sample < 0 ? empty : value);
  }
  return values;
}

std::vector<float> filled_rows(const TestBatch& batch, const Activation& activation) {
  const std::vector<float> values = values_of(activation);
  const std::vector<std::int64_t> samples = sample_of_row(batch);
  std::vector<float> filled;
  for (int row = 0; row < activation.rows; ++row) {
    if (samples[static_cast<std::size_t>(row)] < 0) continue;
    const auto one = sample_of(values, activation.shape.units(), row);
    filled.insert(filled.end(), one.begin(), one.end());
  }
  return filled;
}

std::vector<float> gradients_of(const StepContext& step, const ParameterTable& table) {
  const std::vector<float> raw = to_vector(step.gradients.data);
  std::vector<float> values;
  for (int p = 0; p < step.schedule.num_partial_sums; ++p) {
    for (const ParameterEntry& entry : table.entries()) {
      const auto block = std::span(raw).subspan(static_cast<std::size_t>(p * step.gradients.stride),
                                                static_cast<std::size_t>(table.block_size()));
      const std::vector<float> tensor = read_tensor(entry, block);
      values.insert(values.end(), tensor.begin(), tensor.end());
    }
  }
  return values;
}

StepContext step_for(const TestBatch& batch, const ParameterTable& table) {
  StepContext step = make_test_step(batch, table.block_size());
  std::vector<float> parameters(static_cast<std::size_t>(table.block_size()) + 128, kGarbage);
  for (const ParameterEntry& entry : table.entries()) {
    const auto drawn = random_values(static_cast<std::size_t>(entry.count), 9, -0.5f, 0.5f);
    write_tensor(entry, drawn, parameters);
  }
  step.parameters = to_view(parameters);
  return step;
}

Numbers run_network(const NetworkSpec& spec, const TestBatch& batch, int spare_rows = 0) {
  Network network(spec);
  network.allocate(batch.rows() + spare_rows);
  network.set_rows(batch.rows());
  const StepContext step = step_for(batch, network.table());
  const ExecSpace exec;
  set_values(network.input(), row_values(batch, spec.input.units(), 1, 0));
  network.forward(exec, step);
  const std::vector<float> output = filled_rows(batch, network.output());
  set_values(network.d_output(), row_values(batch, network.output_shape().units(), 2, 0));
  network.backward(exec, step);
  return {output, gradients_of(step, network.table())};
}

// The same with every layer on its own: nothing in place, nothing shared, no gradient left out.
Numbers run_layers(const NetworkSpec& spec, const TestBatch& batch) {
  struct Link {
    std::unique_ptr<Layer> layer;  // null: a change of layout
    Activation x, y;
  };
  const ExecSpace exec;
  std::vector<Link> links;
  ParameterTable table;
  Activation current{{}, spec.input, flat_layout(), batch.rows()};
  const auto convert = [&](Layout to) {
    if (current.layout == to) return;
    links.push_back({nullptr, current, {{}, current.shape, to, batch.rows()}});
    current = links.back().y;
  };
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    if (spec.layers[i].type == LayerType::flatten) {
      convert(flat_layout());
      current.shape = Shape{current.shape.units()};
      continue;
    }
    auto layer = build_layer(spec.layers[i], current.shape, static_cast<int>(i));
    convert(layer->input_layout(current.layout));
    layer->add_parameters(table);
    layer->allocate(batch.rows());
    const Layout out = layer->output_layout(current.layout);
    links.push_back({std::move(layer), current, {}});
    current = {{}, links.back().layer->output_shape(), out, batch.rows()};
    links.back().y = current;
  }

  const StepContext step = step_for(batch, table);
  const auto fresh = [](const Activation& like) {
    return filled_activation(like.shape, like.layout, like.rows, kGarbage);
  };
  Activation input{{}, spec.input, flat_layout(), batch.rows()};
  input = fresh(input);
  set_values(input, row_values(batch, spec.input.units(), 1, 0));
  Activation x = input;
  for (Link& link : links) {
    link.x.data = x.data;
    link.y = fresh(link.y);
    if (link.layer) {
      link.layer->forward(exec, step, link.x, link.y);
    } else {
      convert_layout(exec, link.x, link.y);
    }
    x = link.y;
  }
  Numbers numbers{filled_rows(batch, x), {}};
  Activation dy = fresh(x);
  set_values(dy, row_values(batch, x.shape.units(), 2, 0));
  for (auto link = links.rbegin(); link != links.rend(); ++link) {
    const Activation dx = fresh(link->x);
    Activation gradient = link->y;
    gradient.data = dy.data;
    if (link->layer) {
      link->layer->backward(exec, step, link->x, link->y, gradient, dx);
    } else {
      convert_layout(exec, gradient, dx);
    }
    dy = dx;
  }
  numbers.gradients = gradients_of(step, table);
  return numbers;
}

void expect_same_as_layers(const NetworkSpec& spec) {
  for (const TestBatch& batch : {TestBatch{7, 3, 16}, TestBatch{18, 17, 32}, TestBatch{1, 1, 16}}) {
    SCOPED_TRACE(std::to_string(batch.samples) + " samples");
    const Numbers expected = run_layers(spec, batch);
    for (const int spare_rows : {0, 32}) {
      const Numbers actual = run_network(spec, batch, spare_rows);
      EXPECT_EQ(actual.output, expected.output);
      EXPECT_EQ(actual.gradients, expected.gradients);
    }
  }
}

}  // namespace

TEST(Network, EveryLayerTypeInOneNetwork) {
  expect_same_as_layers(network_of(
      {3, 9, 7}, {gelu, conv2d(4, 3, 1, 1), relu, dropout(0.3), pool(LayerType::max_pool2d, 2, 1),
                  sigmoid, pool(LayerType::avg_pool2d, 2), flatten, linear(11), tanh_layer,
                  dropout(0.5), relu, linear(5), gelu}));
}

TEST(Network, ChainsOfLayersThatMayWorkInPlace) {
  // A layer whose backward reads its output must not be overwritten by the next one.
  for (const LayerSpec& first : {relu, tanh_layer, sigmoid, gelu, dropout(0.5)}) {
    for (const LayerSpec& second : {relu, tanh_layer, sigmoid, gelu, dropout(0.5)}) {
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

TEST(Network, AFirstConvolutionTakesOverReluAndPool) {
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

TEST(Network, OutputLayoutThatTheLossWants) {
  Network network(network_of({2, 3, 3}, {conv2d(4, 3)}));
  EXPECT_EQ(network.output_layout(), Layout::nchw16n);
  network.set_output_layout(flat_layout());
  EXPECT_EQ(network.output_layout(), flat_layout());
  EXPECT_EQ(network.output_shape(), Shape{4});
}

TEST(Network, TheLossMayApplyTheDerivativeOfALastRelu) {
  EXPECT_FALSE(Network(network_of({20, 1, 1}, {linear(20)})).ends_with_relu());
  EXPECT_FALSE(Network(network_of({20, 1, 1}, {linear(20), gelu})).ends_with_relu());
  // Its output and its input are two arrays there.
  EXPECT_FALSE(Network(network_of({20, 1, 1}, {linear(20), tanh_layer, relu})).ends_with_relu());
  Network converted(network_of({2, 3, 3}, {conv2d(4, 2), relu}));
  EXPECT_TRUE(converted.ends_with_relu());
  converted.set_output_layout(flat_layout());
  EXPECT_FALSE(converted.ends_with_relu());

  const NetworkSpec spec = network_of({20, 1, 1}, {linear(18), relu, linear(19), relu});
  const TestBatch batch;
  Network network(spec);
  EXPECT_TRUE(network.ends_with_relu());
  network.leave_out_last_derivative();
  network.allocate(batch.rows());
  network.set_rows(batch.rows());
  const StepContext step = step_for(batch, network.table());
  set_values(network.input(), row_values(batch, 20, 1, 0));
  network.forward(ExecSpace(), step);
  std::vector<float> gradient = row_values(batch, 19, 2, 0);
  const std::vector<float> output = values_of(network.output());
  for (std::size_t i = 0; i < gradient.size(); ++i)
    if (output[i] <= 0) gradient[i] = 0;
  set_values(network.d_output(), gradient);
  network.backward(ExecSpace(), step);
  EXPECT_EQ(gradients_of(step, network.table()), run_network(spec, batch).gradients);
}

TEST(Network, BatchIsNeverOverwritten) {
  // It may be the target, too (auto-encoder).
  for (const LayerSpec& first : {relu, tanh_layer, dropout(0.5)}) {
    const NetworkSpec spec = network_of({20, 1, 1}, {first, relu, linear(20)});
    const TestBatch batch;
    Network network(spec);
    network.allocate(batch.rows());
    network.set_rows(batch.rows());
    const StepContext step = step_for(batch, network.table());
    const std::vector<float> before = row_values(batch, 20, 1, 0);
    set_values(network.input(), before);
    network.forward(ExecSpace(), step);
    set_values(network.d_output(), row_values(batch, 20, 2, 0));
    network.backward(ExecSpace(), step);
    EXPECT_EQ(values_of(network.input()), before);
  }
}

TEST(Network, RankWithoutRowsWritesNothing) {
  for (const NetworkSpec& spec :
       {network_of({2, 4, 4}, {conv2d(3, 2, 1, 1), relu, flatten, linear(2)}),
        network_of({2, 4, 4}, {conv2d(3, 3, 1, 1), relu, pool(LayerType::max_pool2d, 2), flatten,
                               linear(2)})}) {
    Network network(spec);
    network.allocate(0);
    network.set_rows(0);
    StepContext step = step_for({}, network.table());
    step.schedule = make_block_schedule(3, 3, 3, 16);
    ASSERT_EQ(step.schedule.num_partial_sums, 0);
    const std::vector<float> before = to_vector(step.gradients.data);
    const std::vector<float> parameters = to_vector(step.parameters);
    ASSERT_FALSE(before.empty());
    network.forward(ExecSpace(), step);
    EXPECT_EQ(network.output().rows, 0);
    network.backward(ExecSpace(), step);
    EXPECT_EQ(to_vector(step.gradients.data), before);
    EXPECT_EQ(to_vector(step.parameters), parameters);
  }
}

TEST(Network, NamesTheFirstLayerThatIsNotFinite) {
  const TestBatch batch;
  Network network(network_of({4, 1, 1}, {linear(6), tanh_layer, linear(3)}));
  network.allocate(batch.rows());
  network.set_rows(batch.rows());
  const StepContext step = step_for(batch, network.table());
  const auto culprit = [&](float filled, float empty) {
    std::vector<float> values = row_values(batch, 4, 1, empty);
    values[0] = filled;
    set_values(network.input(), values);
    network.forward(ExecSpace(), step);
    return network.first_non_finite_layer(step);
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(culprit(1, 0), "");
  EXPECT_EQ(culprit(1, nan), "") << "empty rows do not count";
  EXPECT_EQ(culprit(nan, 0), "linear1");
  const std::int64_t bias = network.table().entries().at(3).offset;
  Kokkos::deep_copy(Kokkos::subview(step.parameters, static_cast<std::size_t>(bias)),
                    std::numeric_limits<float>::infinity());
  EXPECT_EQ(culprit(1, 0), "linear2");
}

}  // namespace quern::test
