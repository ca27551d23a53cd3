// SPDX-License-Identifier: Apache-2.0
// Networks whose linear layers read operands of bfloat16 in tiles: who rounds them, and that the
// results are those of float but for the rounding.
#include <gtest/gtest.h>

#include "layers/layout.hpp"
#include "network/custom_layer.hpp"
#include "network/network.hpp"
#include "support/layer_run.hpp"
#include "support/layer_specs.hpp"
#include "support/random_values.hpp"
#include "support/test_step.hpp"
#include "support/tiles.hpp"

namespace quern::test {

namespace {

const TestBatch kBatch{70, 40, 48};  // blocks of two sample tiles, the second half full

/// What became of the nodes that round values to operands, in order: 't' where a node before
/// writes operands, 'r' where they round.
std::string roundings(const NetworkSpec& spec) {
  const Network network(build_graph(spec, {OperandPrecision::bf16}), {});
  std::string result;
  for (std::size_t i = 0; i < network.graph().nodes().size(); ++i) {
    const Node& node = network.graph().nodes()[i];
    if (node.kind != NodeKind::convert) continue;
    if (network.graph().value(node.output).layout != Layout::tiles) continue;
    const NodeFusion& decision = network.fusion().nodes[i];
    EXPECT_EQ(decision.forward_elsewhere, decision.backward_elsewhere);
    result += decision.forward_elsewhere ? 't' : 'r';
  }
  EXPECT_EQ(network.input_layout() == Layout::tiles, !result.empty() && result[0] == 't');
  return result;
}

struct Numbers {
  std::vector<float> output;
  std::vector<float> gradients;
};

std::vector<float> rows_of(const Shape& shape, std::uint64_t seed) {
  const auto units = static_cast<std::size_t>(shape.units());
  std::vector<float> values;
  for (const std::int64_t sample : sample_of_row(kBatch)) {
    const auto drawn = random_values(units, seed * 1000 + static_cast<std::uint64_t>(sample + 1));
    for (const float value : drawn) values.push_back(sample < 0 ? 0 : value);
  }
  return values;
}

/// Row-major values of the rows that hold samples: what is in the others nobody reads.
std::vector<float> of_samples(const std::vector<float>& values) {
  const std::vector<std::int64_t> samples = sample_of_row(kBatch);
  const std::size_t units = values.size() / samples.size();
  std::vector<float> kept;
  for (std::size_t row = 0; row < samples.size(); ++row) {
    if (samples[row] < 0) continue;
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(row * units);
    kept.insert(kept.end(), first, first + static_cast<std::ptrdiff_t>(units));
  }
  return kept;
}

Numbers run(const NetworkSpec& spec, OperandPrecision precision, const NetworkSetup& setup = {}) {
  const Network network(build_graph(spec, {precision}), setup);
  Activations arrays = network.allocate(kBatch.rows());
  arrays.set_rows(kBatch.rows(), kBatch.block_rows);
  StepContext step = make_test_step(kBatch, network.table().block_size());
  std::vector<float> parameters(static_cast<std::size_t>(network.table().block_size()) + 128);
  for (const ParameterEntry& entry : network.table().entries())
    write_tensor(entry, random_values(static_cast<std::size_t>(entry.count), 9, -0.5f, 0.5f),
                 parameters);
  step.parameters = to_view(parameters);
  const ExecSpace exec;
  convert_layout(exec,
                 make_activation(spec.input, Layout::cn16c, kBatch.rows(), rows_of(spec.input, 1)),
                 arrays.input());
  network.forward(exec, step, arrays);
  Numbers numbers{of_samples(values_of(arrays.output())), {}};
  const Activation gradient = make_activation(network.output_shape(), network.output_layout(),
                                              kBatch.rows(), rows_of(network.output_shape(), 2));
  convert_layout(exec, gradient, arrays.d_output(), Content::gradient);
  network.backward(exec, step, arrays);
  exec.fence("test: read gradients");
  const std::vector<float> sums = to_vector(step.gradients.data);
  for (const ParameterEntry& entry : network.table().entries()) {
    std::vector<float> total(static_cast<std::size_t>(entry.count));
    for (int p = 0; p < step.schedule.num_partial_sums; ++p) {
      const auto part = read_tensor(
          entry, std::span(sums).subspan(static_cast<std::size_t>(p * step.gradients.stride)));
      for (std::size_t i = 0; i < total.size(); ++i) total[i] += part[i];
    }
    numbers.gradients.insert(numbers.gradients.end(), total.begin(), total.end());
  }
  return numbers;
}

double difference(const std::vector<float>& expected, const std::vector<float>& actual) {
  return relative_difference(std::vector<double>(expected.begin(), expected.end()), actual);
}

/// Rounding moves each operand by 1/512 at most, and some units over the edge of their ReLU.
void expect_close_to_float(const NetworkSpec& spec) {
  const Numbers expected = run(spec, OperandPrecision::fp32);
  for (const auto precision : {OperandPrecision::bf16, OperandPrecision::bf16_pairs}) {
    const Numbers actual = run(spec, precision);
    EXPECT_LT(difference(expected.output, actual.output), 0.01);
    EXPECT_LT(difference(expected.gradients, actual.gradients), 0.08);
    EXPECT_NE(expected.output, actual.output);
    EXPECT_NE(expected.gradients, actual.gradients);
    EXPECT_EQ(actual.gradients, run(spec, precision).gradients);
  }
}

struct Case {
  const char* name;
  NetworkSpec spec;
  const char* roundings;
};

std::vector<Case> cases() {
  return {
      {"one after the other", network_of({33, 1, 1}, {linear(40), linear(17), linear(10)}), "ttt"},
      {"ReLU between",
       network_of({3, 4, 5}, {flatten, linear(40), relu, linear(17), relu, linear(10)}), "ttt"},
      {"other functions between",
       network_of({33, 1, 1}, {linear(40), gelu, linear(17), tanh_layer, linear(10)}), "trr"},
      {"a function in front", network_of({33, 1, 1}, {tanh_layer, linear(10)}), "r"},
      {"dropout between", network_of({33, 1, 1}, {linear(40), relu, dropout(0.3), linear(10)}),
       "tr"},
      {"two read the batch",
       network_of({33, 1, 1}, {linear(40), reading(linear(40), {"input"}),
                               add({"linear1", "linear2"}), relu, linear(10)}),
       "tr"},
      {"a sum reads the batch, too",
       network_of({33, 1, 1}, {linear(33), add({"linear1", "input"}), linear(10)}), "rr"},
      {"a concat reads the ReLU, too",
       network_of({33, 1, 1},
                  {linear(40), relu, linear(17), concat({"relu1", "linear2"}), linear(10)}),
       "trr"},
      {"a sum reads the ReLU, too",
       network_of({33, 1, 1},
                  {linear(40), relu, linear(40), add({"relu1", "linear2"}), relu, linear(10)}),
       "trr"},
      {"two read a ReLU",
       network_of({33, 1, 1}, {linear(40), relu, linear(20), reading(linear(20), {"relu1"}),
                               add({"linear2", "linear3"})}),
       "trr"},
      {"convolutions in front",
       network_of({1, 8, 8}, {conv2d(5, 3), relu, flatten, linear(40), relu, linear(10)}), "rt"},
  };
}

}  // namespace

TEST(NetworkTiles, AreWrittenByWhoeverComputesThemWhereNobodyElseReads) {
  for (const Case& c : cases()) EXPECT_EQ(roundings(c.spec), c.roundings) << c.name;
}

TEST(NetworkTiles, GiveTheResultsOfFloatButForTheRounding) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    expect_close_to_float(c.spec);
  }
}

/// y = x, row-major.
class RowMajor : public Layer {
 public:
  RowMajor(const std::string& name, const Shape& shape) : Layer(name, shape, shape) {}
  Layout input_layout(Layout) const override { return Layout::nc; }
  void forward(const ExecSpace& exec, const StepContext&,
               const LayerArrays& arrays) const override {
    convert_layout(exec, arrays.x, arrays.y);
  }
  void backward(const ExecSpace& exec, const StepContext&,
                const LayerArrays& arrays) const override {
    if (!arrays.dx.empty()) convert_layout(exec, arrays.dy, arrays.dx);
  }
};

TEST(NetworkTiles, AreMadeOutOfRowMajorValuesToo) {
  register_layer("row_major", [](const LayerSpec& spec, const Shape& input) {
    return std::make_unique<RowMajor>(spec.name, input);
  });
  LayerSpec custom;
  custom.type = LayerType::custom;
  custom.kind = "row_major";
  expect_close_to_float(network_of({33, 1, 1}, {custom, linear(40), custom, relu, linear(10)}));
}

TEST(NetworkTiles, OutputThatIsRoundedForAnotherLayerIsStillPutOut) {
  const NetworkSpec spec = network_of({33, 1, 1}, {linear(40), relu, linear(10)});
  const Network network(build_graph(spec, {OperandPrecision::bf16}), {});
  EXPECT_EQ(network.output_layout(), Layout::cn16c);
  EXPECT_EQ(network.row_multiple(), kLanes);
}

TEST(NetworkTiles, TheLossMayWriteTheGradientOfTheOutput) {
  NetworkSetup setup;
  setup.loss_applies_relu = true;
  const auto layout_of = [&](const NetworkSpec& spec, OperandPrecision precision) {
    const Network network(build_graph(spec, {precision}), setup);
    Activations arrays = network.allocate(kBatch.rows());
    EXPECT_EQ(arrays.output().layout, Layout::cn16c);
    EXPECT_GE(arrays.d_output().data.extent_int(0),
              allocation_size(arrays.d_output().shape, arrays.d_output().layout, kBatch.rows()));
    return arrays.d_output().layout;
  };
  const NetworkSpec plain = network_of({33, 1, 1}, {linear(40), relu, linear(10)});
  EXPECT_EQ(layout_of(plain, OperandPrecision::bf16), Layout::cn16c);
  setup.loss_writes_tiles = true;
  EXPECT_EQ(layout_of(plain, OperandPrecision::bf16), Layout::tiles);
  EXPECT_EQ(layout_of(plain, OperandPrecision::fp32), Layout::cn16c);
  const auto in_bf16 = [&](const NetworkSpec& spec) {
    return layout_of(spec, OperandPrecision::bf16);
  };
  EXPECT_EQ(in_bf16(network_of({33, 1, 1}, {linear(40), linear(10), relu})), Layout::tiles);
  EXPECT_EQ(in_bf16(network_of({33, 1, 1}, {linear(40), linear(10), gelu})), Layout::cn16c);
  EXPECT_EQ(in_bf16(network_of({33, 1, 1}, {linear(10), linear(10), add({"linear1", "linear2"})})),
            Layout::cn16c);
  EXPECT_EQ(in_bf16(network_of({33, 1, 1}, {linear(40), linear(10), flatten})), Layout::tiles);
  setup.loss_applies_relu = false;
  EXPECT_EQ(in_bf16(network_of({33, 1, 1}, {linear(10), relu})), Layout::cn16c);
}

TEST(NetworkTiles, AGradientInTilesGivesTheBitsOfOneThatIsRounded) {
  for (const NetworkSpec& spec : {network_of({33, 1, 1}, {linear(40), relu, linear(17)}),
                                  network_of({33, 1, 1}, {linear(40), relu, linear(17), relu}),
                                  network_of({33, 1, 1}, {linear(40), linear(17), flatten})}) {
    for (const bool recompute : {false, true}) {
      NetworkSetup setup;
      setup.loss_applies_relu = true;
      setup.recompute = recompute;
      const Numbers rounded = run(spec, OperandPrecision::bf16, setup);
      setup.loss_writes_tiles = true;
      const Numbers in_tiles = run(spec, OperandPrecision::bf16, setup);
      EXPECT_EQ(rounded.output, in_tiles.output);
      EXPECT_EQ(rounded.gradients, in_tiles.gradients);
    }
  }
}

TEST(NetworkTiles, TheOutputMayBeHandedOverToTheLoss) {
  NetworkSetup setup;
  setup.loss_applies_relu = setup.loss_writes_tiles = setup.loss_reads_tiles = true;
  const auto is_handed_over = [&](const NetworkSpec& spec,
                                  OperandPrecision precision = OperandPrecision::bf16) {
    return Network(build_graph(spec, {precision}), setup).hands_over_output();
  };
  const NetworkSpec plain = network_of({33, 1, 1}, {linear(40), relu, linear(17)});
  const NetworkSpec to_relu = network_of({33, 1, 1}, {linear(40), relu, linear(17), relu});
  EXPECT_FALSE(is_handed_over(plain, OperandPrecision::fp32));
  EXPECT_FALSE(is_handed_over(network_of({33, 1, 1}, {linear(40), linear(10), gelu})));
  EXPECT_FALSE(is_handed_over(
      network_of({33, 1, 1}, {linear(10), linear(10), add({"linear1", "linear2"})})));
  for (const NetworkSpec& spec :
       {plain, to_relu, network_of({33, 1, 1}, {linear(40), linear(17), flatten})}) {
    EXPECT_TRUE(is_handed_over(spec));
    const Network network(build_graph(spec, {OperandPrecision::bf16}), setup);
    Activations arrays = network.allocate(kBatch.rows());
    arrays.set_rows(kBatch.rows(), kBatch.block_rows);
    StepContext step = make_test_step(kBatch, network.table().block_size());
    const std::vector<float> parameters =
        random_values(static_cast<std::size_t>(network.table().block_size()) + 128, 9, -0.5f, 0.5f);
    step.parameters = to_view(parameters);
    const ExecSpace exec;
    convert_layout(
        exec, make_activation(spec.input, Layout::cn16c, kBatch.rows(), rows_of(spec.input, 1)),
        arrays.input());
    network.forward(exec, step, arrays);
    exec.fence("test: read the output");
    const std::vector<float> written = values_of(arrays.output());
    Kokkos::deep_copy(arrays.output().data, 777.0f);
    const KeptOutput reader{OperandTiles(arrays.d_output())};
    step.output_reader = &reader;
    network.forward(exec, step, arrays);
    exec.fence("test: read the output");
    std::vector<float> read;
    for (std::size_t i = 0; i < reader.values().size(); ++i)
      if (i % 32 < 17) read.push_back(reader.values()[i]);
    EXPECT_EQ(read, written);
    for (const float value : values_of(arrays.output())) ASSERT_EQ(value, 777);
  }
  setup.loss_reads_tiles = false;
  EXPECT_FALSE(is_handed_over(plain));
}

TEST(NetworkTiles, FirstNonFiniteLayerIsFoundInTiles) {
  const NetworkSpec spec = network_of({33, 1, 1}, {linear(40), relu, linear(17), linear(10)});
  const Network network(build_graph(spec, {OperandPrecision::bf16}), {});
  Activations arrays = network.allocate(kBatch.rows());
  arrays.set_rows(kBatch.rows(), kBatch.block_rows);
  const StepContext step = make_test_step(kBatch, network.table().block_size());
  convert_layout(ExecSpace(),
                 make_activation(spec.input, Layout::cn16c, kBatch.rows(), rows_of(spec.input, 1)),
                 arrays.input());
  EXPECT_EQ(network.first_non_finite_layer(ExecSpace(), step, arrays), "");
  for (const std::size_t entry : {5, 3, 1}) {
    const ParameterEntry& bias = network.table().entries().at(entry);
    Kokkos::deep_copy(Kokkos::subview(step.parameters, static_cast<std::size_t>(bias.offset + 2)),
                      std::numeric_limits<float>::infinity());
    EXPECT_EQ(network.first_non_finite_layer(ExecSpace(), step, arrays) + ".bias", bias.name);
  }
}

}  // namespace quern::test
