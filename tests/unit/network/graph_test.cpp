// SPDX-License-Identifier: Apache-2.0
// What a graph is refused for, and what its buffers come to.
#include "network/graph.hpp"

#include <gtest/gtest.h>

#include "network/network.hpp"
#include "support/expect_error.hpp"
#include "support/layer_specs.hpp"

namespace quern::test {

namespace {

void expect_refused(const NetworkSpec& spec, std::initializer_list<std::string> parts) {
  expect_error([&] { const Network network(spec); }, ExitCode::bad_input, parts);
}

}  // namespace

TEST(Graph, AnUnknownInput) {
  expect_refused(network_of({4}, {linear(4), reading(linear(2), {"linaer1"})}),
                 {"layer 'linear2' (linear, recipe line 2)", "'linaer1'", "no layer"});
}

TEST(Graph, AnInputThatStandsLater) {
  expect_refused(network_of({4}, {linear(4), add({"linear1", "linear2"}), linear(4)}),
                 {"layer 'add1' (add, recipe line 2)",
                  "layer 'linear2' (linear, recipe line 3), which comes later"});
  expect_refused(network_of({4}, {linear(4), reading(linear(4), {"linear2"})}),
                 {"layer 'linear2' (linear, recipe line 2)", "reads itself"});
}

TEST(Graph, ShapesThatDoNotAdd) {
  expect_refused(network_of({2, 8, 8}, {conv2d(4, 3), conv2d(4, 3), add({"conv2d1", "conv2d2"})}),
                 {"layer 'add1' (add, recipe line 3)", "'conv2d1'", "[4, 6, 6]", "'conv2d2'",
                  "[4, 4, 4]", "equal shapes"});
}

TEST(Graph, AnotherNumberOfInputs) {
  expect_refused(network_of({4}, {linear(4), add({"linear1"})}), {"'add1'", "1 inputs", "two"});
  expect_refused(network_of({4}, {linear(4), add({})}), {"'add1'", "0 inputs", "two"});
  expect_refused(network_of({4}, {linear(4), reading(linear(2), {"linear1", "input"})}),
                 {"'linear2'", "2 inputs", "expected one"});
}

TEST(Graph, AnOutputThatNobodyReads) {
  expect_refused(network_of({4}, {linear(4), relu, reading(linear(2), {"linear1"})}),
                 {"layer 'relu1' (relu, recipe line 2)", "no later layer reads"});
}

TEST(Graph, ValuesKnowTheirReaders) {
  const Graph graph = build_graph(
      network_of({2, 4, 4}, {conv2d(3, 1), relu, conv2d(3, 1), add({"relu1", "conv2d2"})}));
  ASSERT_EQ(graph.nodes().size(), 4u);
  const Value& relu_output = graph.value(graph.node(1).output);
  EXPECT_EQ(relu_output.consumers, (std::vector<int>{2, 3}));
  EXPECT_EQ(graph.node(3).inputs, (std::vector<int>{graph.node(1).output, graph.node(2).output}));
  EXPECT_FALSE(graph.value(Graph::kBatch).wants_gradient);
  EXPECT_TRUE(relu_output.wants_gradient);
  EXPECT_EQ(graph.output(), graph.node(3).output);
}

// Gradients take two buffers in a chain, one more where a branch waits for the other.
TEST(Graph, GradientsShareBuffers) {
  const auto buffers = [](const NetworkSpec& spec) {
    const Graph graph = build_graph(spec);
    return plan_buffers(graph, decide_fusion(graph, {}), 16).gradient_floats.size();
  };
  EXPECT_EQ(buffers(network_of({9}, {linear(8), gelu, linear(7), linear(6), linear(5)})), 2u);
  EXPECT_EQ(buffers(network_of({9}, {linear(8), linear(8), linear(8), add({"linear1", "linear3"}),
                                     linear(8), linear(8), add({"add1", "linear5"}), linear(2)})),
            3u);
}

}  // namespace quern::test
