// SPDX-License-Identifier: Apache-2.0
// Branches that meet in a concat, and U-Nets, against their layers one by one.
#include <gtest/gtest.h>

#include "unit/network/layers_alone.hpp"

namespace quern::test {

namespace {

const LayerSpec most = pool(LayerType::max_pool2d, 2);
const LayerSpec mean = pool(LayerType::avg_pool2d, 2);

// Two levels. Each skip is read by a pool, which applies the derivative of its ReLU, and a concat.
NetworkSpec unet(const Shape& input, const LayerSpec& down) {
  return network_of(input,
                    {conv2d(3, 3, 1, 1), relu,  //
                     down, conv2d(5, 3, 1, 1), relu, down, conv2d(7, 3, 1, 1), relu, upsample(2),
                     concat({"upsample1", "relu2"}), conv2d(5, 3, 1, 1), relu, upsample(2),
                     concat({"relu1", "upsample2"}), conv2d(4, 3, 1, 1), relu, conv2d(2, 1)});
}

}  // namespace

TEST(Concat, UNetsHaveTheBitsOfTheirLayers) {
  expect_same_as_layers(unet({1, 4, 4}, most));
  expect_same_as_layers(unet({3, 12, 8}, mean));
}

TEST(Concat, UNetsHaveTheBitsOfTheirLayersWithOtherProducts) {
  for (const OperandPrecision precision : {OperandPrecision::bf16, OperandPrecision::bf16_pairs}) {
    KernelChoice kernels;
    kernels.precision = precision;
    expect_same_as_layers(unet({3, 12, 8}, most), kernels);
  }
  KernelChoice winograd;
  winograd.winograd = true;
  expect_same_as_layers(unet({3, 12, 8}, most), winograd);
}

TEST(Concat, OfNormalisedImages) {
  LayerSpec norm = simple(LayerType::batch_norm);
  norm.statistics = Statistics::block;
  LayerSpec without_bias = conv2d(5, 3, 1, 1);
  without_bias.bias = false;
  expect_same_as_layers(network_of(
      {2, 6, 4}, {without_bias, norm, relu, most, without_bias, norm, relu, upsample(2),
                  concat({"upsample1", "relu1"}), norm, relu, without_bias, norm, relu}));
}

TEST(Concat, OfFeaturesOfOddNumbers) {
  expect_same_as_layers(
      network_of({19, 1, 1}, {linear(18), relu, linear(33), reading(linear(5), {"relu1"}),
                              tanh_layer, concat({"tanh1", "linear2", "relu1"}), relu, linear(3)}));
  expect_same_as_layers(
      network_of({16, 1, 1}, {linear(16), linear(32), concat({"linear1", "linear2"}), linear(3)}));
}

TEST(Concat, OfOneValueSeveralTimesAndOfTheBatch) {
  expect_same_as_layers(network_of(
      {19, 1, 1}, {linear(18), relu, concat({"relu1", "relu1", "linear1", "relu1"}), linear(3)}));
  expect_same_as_layers(network_of({5, 1, 1}, {concat({"input", "input"}), linear(3)}));
  expect_same_as_layers(
      network_of({2, 4, 4}, {conv2d(3, 3, 1, 1), concat({"input", "conv2d1"}), conv2d(2, 2)}));
  expect_same_as_layers(
      network_of({2, 4, 4}, {concat({"input", "input"}), conv2d(2, 2), flatten, linear(3)}));
  // Nothing behind it computes.
  expect_same_as_layers(
      network_of({2, 4, 4}, {conv2d(3, 3, 1, 1), conv2d(2, 1), concat({"conv2d2", "conv2d1"})}));
}

// Features of images in groups of 16 samples, and of flat layers: in either order.
TEST(Concat, OfValuesInTwoLayouts) {
  for (const bool flat_first : {false, true}) {
    const std::vector<std::string> inputs =
        flat_first ? std::vector<std::string>{"linear1", "global_avg_pool1"}
                   : std::vector<std::string>{"global_avg_pool1", "linear1"};
    expect_same_as_layers(network_of(
        {2, 4, 4}, {conv2d(5, 3), relu, simple(LayerType::global_avg_pool),
                    reading(flatten, {"relu1"}), linear(7), concat(inputs), relu, linear(3)}));
  }
}

// A pool leaves the last row unread: the convolution computes all that the concat reads.
TEST(Concat, ReadsAllOfAnImageOfWhichOthersReadAPart) {
  expect_same_as_layers(network_of(
      {1, 7, 7}, {conv2d(3, 3, 1, 1), relu, most, upsample(2), reading(conv2d(2, 2), {"relu1"}),
                  concat({"conv2d2", "upsample1"}), conv2d(2, 3)}));
}

TEST(Concat, UpsamplingComputesWhatIsRead) {
  // Of 3 x 9 rows the pool reads 24: 8 of the convolution's.
  const NetworkSpec spec = network_of(
      {1, 11, 11}, {conv2d(3, 3), relu, upsample(3), pool(LayerType::avg_pool2d, 8), conv2d(2, 1)});
  const Network network(spec);
  EXPECT_EQ(network.layers()[0]->output_shape(), (Shape{3, 8, 8}));
  expect_same_as_layers(spec);
  // 22, the last of which is in the middle of a square.
  expect_same_as_layers(network_of({1, 11, 11}, {conv2d(3, 3), relu, upsample(3),
                                                 pool(LayerType::avg_pool2d, 11), conv2d(2, 1)}));
}

}  // namespace quern::test
