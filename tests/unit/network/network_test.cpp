// SPDX-License-Identifier: Apache-2.0
// A network must give the bits that its layers give one by one, with a buffer for everything.
#include "network/network.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "base/error.hpp"
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
  const Network network(spec);
  Activations arrays = network.allocate(batch.rows() + spare_rows);
  arrays.set_rows(batch.rows());
  const StepContext step = step_for(batch, network.table());
  const ExecSpace exec;
  set_values(arrays.input(), row_values(batch, spec.input.units(), 1, 0));
  network.forward(exec, step, arrays);
  const std::vector<float> output = filled_rows(batch, arrays.output());
  set_values(arrays.d_output(), row_values(batch, network.output_shape().units(), 2, 0));
  network.backward(exec, step, arrays);
  return {output, gradients_of(step, network.table())};
}

// The same with every layer on its own, and host arrays [rows, units] between them: nothing in
// place, nothing shared, no gradient left out.
class LayersAlone {
 public:
  LayersAlone(const NetworkSpec& spec, const TestBatch& batch) : spec_(spec), batch_(batch) {
    std::map<std::string, int> number{{"input", -1}};
    for (std::size_t i = 0; i < spec.layers.size(); ++i) {
      const LayerSpec& layer = spec.layers[i];
      Link& link = links_.emplace_back();
      if (layer.inputs.empty()) link.inputs = {static_cast<int>(i) - 1};
      for (const std::string& name : layer.inputs) link.inputs.push_back(number.at(name));
      number[layer.name] = static_cast<int>(i);
      const Shape& input = shape_of(link.inputs[0]);
      link.shape = layer.type == LayerType::flatten ? Shape{input.units()} : input;
      if (layer.type == LayerType::flatten || layer.type == LayerType::add) continue;
      link.layer = build_layer(layer, input, static_cast<int>(i));
      link.shape = link.layer->output_shape();
      link.layer->add_parameters(table_);
      link.layer->set_up({});
      link.arrays = allocate_memory(*link.layer, batch.rows());
    }
  }

  Numbers run() {
    const StepContext step = step_for(batch_, table_);
    batch_values_ = row_values(batch_, spec_.input.units(), 1, 0);
    for (Link& link : links_) forward(link, step);
    Link& last = links_.back();
    Numbers numbers{filled(last.y), {}};
    last.dy = row_values(batch_, last.shape.units(), 2, 0);
    for (auto link = links_.rbegin(); link != links_.rend(); ++link) backward(*link, step);
    numbers.gradients = gradients_of(step, table_);
    return numbers;
  }

 private:
  struct Link {
    std::unique_ptr<Layer> layer;  // null: flatten, add
    std::vector<int> inputs;       // links; -1: the batch
    Shape shape;                   // of the output
    LayerArrays arrays;
    std::vector<float> y, dy;
  };

  const Shape& shape_of(int link) const {
    return link < 0 ? spec_.input : links_[static_cast<std::size_t>(link)].shape;
  }
  const std::vector<float>& values_of_link(int link) const {
    return link < 0 ? batch_values_ : links_[static_cast<std::size_t>(link)].y;
  }
  Activation fresh(const Shape& shape, Layout layout) const {
    return filled_activation(shape, layout, batch_.rows(), kGarbage);
  }
  std::vector<float> filled(const std::vector<float>& values) const {
    const std::size_t units = values.size() / static_cast<std::size_t>(batch_.rows());
    const std::vector<std::int64_t> samples = sample_of_row(batch_);
    std::vector<float> kept;
    for (std::size_t row = 0; row < samples.size(); ++row) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * units);
      if (samples[row] >= 0) kept.insert(kept.end(), begin, begin + std::ptrdiff_t(units));
    }
    return kept;
  }
  static std::vector<float> sum_of(std::vector<float> a, const std::vector<float>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }

  void forward(Link& link, const StepContext& step) const {
    link.y = values_of_link(link.inputs[0]);
    if (!link.layer) {
      for (std::size_t k = 1; k < link.inputs.size(); ++k)
        link.y = sum_of(link.y, values_of_link(link.inputs[k]));
      return;
    }
    const Layout layout = link.layer->input_layout(flat_layout());
    link.arrays.x = fresh(link.layer->input_shape(), layout);
    set_values(link.arrays.x, link.y);
    link.arrays.y = fresh(link.shape, link.layer->output_layout(layout));
    link.layer->forward(ExecSpace(), step, link.arrays);
    link.y = values_of(link.arrays.y);
  }

  void backward(Link& link, const StepContext& step) {
    std::vector<float> dx = link.dy;
    if (link.layer) {
      link.arrays.dx = fresh(link.arrays.x.shape, link.arrays.x.layout);
      link.arrays.dy = fresh(link.shape, link.arrays.y.layout);
      set_values(link.arrays.dy, link.dy);
      link.layer->backward(ExecSpace(), step, link.arrays);
      dx = values_of(link.arrays.dx);
    }
    for (const int input : link.inputs) {
      if (input < 0) continue;
      std::vector<float>& gradient = links_[static_cast<std::size_t>(input)].dy;
      gradient = gradient.empty() ? dx : sum_of(gradient, dx);
    }
  }

  const NetworkSpec& spec_;
  const TestBatch& batch_;
  ParameterTable table_;
  std::vector<float> batch_values_;
  std::vector<Link> links_;
};

void expect_same_as_layers(const NetworkSpec& spec) {
  for (const TestBatch& batch : {TestBatch{7, 3, 16}, TestBatch{18, 17, 32}, TestBatch{1, 1, 16}}) {
    SCOPED_TRACE(std::to_string(batch.samples) + " samples");
    const Numbers expected = LayersAlone(spec, batch).run();
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

// `layer` reads these layers.
TEST(Network, BranchesThatMeetAgain) {
  const LayerSpec mean = pool(LayerType::avg_pool2d, 2);
  // A residual block, with and without a convolution beside it.
  expect_same_as_layers(
      network_of({3, 6, 6}, {conv2d(4, 3, 1, 1), relu, conv2d(4, 3, 1, 1), relu, conv2d(4, 3, 1, 1),
                             add({"conv2d3", "relu1"}), relu, conv2d(5, 3, 2, 1), relu,
                             conv2d(5, 3, 1, 1), reading(conv2d(5, 1, 2), {"relu3"}),
                             add({"conv2d5", "conv2d6"}), relu, mean, flatten, linear(3)}));
  // What one reader might overwrite, the other still reads, and its gradient too.
  for (const LayerSpec& layer : {relu, tanh_layer, sigmoid, gelu, dropout(0.5)}) {
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

TEST(Network, TwoBranchesThatAreBothFused) {
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

TEST(Network, TheLossMayApplyTheDerivativeOfALastRelu) {
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
  const StepContext step = step_for(batch, network.table());
  set_values(arrays.input(), row_values(batch, 20, 1, 0));
  network.forward(ExecSpace(), step, arrays);
  std::vector<float> gradient = row_values(batch, 19, 2, 0);
  const std::vector<float> output = values_of(arrays.output());
  for (std::size_t i = 0; i < gradient.size(); ++i)
    if (output[i] <= 0) gradient[i] = 0;
  set_values(arrays.d_output(), gradient);
  network.backward(ExecSpace(), step, arrays);
  EXPECT_EQ(gradients_of(step, network.table()), run_network(spec, batch).gradients);
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

}  // namespace quern::test
