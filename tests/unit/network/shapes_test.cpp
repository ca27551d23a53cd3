// SPDX-License-Identifier: Apache-2.0
// Networks whose layers do not fit together.
#include "network/network.hpp"
#include "support/expect_error.hpp"
#include "support/layer_specs.hpp"

namespace quern::test {

namespace {

void expect_refused(const NetworkSpec& spec, std::initializer_list<std::string> parts) {
  expect_error([&] { Network network(spec); }, ExitCode::bad_input, parts);
}

}  // namespace

TEST(NetworkShapes, LinearOnAnImageIsToldToFlatten) {
  expect_refused(
      network_of({3, 5, 5}, {simple(LayerType::relu), linear(4)}),
      {"network.layers", "'linear1'", "linear", "recipe line 2", "[3, 5, 5]", "flatten"});
}

TEST(NetworkShapes, KernelLargerThanTheImage) {
  expect_refused(network_of({1, 5, 4}, {conv2d(2, 3), conv2d(2, 3)}),
                 {"'conv2d2'", "recipe line 2", "[2, 3, 2]", "3 x 3"});
}

TEST(NetworkShapes, KernelLargerThanThePaddedImage) {
  expect_refused(network_of({1, 3, 3}, {conv2d(2, 6, 1, 1)}),
                 {"'conv2d1'", "[1, 3, 3]", "6 x 6", "padding", "at least 4"});
}

TEST(NetworkShapes, KernelThatJustFitsThePaddedImageIsFine) {
  const Network network(network_of({1, 3, 3}, {conv2d(2, 5, 1, 1)}));
  EXPECT_EQ(network.output_shape(), (Shape{2, 1, 1}));
}

TEST(NetworkShapes, PoolWindowLargerThanTheImage) {
  for (const LayerType type : {LayerType::max_pool2d, LayerType::avg_pool2d}) {
    expect_refused(network_of({2, 4, 3}, {conv2d(2, 2), pool(type, 3)}),
                   {to_string(type), "recipe line 2", "[2, 3, 2]", "3 x 3"});
  }
}

TEST(NetworkShapes, PaddingOfMoreThanHalfAWindow) {
  for (const LayerType type : {LayerType::max_pool2d, LayerType::avg_pool2d}) {
    LayerSpec window = pool(type, 3, 2);
    window.padding = 2;
    expect_refused(network_of({2, 8, 8}, {conv2d(2, 2), window}),
                   {to_string(type), "recipe line 2", "padding of 2", "at most 1", "window of 3"});
    window.size = 20;
    expect_refused(network_of({2, 8, 8}, {conv2d(2, 2), window}), {"20 x 20", "with its padding"});
  }
}

TEST(NetworkShapes, FlatInputHasNoRoomForAWindow) {
  expect_refused(network_of({10, 1, 1}, {conv2d(2, 2)}),
                 {"'conv2d1'", "[10]: expected an image [channels, height, width]"});
  expect_refused(network_of({1, 28, 28}, {simple(LayerType::flatten), conv2d(2, 3)}),
                 {"'conv2d1'", "[784]: expected an image", "no flatten layer before"});
  for (const LayerType type : {LayerType::max_pool2d, LayerType::avg_pool2d})
    expect_refused(network_of({10, 1, 1}, {pool(type, 3)}), {"[10]: expected an image"});
}

TEST(NetworkShapes, ImagesOfTwoSizesAreNotJoined) {
  expect_refused(
      network_of({1, 8, 8}, {conv2d(2, 3, 1, 1), conv2d(3, 3), concat({"conv2d1", "conv2d2"})}),
      {"'concat1' (concat, recipe line 3) joins 'conv2d1' of shape [2, 8, 8] and 'conv2d2' of "
       "shape [3, 6, 6], expected equal heights and widths"});
  expect_refused(network_of({1, 8, 8}, {conv2d(2, 3, 1, 1), flatten, linear(4),
                                        concat({"conv2d1", "linear1"})}),
                 {"'linear1' of shape [4], expected equal heights and widths"});
  expect_refused(network_of({4, 1, 1}, {linear(3), concat({"linear1"})}),
                 {"'concat1'", "reads 1 inputs, expected at least two"});
  const Network network(
      network_of({1, 8, 8}, {conv2d(2, 3, 1, 1), concat({"conv2d1", "input", "conv2d1"})}));
  EXPECT_EQ(network.output_shape(), (Shape{5, 8, 8}));
}

TEST(NetworkShapes, MoreChannelsOrPixelsThanCanBeIndexed) {
  expect_refused(network_of({1, 30000, 30000}, {conv2d(1, 1), concat({"conv2d1", "input"})}),
                 {"'concat1'", "puts out 2 channels of 30000 x 30000", "1073741824"});
  expect_refused(network_of({1, 300, 300}, {conv2d(1, 1), upsample(4000)}),
                 {"'upsample1'", "the output", "too large"});
  expect_refused(network_of({1, 600000, 1}, {conv2d(1, 1), upsample(4000)}),
                 {"'upsample1'", "[1, 600000, 1]: an image 4000 times as high and wide"});
}

TEST(NetworkShapes, NothingButFlattenComputesNothing) {
  expect_refused(network_of({1, 2, 2}, {simple(LayerType::flatten)}), {"network.layers"});
}

TEST(NetworkShapes, NothingToTrain) {
  expect_refused(network_of({1, 2, 2}, {simple(LayerType::relu), dropout(0.5)}),
                 {"network.layers", "nothing to train"});
}

}  // namespace quern::test
