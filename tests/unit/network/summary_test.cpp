// SPDX-License-Identifier: Apache-2.0
#include "network/summary.hpp"

#include <gtest/gtest.h>

#include "network/network.hpp"
#include "support/layer_specs.hpp"

namespace quern::test {

// The last row and column of conv2d2 are read by nobody, and not computed.
TEST(Summary, HasTheShapesOfTheRecipe) {
  const NetworkSpec spec =
      network_of({1, 28, 28}, {conv2d(20, 3), relu, pool(LayerType::avg_pool2d, 2), conv2d(50, 5),
                               relu, pool(LayerType::avg_pool2d, 2), flatten, linear(10)});
  const Network network(spec);
  const NetworkSummary summary = summarize(spec, network);
  ASSERT_EQ(summary.layers.size(), 8u);
  EXPECT_EQ(summary.input, (Shape{1, 28, 28}));
  EXPECT_EQ(summary.layers[3].name, "conv2d2");
  EXPECT_EQ(summary.layers[3].type, "conv2d");
  EXPECT_EQ(summary.layers[3].output, (Shape{50, 9, 9}));
  EXPECT_EQ(summary.layers[3].parameters, 50 * 20 * 25 + 50);
  EXPECT_EQ(summary.layers[3].macs, 50 * 81 * 20 * 25);
  EXPECT_EQ(summary.layers[6].output, Shape{800});
  EXPECT_EQ(summary.parameters, network.table().num_parameters());
  EXPECT_EQ(summary.macs, network.forward_macs());
}

TEST(Summary, NamesInputsThatAreNotTheLayerBefore) {
  const NetworkSpec spec = network_of(
      {4, 5, 5}, {reading(conv2d(4, 1), {"input"}), reading(relu, {"conv2d1"}), conv2d(4, 3, 1, 1),
                  reading(simple(LayerType::add), {"conv2d2", "input"}),
                  reading(simple(LayerType::add), {"add1", "relu1"})});
  const NetworkSummary summary = summarize(spec, Network(spec));
  EXPECT_EQ(summary.layers[0].inputs, std::vector<std::string>{});
  EXPECT_EQ(summary.layers[1].inputs, std::vector<std::string>{});
  EXPECT_EQ(summary.layers[2].inputs, std::vector<std::string>{});
  EXPECT_EQ(summary.layers[3].inputs, (std::vector<std::string>{"conv2d2", "input"}));
  EXPECT_EQ(summary.layers[4].inputs, (std::vector<std::string>{"add1", "relu1"}));
  EXPECT_EQ(summary.layers[4].output, (Shape{4, 5, 5}));
}

TEST(Summary, CountsTheChannelsThatAreJoined) {
  const NetworkSpec spec =
      network_of({1, 6, 8}, {conv2d(3, 3, 1, 1), relu, pool(LayerType::max_pool2d, 2), upsample(2),
                             concat({"upsample1", "relu1", "input"}), conv2d(2, 3, 1, 1)});
  const NetworkSummary summary = summarize(spec, Network(spec));
  EXPECT_EQ(summary.layers[3].output, (Shape{3, 6, 8}));
  EXPECT_EQ(summary.layers[3].bytes, 4 * 3 * 48);
  EXPECT_EQ(summary.layers[4].output, (Shape{7, 6, 8}));
  EXPECT_EQ(summary.layers[4].bytes, 4 * 7 * 48);
  EXPECT_EQ(summary.layers[4].macs, 0);
  EXPECT_EQ(summary.layers[4].inputs, (std::vector<std::string>{"upsample1", "relu1", "input"}));
  EXPECT_EQ(summary.layers[5].macs, 2 * 48 * 7 * 9);
}

// Of one sample of 16, in floats of four bytes.
TEST(Summary, CountsEveryBufferOnce) {
  const NetworkSpec spec = network_of(
      {2, 4, 4}, {conv2d(3, 3, 1, 1), gelu, relu,
                  reading(simple(LayerType::add), {"relu1", "gelu1"}), flatten, linear(16)});
  const Network network(spec);
  const NetworkSummary summary = summarize(spec, network);
  EXPECT_EQ(summary.input_bytes, 4 * 2 * 16);
  EXPECT_EQ(summary.layers[0].bytes, 4 * 3 * 16);
  EXPECT_EQ(summary.layers[1].bytes, 4 * 3 * 16);
  EXPECT_EQ(summary.layers[5].bytes, 4 * 16);
  std::int64_t total = summary.input_bytes;
  for (const LayerSummary& layer : summary.layers) total += layer.bytes;
  EXPECT_EQ(summary.activation_bytes, total);
  EXPECT_GT(summary.gradient_bytes, 0);
}

TEST(Summary, ALayerThatWorksInPlaceTakesNoMemory) {
  const NetworkSpec spec = network_of({2, 4, 4}, {conv2d(3, 3, 1, 1), relu, flatten, linear(16)});
  const NetworkSummary summary = summarize(spec, Network(spec));
  EXPECT_EQ(summary.layers[1].bytes, 0);
}

}  // namespace quern::test
