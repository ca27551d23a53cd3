// SPDX-License-Identifier: Apache-2.0
// Convolutions of a CPU by Winograd's algorithm.
#include <gtest/gtest.h>

#include <ostream>

#include "layers/conv2d.hpp"
#include "layers/conv2d_kernels.hpp"
#include "layers/host/conv2d_winograd.hpp"
#include "layers/reference/conv2d_winograd.hpp"
#include "support/layer_run.hpp"
#include "support/random_values.hpp"

namespace quern {
namespace {

using test::make_view;
using test::random_values;
using test::read;
using test::relative_difference;

using Values = std::vector<float>;

struct Case {
  reference::Conv2dShape shape;
  int block;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  const auto& d = c.shape;
  for (const int number : {d.S, d.C, d.H, d.W, d.O, d.K, d.stride, d.padding, c.block})
    out << number << ' ';
  return out;
}

// S, C, H, W, O, K, stride, padding; samples per micro-block.
const Case kCases[] = {
    {{1, 16, 1, 1, 16, 3, 1, 1}, 1},    {{3, 16, 7, 9, 17, 3, 1, 1}, 2},
    {{17, 33, 8, 6, 21, 3, 1, 0}, 16},  {{2, 17, 5, 31, 16, 3, 1, 2}, 2},
    {{40, 16, 6, 7, 18, 3, 1, 1}, 40},  {{2, 70, 14, 29, 67, 3, 1, 1}, 2},
    {{33, 19, 9, 10, 23, 3, 1, 1}, 33}, {{50, 65, 5, 4, 129, 3, 1, 1}, 48},
    {{2, 16, 3, 3, 16, 3, 1, 0}, 1},    {{1, 24, 57, 58, 20, 3, 1, 1}, 1},
};

LayerSpec spec_of(const Case& c, bool bias = true) {
  LayerSpec spec;
  spec.type = LayerType::conv2d;
  spec.name = "conv";
  spec.channels = c.shape.O;
  spec.kernel = c.shape.K;
  spec.stride = c.shape.stride;
  spec.padding = c.shape.padding;
  spec.bias = bias;
  return spec;
}

struct Inputs {
  Values x, dy, weight, bias;

  explicit Inputs(const reference::Conv2dShape& d)
      : x(random_values(d.x_size(), 1)),
        dy(random_values(d.y_size(), 2)),
        weight(random_values(d.weight_size(), 3)),
        bias(random_values(static_cast<std::size_t>(d.O), 4)) {}
};

KernelChoice winograd() {
  KernelChoice choice;
  choice.winograd = true;
  return choice;
}

test::LayerRun run_case(const Case& c, const Inputs& in, const LayerSetup& setup = {},
                        bool bias = true, const KernelChoice& choice = winograd()) {
  Conv2d layer(spec_of(c, bias), Shape{c.shape.C, c.shape.H, c.shape.W}, choice);
  std::map<std::string, Values> parameters{{"conv.weight", in.weight}};
  if (bias) parameters["conv.bias"] = in.bias;
  return test::run_layer(layer, c.shape.S, c.block, in.x, in.dy, parameters, setup);
}

class Conv2dWinograd : public ::testing::TestWithParam<Case> {};

TEST_P(Conv2dWinograd, HasTheBitsOfItsReference) {
  const reference::Conv2dShape& d = GetParam().shape;
  const Inputs in(d);
  const auto run = run_case(GetParam(), in);
  EXPECT_EQ(run.y, reference::conv2d_winograd_forward(d, in.x, in.weight, in.bias));
  EXPECT_EQ(run.dx, reference::conv2d_winograd_input_gradient(d, in.weight, in.dy));
}

TEST_P(Conv2dWinograd, IsTheConvolution) {
  const reference::Conv2dShape& d = GetParam().shape;
  const Inputs in(d);
  const auto run = run_case(GetParam(), in);
  const auto expected = reference::conv2d_backward(d, in.x, in.weight, in.dy);
  EXPECT_LT(relative_difference(reference::conv2d_forward(d, in.x, in.weight, in.bias), run.y),
            3e-6);
  EXPECT_LT(relative_difference(expected.dx, run.dx), 3e-6);
  EXPECT_LT(relative_difference(expected.weight, run.gradients.at("conv.weight")), 3e-6);
  EXPECT_LT(relative_difference(expected.bias, run.gradients.at("conv.bias")), 3e-6);
}

TEST_P(Conv2dWinograd, AppliesReluAndItsDerivative) {
  const Case& c = GetParam();
  const Inputs in(c.shape);
  const auto plain = run_case(c, in);
  LayerSetup setup;
  setup.with_relu = true;
  setup.with_input_relu = c.shape.padding == 0;
  const auto relu = run_case(c, in, setup);
  for (std::size_t i = 0; i < relu.y.size(); ++i) ASSERT_EQ(relu.y[i], std::max(plain.y[i], 0.0f));
  if (!setup.with_input_relu) return;
  for (std::size_t i = 0; i < relu.dx.size(); ++i)
    ASSERT_EQ(relu.dx[i], in.x[i] > 0 ? plain.dx[i] : 0.0f);
}

TEST_P(Conv2dWinograd, WithoutBiasHasTheBitsOfABiasOfZeros) {
  const Case& c = GetParam();
  Inputs in(c.shape);
  in.bias.assign(in.bias.size(), 0.0f);
  EXPECT_EQ(run_case(c, in, {}, false).y, run_case(c, in).y);
}

INSTANTIATE_TEST_SUITE_P(OddSizes, Conv2dWinograd, ::testing::ValuesIn(kCases));

class NotByWinograd : public ::testing::TestWithParam<Case> {};

TEST_P(NotByWinograd, HasTheBitsOfTheDirectConvolution) {
  const Case& c = GetParam();
  const Inputs in(c.shape);
  const auto expected = run_case(c, in, {}, true, {});
  const auto actual = run_case(c, in);
  EXPECT_EQ(actual.y, expected.y);
  EXPECT_EQ(actual.dx, expected.dx);
  EXPECT_EQ(actual.gradients, expected.gradients);
}

// Fewer channels, strides, other kernels, wider borders; few samples in a group and many.
INSTANTIATE_TEST_SUITE_P(
    Others, NotByWinograd,
    ::testing::Values(Case{{3, 15, 7, 9, 17, 3, 1, 1}, 2}, Case{{17, 16, 7, 9, 15, 3, 1, 1}, 16},
                      Case{{3, 16, 7, 9, 17, 3, 2, 1}, 2}, Case{{17, 16, 7, 9, 17, 5, 1, 2}, 16},
                      Case{{3, 16, 7, 9, 17, 1, 1, 0}, 2}, Case{{17, 16, 4, 5, 17, 3, 1, 3}, 16}));

// The weight gradient of the blocks [first, last) of eight, one partial sum.
Values weight_gradient(const ConvShape& shape, int first, int last, int block_rows, const Values& x,
                       const Values& dy) {
  const BlockSchedule schedule = make_block_schedule(first, last, 8, block_rows);
  EXPECT_EQ(schedule.num_partial_sums, 1);
  const std::int64_t group = std::int64_t{first} * block_rows / kLanes;
  const FloatView x_view = make_view(x);
  const FloatView dy_view = make_view(dy);
  const auto size = static_cast<std::size_t>(shape.taps()) * shape.out_channels;
  const FloatView sums = make_view(Values(size, 7.0f));
  host::conv2d_winograd_kernels().weight_gradient(
      ExecSpace(), shape, schedule, x_view.data() + group * shape.image_group(),
      dy_view.data() + group * shape.out_group(), {sums, 0}, 0, {});
  return read(sums, 0, size);
}

TEST(Conv2dWinogradGradient, IsTheSameForOneRankAndTwo) {
  const ConvShape shape{21, 11, 13, 18, 9, 11, 3, 1, 1};
  for (const int block_rows : {16, 32, 48}) {
    ASSERT_TRUE(host::suits_winograd_gradient(shape, block_rows));
    const std::int64_t groups = 8 * block_rows / kLanes;
    const Values x = random_values(static_cast<std::size_t>(groups * shape.image_group()), 1);
    const Values dy = random_values(static_cast<std::size_t>(groups * shape.out_group()), 2);
    const auto of_blocks = [&](int first, int last) {
      return weight_gradient(shape, first, last, block_rows, x, dy);
    };
    Values sum = of_blocks(0, 4);
    const Values right = of_blocks(4, 8);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += right[i];
    EXPECT_EQ(of_blocks(0, 8), sum);
  }
}

}  // namespace
}  // namespace quern
