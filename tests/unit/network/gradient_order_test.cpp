// SPDX-License-Identifier: Apache-2.0
// In which order the gradients of a value are added that several layers read.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "network/network.hpp"
#include "support/layer_specs.hpp"
#include "support/test_step.hpp"

namespace quern::test {

namespace {

// The gradient of the bias of conv2d1, which is the gradient of its one output, where the gradient
// of the network's output is 1 and every weight is what `weights` says (1: not named).
float gradient_of_the_first_output(const NetworkSpec& spec,
                                   const std::map<std::string, float>& weights) {
  const TestBatch batch{1, 1, 16};
  const Network network(spec);
  Activations arrays = network.allocate(batch.rows());
  arrays.set_rows(batch.rows());
  StepContext step = make_test_step(batch, network.table().block_size());
  std::vector<float> parameters(static_cast<std::size_t>(network.table().block_size()));
  for (const ParameterEntry& entry : network.table().entries()) {
    const auto stated = weights.find(entry.name);
    const std::vector<float> value{stated == weights.end() ? 1.0f : stated->second};
    write_tensor(entry, value, parameters);
  }
  step.parameters = to_view(parameters);
  std::vector<float> one(static_cast<std::size_t>(batch.rows()));
  one[0] = 1;
  set_values(arrays.input(), one);
  network.forward(ExecSpace(), step, arrays);
  set_values(arrays.d_output(), one);
  network.backward(ExecSpace(), step, arrays);
  const ParameterEntry& bias = network.table().entries().at(1);
  EXPECT_EQ(bias.name, "conv2d1.bias");
  return read_tensor(bias, to_vector(step.gradients.data)).at(0);
}

}  // namespace

// 1e8 + 1 is 1e8 in float, so that 1 is left only where it is added last.
TEST(GradientOrder, IsFromTheLastReaderToTheFirst) {
  const NetworkSpec spec = network_of(
      {1, 1, 1}, {conv2d(1, 1), conv2d(1, 1), reading(conv2d(1, 1), {"conv2d1"}),
                  reading(conv2d(1, 1), {"conv2d1"}), add({"conv2d2", "conv2d3", "conv2d4"})});
  const auto sum_of = [&](float first, float second, float third) {
    return gradient_of_the_first_output(
        spec, {{"conv2d2.weight", first}, {"conv2d3.weight", second}, {"conv2d4.weight", third}});
  };
  EXPECT_EQ(sum_of(1, -1e8f, 1e8f), 1);
  EXPECT_EQ(sum_of(-1e8f, 1, 1e8f), 0);
}

TEST(GradientOrder, ReadersThatShareAConversionCountAsOneInThePlaceOfTheFirst) {
  // linear1 and linear2 read conv2d1 in the flat layout, conv2d2 between them reads it as it is.
  const NetworkSpec spec = network_of(
      {1, 1, 1}, {conv2d(1, 1), linear(1), reading(conv2d(1, 1), {"conv2d1"}), flatten,
                  reading(linear(1), {"conv2d1"}), add({"linear1", "flatten1", "linear2"})});
  const auto sum_of = [&](float first, float between, float last) {
    return gradient_of_the_first_output(
        spec, {{"linear1.weight", first}, {"conv2d2.weight", between}, {"linear2.weight", last}});
  };
  EXPECT_EQ(sum_of(-1e8f, 1, 1e8f), 1) << "between + (last + first)";
  EXPECT_EQ(sum_of(1, -1e8f, 1e8f), 0);

  const Graph graph = build_graph(spec);
  const BufferPlan plan = plan_buffers(graph, decide_fusion(graph, {}), 16);
  const int shared = graph.value(graph.node(0).output).consumers.at(0);
  ASSERT_EQ(graph.node(shared).kind, NodeKind::convert);
  ASSERT_EQ(graph.value(graph.node(shared).output).consumers.size(), 2u);
  const auto sums_at = [&](int node) { return plan.backward[static_cast<std::size_t>(node)].sums; };
  ASSERT_EQ(sums_at(shared).size(), 1u);
  EXPECT_EQ(sums_at(shared)[0].value, graph.node(0).output);
  ASSERT_EQ(sums_at(shared + 1).size(), 1u) << "linear1, whose gradient joins linear2's";
  EXPECT_EQ(sums_at(shared + 1)[0].value, graph.node(shared).output);
}

}  // namespace quern::test
