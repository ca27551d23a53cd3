// SPDX-License-Identifier: Apache-2.0
// The device kernels of the convolution, run on a CPU: the same bits as the CPU's own, on teams of
// one thread and, with OMP_NUM_THREADS=2, of two.
#include <gtest/gtest.h>

#include <functional>
#include <ostream>

#include "layers/conv2d_kernels.hpp"
#include "layers/device/conv2d_weight_gradient.hpp"
#include "support/activation_io.hpp"
#include "support/fused_products.hpp"
#include "support/random_values.hpp"

namespace quern {
namespace {

using test::make_view;
using test::random_values;
using test::read;

ConvShape conv_shape(int channels, int height, int width, int out, int kernel, int stride) {
  return {
      channels, height, width, out, (height - kernel) / stride + 1, (width - kernel) / stride + 1,
      kernel,   stride};
}

// Nobody reads the last outputs.
ConvShape trimmed(ConvShape shape) {
  shape.out_height -= 3;
  shape.out_width -= 2;
  return shape;
}

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

class DeviceConv2d : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    QUERN_SKIP_WITHOUT_FUSED_PRODUCTS();
    const auto& [s, blocks, block_rows] = GetParam();
    const auto groups = static_cast<std::size_t>(blocks * block_rows / kLanes);
    batch_rows = blocks * block_rows;
    x = make_view(random_values(groups * s.in_group(), 1));
    dy = make_view(random_values(groups * s.out_group(), 2));
    weight = make_view(random_values(static_cast<std::size_t>(s.taps()) * s.out_channels, 3));
    bias = make_view(random_values(static_cast<std::size_t>(s.out_channels), 4));
  }

  // The first `size` floats that kernel(output) writes.
  static std::vector<float> written(std::int64_t size, const std::function<void(float*)>& kernel) {
    const FloatView out = make_view(std::vector<float>(static_cast<std::size_t>(size), 7.0f));
    kernel(out.data());
    return read(out, 0, static_cast<std::size_t>(size));
  }

  const ExecSpace exec;
  int batch_rows = 0;
  FloatView x, dy, weight, bias;
};

TEST_P(DeviceConv2d, ForwardHasTheHostsBits) {
  const ConvShape& s = GetParam().shape;
  const std::int64_t size = batch_rows / kLanes * s.out_group();
  const FloatView host_packed("quern::test::packed",
                              static_cast<std::size_t>(host::conv2d_kernels().forward_floats(s)));
  const FloatView device_packed(
      "quern::test::packed", static_cast<std::size_t>(device::conv2d_kernels().forward_floats(s)));
  host::conv2d_kernels().pack_forward(exec, s, weight.data(), host_packed.data());
  device::conv2d_kernels().pack_forward(exec, s, weight.data(), device_packed.data());
  for (const float* b :
       {static_cast<const float*>(nullptr), static_cast<const float*>(bias.data())})
    for (const bool relu : {false, true}) {
      EXPECT_EQ(written(size,
                        [&](float* y) {
                          host::conv2d_kernels().forward(exec, s, batch_rows, x.data(),
                                                         host_packed.data(), b, relu, y);
                        }),
                written(size, [&](float* y) {
                  device::conv2d_kernels().forward(exec, s, batch_rows, x.data(),
                                                   device_packed.data(), b, relu, y);
                }));
    }
}

TEST_P(DeviceConv2d, InputGradientHasTheHostsBits) {
  const ConvShape& s = GetParam().shape;
  const std::int64_t size = batch_rows / kLanes * s.in_group();
  const FloatView host_packed("quern::test::packed",
                              static_cast<std::size_t>(host::conv2d_kernels().gradient_floats(s)));
  const FloatView device_packed(
      "quern::test::packed", static_cast<std::size_t>(device::conv2d_kernels().gradient_floats(s)));
  host::conv2d_kernels().pack_gradient(exec, s, weight.data(), host_packed.data());
  device::conv2d_kernels().pack_gradient(exec, s, weight.data(), device_packed.data());
  for (const float* mask :
       {static_cast<const float*>(nullptr), static_cast<const float*>(x.data())}) {
    EXPECT_EQ(written(size,
                      [&](float* dx) {
                        host::conv2d_kernels().input_gradient(exec, s, batch_rows, dy.data(),
                                                              host_packed.data(), mask, dx);
                      }),
              written(size, [&](float* dx) {
                device::conv2d_kernels().input_gradient(exec, s, batch_rows, dy.data(),
                                                        device_packed.data(), mask, dx);
              }));
  }
}

template <class Kernel>
void launch_gradient(const ConvShape& s, const BlockSchedule& schedule, const FloatView& x,
                     const FloatView& dy, float* sums, std::int64_t stride) {
  const Kernel kernel{s,
                      device::traversal_of(schedule),
                      schedule.block_rows / kLanes,
                      x.data(),
                      dy.data(),
                      sums,
                      stride};
  for_each_team(ExecSpace(), "quern::test::gradient", kernel.num_teams(), kernel);
}

TEST_P(DeviceConv2d, WeightGradientHasTheHostsBits) {
  const ConvShape& s = GetParam().shape;
  const int blocks = GetParam().blocks;
  const int block_rows = GetParam().block_rows;
  // Of a larger batch, so that several partial sums remain.
  const BlockSchedule schedule = make_block_schedule(1, 1 + blocks, blocks + 2, block_rows);
  const std::int64_t stride = std::int64_t{s.taps()} * s.out_channels + 16;
  const std::int64_t size = stride * schedule.num_partial_sums;
  const auto partial_sums = [&](float* out) {
    return GradientSums{FloatView(out, static_cast<std::size_t>(size)), stride};
  };
  const auto expected = written(size, [&](float* out) {
    host::conv2d_kernels().weight_gradient(exec, s, schedule, x.data(), dy.data(),
                                           partial_sums(out), 0, {});
  });
  EXPECT_EQ(expected, written(size, [&](float* out) {
              device::conv2d_kernels().weight_gradient(exec, s, schedule, x.data(), dy.data(),
                                                       partial_sums(out), 0, {});
            }));
  const auto tiled = [&]<class Kernel>() {
    return written(size,
                   [&](float* out) { launch_gradient<Kernel>(s, schedule, x, dy, out, stride); });
  };
  using device::ConvWeightGradient;
  EXPECT_EQ(expected, (tiled.template operator()<ConvWeightGradient<8, 4, false, 1>>()));
  EXPECT_EQ(expected, (tiled.template operator()<ConvWeightGradient<1, 1, false, 1>>()));
  if (exec.concurrency() < 2) return;
  EXPECT_EQ(expected, (tiled.template operator()<ConvWeightGradient<8, 4, false, 2>>()));
  EXPECT_EQ(expected, (tiled.template operator()<ConvWeightGradient<1, 1, false, 2>>()));
}

TEST_P(DeviceConv2d, BiasGradientHasTheHostsBits) {
  const ConvShape& s = GetParam().shape;
  const int blocks = GetParam().blocks;
  const int block_rows = GetParam().block_rows;
  const BlockSchedule schedule = make_block_schedule(1, 1 + blocks, blocks + 2, block_rows);
  const std::int64_t stride = s.out_channels + 16;
  const std::int64_t size = stride * schedule.num_partial_sums;
  const auto run = [&](const auto& kernel) {
    return written(size, [&](float* out) {
      kernel(exec, s, schedule, dy.data(),
             GradientSums{FloatView(out, static_cast<std::size_t>(size)), stride}, 0);
    });
  };
  EXPECT_EQ(run(host::conv2d_kernels().bias_gradient), run(device::conv2d_kernels().bias_gradient));
}

INSTANTIATE_TEST_SUITE_P(OddSizes, DeviceConv2d,
                         ::testing::Values(Case{conv_shape(1, 1, 1, 1, 1, 1), 1, 16},
                                           Case{conv_shape(2, 5, 7, 3, 3, 1), 3, 16},
                                           Case{conv_shape(3, 12, 11, 9, 3, 2), 2, 32},
                                           Case{conv_shape(1, 28, 28, 20, 3, 1), 2, 16},
                                           Case{conv_shape(20, 9, 9, 50, 5, 1), 9, 16},
                                           Case{conv_shape(3, 13, 12, 17, 4, 3), 1, 16},
                                           Case{conv_shape(17, 4, 33, 3, 2, 2), 7, 16},
                                           Case{trimmed(conv_shape(3, 11, 9, 7, 3, 1)), 2, 16},
                                           Case{trimmed(conv_shape(2, 13, 12, 5, 4, 2)), 2, 16}));

TEST(DeviceImages, ArePaddedAndCropped) {
  const int planes = 3, height = 5, width = 4, padding = 2;
  const FloatView x = make_view(random_values(kLanes * planes * height * width, 5));
  const std::size_t padded_size = kLanes * planes * 9 * 8;
  const auto padded = [&](const auto& kernel) {
    const FloatView out = make_view(std::vector<float>(padded_size, 7.0f));
    kernel(ExecSpace(), planes, height, width, padding, x.data(), out.data());
    return read(out, 0, padded_size);
  };
  EXPECT_EQ(padded(host::conv2d_kernels().pad), padded(device::conv2d_kernels().pad));
  const FloatView image = make_view(padded(host::conv2d_kernels().pad));
  const FloatView cropped = make_view(std::vector<float>(x.extent(0)));
  device::conv2d_kernels().crop(ExecSpace(), planes, height, width, padding, image.data(),
                                cropped.data());
  EXPECT_EQ(read(x, 0, x.extent(0)), read(cropped, 0, x.extent(0)));
}

}  // namespace
}  // namespace quern
