// SPDX-License-Identifier: Apache-2.0
#include "network/cut.hpp"

#include <gtest/gtest.h>

#include "network/network.hpp"
#include "support/expect_error.hpp"
#include "support/layer_specs.hpp"

namespace quern::test {

namespace {

LayerSpec named(LayerSpec layer, const std::string& name, std::vector<std::string> inputs = {}) {
  layer.name = name;
  layer.inputs = std::move(inputs);
  return layer;
}

LayerSpec linear(const std::string& name, int features, std::vector<std::string> inputs = {}) {
  LayerSpec layer;
  layer.type = LayerType::linear;
  layer.features = features;
  return named(layer, name, std::move(inputs));
}

LayerSpec of_type(LayerType type, const std::string& name, std::vector<std::string> inputs = {}) {
  LayerSpec layer;
  layer.type = type;
  return named(layer, name, std::move(inputs));
}

// fc1 -> relu1 -> fc2 -> relu2 -> fc3
NetworkSpec chain() {
  return {Shape{64},
          {linear("fc1", 64), of_type(LayerType::relu, "relu1"), linear("fc2", 64),
           of_type(LayerType::relu, "relu2"), linear("fc3", 64)},
          {}};
}

// A connection passes by the two layers in the middle.
NetworkSpec residual() {
  return {Shape{16},
          {linear("in", 16), linear("block.0.fc1", 16), linear("block.0.fc2", 16),
           of_type(LayerType::add, "block.0.add", {"block.0.fc2", "in"}), linear("out", 4)},
          {}};
}

// As in a U-Net: the output of "a" is read after "b" as well.
NetworkSpec skip() {
  return {Shape{16},
          {linear("in", 16), linear("a", 16), linear("b", 16),
           of_type(LayerType::concat, "join", {"b", "a"}), linear("out", 4)},
          {}};
}

}  // namespace

TEST(Cut, IsPossibleWhereOneValueCrosses) {
  EXPECT_EQ(possible_cuts(chain()), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(possible_cuts(residual()), (std::vector<int>{1, 4}));
  EXPECT_EQ(possible_cuts(skip()), (std::vector<int>{1, 2, 4}));
}

TEST(Cut, BalancesMultiplyAddsAndLeavesWhatIsFusedTogether) {
  using Ranges = std::vector<LayerRange>;
  EXPECT_EQ(cut_network(chain(), 1), (Ranges{{0, 5}}));
  // fc1 needs no gradient of its input: 2 against 3 and 3 thirds.
  EXPECT_EQ(cut_network(chain(), 2), (Ranges{{0, 4}, {4, 5}}));
  EXPECT_EQ(cut_network(chain(), 3), (Ranges{{0, 2}, {2, 4}, {4, 5}}));
  EXPECT_EQ(cut_network(chain(), 5).size(), 5u);
}

TEST(Cut, BeginsWithTheLayersThatAreNamed) {
  using Ranges = std::vector<LayerRange>;
  EXPECT_EQ(cut_network(residual(), 2, {"block"}), (Ranges{{0, 1}, {1, 5}}));
  EXPECT_EQ(cut_network(residual(), 3, {"block.0.fc1", "out"}), (Ranges{{0, 1}, {1, 4}, {4, 5}}));
}

TEST(Cut, RefusesWhatCannotBe) {
  expect_error([] { cut_network(residual(), 4); }, ExitCode::bad_input,
               {"parallel.pipeline = 4: the network can be cut in 2 places, expected at most 3 "
                "stages"});
  expect_error([] { cut_network(residual(), 2, {"nothing"}); }, ExitCode::bad_input,
               {"parallel.cut names 'nothing', which is no layer and no block of the network"});
  expect_error([] { cut_network(residual(), 2, {"in"}); }, ExitCode::bad_input,
               {"in front of 'in', its first layer"});
  expect_error([] { cut_network(residual(), 2, {"block.0.fc2"}); }, ExitCode::bad_input,
               {"more than one value crosses there"});
  expect_error([] { cut_network(skip(), 2, {"join"}); }, ExitCode::bad_input,
               {"cannot be cut in front of 'join': more than one value crosses there"});
  expect_error(
      [] {
        cut_network(residual(), 3, {"out", "block"});
      },
      ExitCode::bad_input, {"expected the order of the network"});
  expect_error([] { cut_network(residual(), 3, {"out"}); }, ExitCode::bad_input,
               {"parallel.cut names 1 layer, expected 2"});
}

TEST(Cut, PartsOfAGraphHaveTheShapesNamesAndNumbersOfTheWhole) {
  const NetworkSpec spec = residual();
  const Graph whole = build_graph(spec);
  const Graph front = build_graph(spec, {}, {0, 1});
  const Graph back = build_graph(spec, {}, {1, 5});
  EXPECT_FALSE(front.value(Graph::kBatch).wants_gradient);
  EXPECT_TRUE(back.value(Graph::kBatch).wants_gradient);
  std::vector<ParameterEntry> entries = front.table().entries();
  for (const ParameterEntry& entry : back.table().entries()) entries.push_back(entry);
  ASSERT_EQ(entries.size(), whole.table().entries().size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(entries[i].name, whole.table().entries()[i].name);
    EXPECT_EQ(entries[i].number, static_cast<int>(i));
  }
}

}  // namespace quern::test
