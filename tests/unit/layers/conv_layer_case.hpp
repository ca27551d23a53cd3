// SPDX-License-Identifier: Apache-2.0
// Convolution layers on random values, with kernels of choice, and what holds whichever these are.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "layers/conv2d.hpp"
#include "layers/conv2d_kernels.hpp"
#include "layers/reference/conv2d.hpp"
#include "support/layer_run.hpp"
#include "support/random_values.hpp"

namespace quern::test {

struct ConvLayerCase {
  reference::Conv2dShape shape;
  int block;  ///< samples of a micro-block

  friend std::ostream& operator<<(std::ostream& out, const ConvLayerCase& c) {
    const auto& d = c.shape;
    for (const int number : {d.S, d.C, d.H, d.W, d.O, d.K, d.stride, d.padding, c.block})
      out << number << ' ';
    return out;
  }
};

struct ConvInputs {
  std::vector<float> x, dy, weight, bias;

  explicit ConvInputs(const reference::Conv2dShape& d)
      : x(random_values(d.x_size(), 1)),
        dy(random_values(d.y_size(), 2)),
        weight(random_values(d.weight_size(), 3)),
        bias(random_values(static_cast<std::size_t>(d.O), 4)) {}
};

inline LayerRun run_conv_layer(const ConvLayerCase& c, const ConvInputs& in,
                               const KernelChoice& choice, const LayerSetup& setup = {},
                               bool bias = true) {
  LayerSpec spec;
  spec.type = LayerType::conv2d;
  spec.name = "conv";
  spec.channels = c.shape.O;
  spec.kernel = c.shape.K;
  spec.stride = c.shape.stride;
  spec.padding = c.shape.padding;
  spec.bias = bias;
  Conv2d layer(spec, Shape{c.shape.C, c.shape.H, c.shape.W}, choice);
  std::map<std::string, std::vector<float>> parameters{{"conv.weight", in.weight}};
  if (bias) parameters["conv.bias"] = in.bias;
  return run_layer(layer, c.shape.S, c.block, in.x, in.dy, parameters, setup);
}

inline void expect_relu_and_its_derivative(const ConvLayerCase& c, const KernelChoice& choice) {
  const ConvInputs in(c.shape);
  const auto plain = run_conv_layer(c, in, choice);
  LayerSetup setup;
  setup.with_relu = true;
  setup.with_input_relu = c.shape.padding == 0;
  const auto relu = run_conv_layer(c, in, choice, setup);
  for (std::size_t i = 0; i < relu.y.size(); ++i) ASSERT_EQ(relu.y[i], std::max(plain.y[i], 0.0f));
  if (!setup.with_input_relu) return;
  for (std::size_t i = 0; i < relu.dx.size(); ++i) {
    ASSERT_EQ(relu.dx[i], in.x[i] > 0 ? plain.dx[i] : 0.0f);
  }
}

inline void expect_bits_of_a_bias_of_zeros(const ConvLayerCase& c, const KernelChoice& choice) {
  ConvInputs in(c.shape);
  in.bias.assign(in.bias.size(), 0.0f);
  auto expected = run_conv_layer(c, in, choice);
  const auto actual = run_conv_layer(c, in, choice, {}, false);
  EXPECT_EQ(actual.y, expected.y);
  EXPECT_EQ(actual.dx, expected.dx);
  expected.gradients.erase("conv.bias");
  EXPECT_EQ(actual.gradients, expected.gradients);
}

/// The weight gradient of the blocks [first, last) of eight, one partial sum. x and dy: of all.
inline std::vector<float> conv_weight_gradient(const Conv2dKernels& kernels, const ConvShape& shape,
                                               int first, int last, int block_rows,
                                               const std::vector<float>& x,
                                               const std::vector<float>& dy) {
  const BlockSchedule schedule = make_block_schedule(first, last, 8, block_rows);
  EXPECT_EQ(schedule.num_partial_sums, 1);
  const std::int64_t group = std::int64_t{first} * block_rows / kLanes;
  const FloatView x_view = make_view(x);
  const FloatView dy_view = make_view(dy);
  const auto size = static_cast<std::size_t>(shape.taps()) * shape.out_channels;
  const FloatView sums = make_view(std::vector<float>(size, 7.0f));
  const FloatView workspace(
      "", static_cast<std::size_t>(kernels.workspace_floats(shape, schedule.rows())));
  kernels.weight_gradient(ExecSpace(), shape, schedule, x_view.data() + group * shape.image_group(),
                          dy_view.data() + group * shape.out_group(), {sums, 0}, 0, workspace);
  return read(sums, 0, size);
}

inline void expect_same_weight_gradient_for_one_rank_and_two(const Conv2dKernels& kernels,
                                                             const ConvShape& shape,
                                                             int block_rows) {
  const std::int64_t groups = 8 * block_rows / kLanes;
  const auto x = random_values(static_cast<std::size_t>(groups * shape.image_group()), 1);
  const auto dy = random_values(static_cast<std::size_t>(groups * shape.out_group()), 2);
  const auto of_blocks = [&](int first, int last) {
    return conv_weight_gradient(kernels, shape, first, last, block_rows, x, dy);
  };
  std::vector<float> sum = of_blocks(0, 4);
  const std::vector<float> right = of_blocks(4, 8);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += right[i];
  EXPECT_EQ(of_blocks(0, 8), sum);
}

}  // namespace quern::test
