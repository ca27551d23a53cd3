// SPDX-License-Identifier: Apache-2.0
// A CPU's convolution that adds the border of zeros by itself gives the bits of one whose arrays
// hold it.
#include <gtest/gtest.h>

#include "layers/conv2d_kernels.hpp"
#include "support/random_values.hpp"
#include "unit/layers/conv_case.hpp"

namespace quern {
namespace {

using test::ConvCase;
using test::make_view;
using test::random_values;
using test::written;

class Conv2dBorder : public ::testing::TestWithParam<ConvCase> {
 protected:
  static constexpr int kBlocks = 3;
  static constexpr int kRows = kBlocks * kLanes;

  void SetUp() override {
    const ConvCase& c = GetParam();
    image = c.shape();
    padded = image;
    padded.padding = 0;
    x = make_view(random_values(kBlocks * image.image_group(), 1));
    dy = make_view(random_values(kBlocks * image.out_group(), 2));
    weight = make_view(random_values(std::int64_t{image.taps()} * image.out_channels, 3));
    x_padded = make_view(std::vector<float>(kBlocks * padded.image_group(), 0.0f));
    kernels.pad(exec, kBlocks * c.channels, c.height, c.width, c.padding, x.data(),
                x_padded.data());
  }

  const Conv2dKernels& kernels = host::conv2d_kernels();
  const ExecSpace exec;
  ConvShape image, padded;
  FloatView x, x_padded, dy, weight;
};

TEST_P(Conv2dBorder, ChangesNoOutput) {
  const FloatView packed = make_view(std::vector<float>(kernels.forward_floats(image)));
  kernels.pack_forward(exec, image, weight.data(), packed.data());
  const FloatView bias = make_view(random_values(image.out_channels, 4));
  const auto run = [&](const ConvShape& shape, const FloatView& from) {
    return written(kBlocks * image.out_group(), [&](float* y) {
      kernels.forward(exec, shape, kRows, from.data(), packed.data(), bias.data(), true, y);
    });
  };
  EXPECT_EQ(run(image, x), run(padded, x_padded));
}

TEST_P(Conv2dBorder, ChangesNoWeightGradient) {
  // Of a larger batch, so that several partial sums remain.
  const BlockSchedule schedule = make_block_schedule(1, 1 + kBlocks, kBlocks + 2, kLanes);
  const std::int64_t stride = std::int64_t{image.taps()} * image.out_channels + 16;
  const auto run = [&](const ConvShape& shape, const FloatView& from) {
    const std::int64_t size = stride * schedule.num_partial_sums;
    return written(size, [&](float* out) {
      kernels.weight_gradient(exec, shape, schedule, from.data(), dy.data(),
                              {FloatView(out, static_cast<std::size_t>(size)), stride}, 0, {});
    });
  };
  EXPECT_EQ(run(image, x), run(padded, x_padded));
}

TEST_P(Conv2dBorder, ChangesNoInputGradient) {
  const ConvCase& c = GetParam();
  const FloatView packed = make_view(std::vector<float>(kernels.gradient_floats(image)));
  kernels.pack_gradient(exec, image, weight.data(), packed.data());
  for (const bool masked : {false, true}) {
    const auto run = [&](const ConvShape& shape, const FloatView& mask) {
      return written(kBlocks * shape.image_group(), [&](float* dx) {
        kernels.input_gradient(exec, shape, kRows, dy.data(), packed.data(),
                               masked ? mask.data() : nullptr, dx);
      });
    };
    const FloatView with_border = make_view(run(padded, x_padded));
    const auto expected = written(kBlocks * image.image_group(), [&](float* dx) {
      kernels.crop(exec, kBlocks * c.channels, c.height, c.width, c.padding, with_border.data(),
                   dx);
    });
    EXPECT_EQ(run(image, x), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(OddSizes, Conv2dBorder, ::testing::ValuesIn(test::odd_convolutions()));

// Channels, height, width, out, kernel, stride, padding.
INSTANTIATE_TEST_SUITE_P(Borders, Conv2dBorder,
                         ::testing::Values(ConvCase{1, 1, 1, 1, 1, 1, 1},
                                           ConvCase{9, 8, 7, 5, 3, 2, 1},
                                           ConvCase{5, 4, 75, 700, 3, 2, 1}));

}  // namespace
}  // namespace quern
