// SPDX-License-Identifier: Apache-2.0
// Convolutions with rounded operands; on a CPU a plain loop stands in for the tensor cores. Small
// whole numbers are the same in all precisions and so are their sums in any order:
// with them, the bits of the fp32 kernels.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <ostream>

#include "layers/conv2d_kernels.hpp"
#include "linalg/rounding.hpp"
#include "support/activation_io.hpp"
#include "support/layer_run.hpp"
#include "support/random_values.hpp"

namespace quern {
namespace {

using test::make_view;
using test::random_values;
using test::read;
using test::relative_difference;

struct Case {
  ConvShape shape;
  int blocks;
  int block_rows;
};
void PrintTo(const Case& c, std::ostream* out) {
  const ConvShape& d = c.shape;
  *out << d.in_channels << " x " << d.in_height << " x " << d.in_width << ", " << d.out_channels
       << " channels, kernel " << d.kernel << ", stride " << d.stride << ", " << c.blocks
       << " blocks of " << c.block_rows << " rows";
}

ConvShape conv_shape(int channels, int height, int width, int out, int kernel, int stride) {
  return {
      channels, height, width, out, (height - kernel) / stride + 1, (width - kernel) / stride + 1,
      kernel,   stride};
}

using Values = std::vector<float>;

/// What a convolution works on.
struct Operands {
  Values x, dy, weight, bias;
};

Operands random_operands(const Case& c) {
  const auto groups = static_cast<std::size_t>(c.blocks * c.block_rows / kLanes);
  return {random_values(groups * c.shape.in_group(), 1),
          random_values(groups * c.shape.out_group(), 2),
          random_values(static_cast<std::size_t>(c.shape.taps()) * c.shape.out_channels, 3),
          random_values(static_cast<std::size_t>(c.shape.out_channels), 4)};
}

Operands transformed(Operands operands, const std::function<float(float)>& f) {
  for (Values* values : {&operands.x, &operands.dy, &operands.weight})
    for (float& value : *values) value = f(value);
  return operands;
}

/// The results of all kernels of `precision`, one after the other.
Values results(const Case& c, const Operands& operands, OperandPrecision precision) {
  const Conv2dKernels& kernels = conv2d_kernels({.precision = precision, .on_device = true});
  const ConvShape& s = c.shape;
  const ExecSpace exec;
  const int batch_rows = c.blocks * c.block_rows;
  const FloatView x = make_view(operands.x);
  const FloatView dy = make_view(operands.dy);
  const FloatView weight = make_view(operands.weight);
  const FloatView bias = make_view(operands.bias);
  Values all;
  const auto append = [&](const FloatView& view) {
    const Values values = read(view, 0, view.extent(0));
    all.insert(all.end(), values.begin(), values.end());
  };
  const auto output = [](std::size_t size) { return make_view(Values(size, 7.0f)); };

  const FloatView forward_weights("", static_cast<std::size_t>(kernels.forward_floats(s)));
  kernels.pack_forward(exec, s, weight.data(), forward_weights.data());
  for (const bool relu : {false, true}) {
    const FloatView y = output(dy.extent(0));
    kernels.forward(exec, s, batch_rows, x.data(), forward_weights.data(), bias.data(), relu,
                    y.data());
    append(y);
  }
  const FloatView gradient_weights("", static_cast<std::size_t>(kernels.gradient_floats(s)));
  kernels.pack_gradient(exec, s, weight.data(), gradient_weights.data());
  for (const bool masked : {false, true}) {
    const FloatView dx = output(x.extent(0));
    kernels.input_gradient(exec, s, batch_rows, dy.data(), gradient_weights.data(),
                           masked ? x.data() : nullptr, dx.data());
    append(dx);
  }
  // Of a larger batch, so that several partial sums remain.
  const BlockSchedule schedule = make_block_schedule(1, 1 + c.blocks, c.blocks + 2, c.block_rows);
  const std::int64_t stride = std::int64_t{s.taps()} * s.out_channels + 16;
  const FloatView sums = output(static_cast<std::size_t>(stride * schedule.num_partial_sums));
  const FloatView workspace("", static_cast<std::size_t>(kernels.workspace_floats(s, batch_rows)));
  kernels.weight_gradient(exec, s, schedule, x.data(), dy.data(), {sums, stride}, 0, workspace);
  append(sums);
  return all;
}

class TensorConv2d : public ::testing::TestWithParam<std::tuple<Case, OperandPrecision>> {};

TEST_P(TensorConv2d, OfWholeNumbersIsExact) {
  const auto& [c, precision] = GetParam();
  const Operands whole =
      transformed(random_operands(c), [](float value) { return std::round(4 * value); });
  EXPECT_EQ(results(c, whole, OperandPrecision::fp32), results(c, whole, precision));
}

TEST_P(TensorConv2d, IsTheProductOfRoundedOperands) {
  const Case& c = std::get<0>(GetParam());
  const OperandPrecision precision = std::get<1>(GetParam());
  const Operands operands = random_operands(c);
  const Operands rounded = transformed(operands, [&](float value) {
    return precision == OperandPrecision::tf32 ? to_tf32(value) : from_bfloat16(to_bfloat16(value));
  });
  const Values actual = results(c, operands, precision);
  const auto distance_to = [&](const Values& values) {
    return relative_difference(std::vector<double>(values.begin(), values.end()), actual);
  };
  EXPECT_LT(distance_to(results(c, rounded, OperandPrecision::fp32)), 1e-5);
  EXPECT_GT(distance_to(results(c, operands, OperandPrecision::fp32)), 1e-5);
}

const auto kBoth = ::testing::Values(OperandPrecision::tf32, OperandPrecision::bf16);

INSTANTIATE_TEST_SUITE_P(
    OddSizes, TensorConv2d,
    ::testing::Combine(::testing::Values(Case{conv_shape(1, 1, 1, 1, 1, 1), 1, 16},
                                         Case{conv_shape(2, 5, 7, 3, 3, 1), 3, 16},
                                         Case{conv_shape(3, 12, 11, 9, 3, 2), 2, 32},
                                         Case{conv_shape(1, 14, 15, 20, 3, 1), 2, 16},
                                         Case{conv_shape(20, 9, 9, 50, 5, 1), 3, 16},
                                         Case{conv_shape(3, 13, 12, 17, 4, 3), 1, 48},
                                         Case{conv_shape(33, 4, 9, 67, 2, 2), 5, 16}),
                       kBoth));
/// The weight gradient of the blocks [first, last), one partial sum.
Values weight_gradient(const Case& c, const Operands& operands, OperandPrecision precision,
                       int first, int last) {
  const Conv2dKernels& kernels = conv2d_kernels({.precision = precision, .on_device = true});
  const BlockSchedule schedule = make_block_schedule(first, last, c.blocks, c.block_rows);
  EXPECT_EQ(schedule.num_partial_sums, 1);
  const std::int64_t groups = first * c.block_rows / kLanes;
  const FloatView x = make_view(operands.x);
  const FloatView dy = make_view(operands.dy);
  const FloatView sums = make_view(operands.weight);
  const FloatView workspace(
      "", static_cast<std::size_t>(kernels.workspace_floats(c.shape, schedule.rows())));
  kernels.weight_gradient(ExecSpace(), c.shape, schedule, x.data() + groups * c.shape.in_group(),
                          dy.data() + groups * c.shape.out_group(), {sums, 0}, 0, workspace);
  return read(sums, 0, sums.extent(0));
}

// More teams than one launch has.
TEST(TensorConv2dGradient, OfSeveralLaunchesIsExact) {
  const Case c{conv_shape(64, 3, 3, 200, 3, 1), 17, 16};
  const Operands whole =
      transformed(random_operands(c), [](float value) { return std::round(4 * value); });
  EXPECT_EQ(weight_gradient(c, whole, OperandPrecision::fp32, 0, 17),
            weight_gradient(c, whole, OperandPrecision::bf16, 0, 17));
}

TEST(TensorConv2dGradient, IsTheSameForOneRankAndTwo) {
  const Case c{conv_shape(3, 12, 12, 9, 3, 1), 8, 16};
  const Operands operands = random_operands(c);
  for (const auto precision : {OperandPrecision::tf32, OperandPrecision::bf16}) {
    Values sum = weight_gradient(c, operands, precision, 0, 4);
    const Values right = weight_gradient(c, operands, precision, 4, 8);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += right[i];
    EXPECT_EQ(weight_gradient(c, operands, precision, 0, 8), sum);
  }
}

TEST(TensorConv2dForward, KeepsWhatIsNotANumber) {
  const ConvShape shape = conv_shape(1, 2, 2, 1, 1, 1);
  Operands operands = random_operands({shape, 1, 16});
  operands.x[5] = Kokkos::bit_cast<float>(0x7FFFFFFFu);  // one sample's
  for (const auto precision : {OperandPrecision::tf32, OperandPrecision::bf16}) {
    const Conv2dKernels& kernels = conv2d_kernels({.precision = precision, .on_device = true});
    const FloatView x = make_view(operands.x);
    const FloatView weight = make_view(operands.weight);
    const FloatView bias = make_view(operands.bias);
    const FloatView packed("", static_cast<std::size_t>(kernels.forward_floats(shape)));
    kernels.pack_forward(ExecSpace(), shape, weight.data(), packed.data());
    const FloatView y = make_view(Values(operands.dy.size()));
    kernels.forward(ExecSpace(), shape, 16, x.data(), packed.data(), bias.data(), true, y.data());
    const Values result = read(y, 0, operands.dy.size());
    for (std::size_t i = 0; i < result.size(); ++i) EXPECT_EQ(std::isnan(result[i]), i == 5);
  }
}

// Whatever the other groups of the rank are. 81 pixels are no whole number of teams.
TEST(TensorConv2dInputGradient, OfAGroupIsItsOwn) {
  const ConvShape shape = conv_shape(3, 9, 9, 5, 3, 1);
  const Case two{shape, 2, 16};
  const Operands operands = random_operands(two);
  for (const auto precision : {OperandPrecision::tf32, OperandPrecision::bf16}) {
    const Conv2dKernels& kernels = conv2d_kernels({.precision = precision, .on_device = true});
    const FloatView dy = make_view(operands.dy);
    const FloatView weight = make_view(operands.weight);
    const FloatView packed("", static_cast<std::size_t>(kernels.gradient_floats(shape)));
    kernels.pack_gradient(ExecSpace(), shape, weight.data(), packed.data());
    const std::size_t half = operands.x.size() / 2;
    const FloatView both = make_view(Values(2 * half));
    kernels.input_gradient(ExecSpace(), shape, 32, dy.data(), packed.data(), nullptr, both.data());
    const FloatView second = make_view(Values(half));
    kernels.input_gradient(ExecSpace(), shape, 16, dy.data() + shape.out_group(), packed.data(),
                           nullptr, second.data());
    EXPECT_EQ(read(both, half, half), read(second, 0, half));
  }
}

}  // namespace
}  // namespace quern
