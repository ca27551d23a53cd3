// SPDX-License-Identifier: Apache-2.0
#include "layers/conv2d_kernels.hpp"

#include <limits>

#include "base/assert.hpp"
#include "layers/device/conv2d_products.hpp"
#include "layers/device/conv2d_tensor.hpp"
#include "layers/device/conv2d_weight_gradient.hpp"

namespace quern::device {

namespace {

template <class Kernel>
void for_each_item(const ExecSpace& exec, const std::string& label, const Kernel& kernel) {
  static_assert(sizeof(Kernel) <= kMaxFunctorBytes, "arguments that travel with the launch");
  expect(kernel.num_items() <= std::numeric_limits<std::uint32_t>::max(),
         "a convolution of fewer than 2^32 work items");
  Kokkos::parallel_for(label, RangePolicy(exec, 0, kernel.num_items()), kernel);
}

// Large tiles read each input less often; where they would leave a device idle, small ones do not.
constexpr std::int64_t kEnoughTeams = 200;

std::int64_t forward_floats(const ConvShape& shape) {
  return std::int64_t{channel_tiles(shape.out_channels)} * kTileChannels * shape.taps();
}

std::int64_t gradient_floats(const ConvShape& shape) {
  return std::int64_t{channel_tiles(shape.in_channels)} * kTileChannels * shape.kernel *
         shape.out_channels * shape.kernel;
}

void pack_forward(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                  float* packed) {
  const int taps = shape.taps();
  Kokkos::parallel_for(
      "quern::layers::conv2d_pack_forward", RangePolicy(exec, 0, forward_floats(shape)),
      KOKKOS_LAMBDA(std::int64_t e) {
        const std::int64_t tap = e / kTileChannels % taps;
        const std::int64_t o = e / kTileChannels / taps * kTileChannels + e % kTileChannels;
        packed[e] = o < shape.out_channels ? weight[o * taps + tap] : 0;
      });
}

void pack_gradient(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                   float* packed) {
  Kokkos::parallel_for(
      "quern::layers::conv2d_pack_gradient", RangePolicy(exec, 0, gradient_floats(shape)),
      KOKKOS_LAMBDA(std::int64_t e) {
        std::int64_t rest = e / kTileChannels;
        const int kh = static_cast<int>(rest % shape.kernel);
        rest /= shape.kernel;
        const int o = static_cast<int>(rest % shape.out_channels);
        rest /= shape.out_channels;
        const int kw = static_cast<int>(rest % shape.kernel);
        const int i = static_cast<int>(rest / shape.kernel * kTileChannels + e % kTileChannels);
        packed[e] = i < shape.in_channels ? weight[shape.weight(o, i, kh, kw)] : 0;
      });
}

void forward(const ExecSpace& exec, const ConvShape& shape, int batch_rows, const float* x,
             const float* weights, const float* bias, bool with_relu, float* y) {
  for_each_item(exec, "quern::layers::conv2d_forward",
                ConvForward{shape, batch_rows / kLanes, x, weights, bias, with_relu, y});
}

void input_gradient(const ExecSpace& exec, const ConvShape& shape, int batch_rows, const float* dy,
                    const float* weights, const float* x_mask, float* dx) {
  for_each_item(exec, "quern::layers::conv2d_input_gradient",
                ConvInputGradient{shape, batch_rows / kLanes, dy, weights, x_mask, dx});
}

std::int64_t no_workspace(const ConvShape&, int) {
  return 0;
}

void weight_gradient(const ExecSpace& exec, const ConvShape& shape, const BlockSchedule& schedule,
                     const float* x, const float* dy, const GradientSums& partial_sums,
                     std::int64_t offset, const FloatView&) {
  const auto run = [&]<int Channels, int Taps>() {
    const ConvWeightGradient<Channels, Taps, false> kernel{shape,
                                                           traversal_of(schedule),
                                                           schedule.block_rows / kLanes,
                                                           x,
                                                           dy,
                                                           partial_sums.data.data() + offset,
                                                           partial_sums.stride};
    if (kernel.num_teams() < kEnoughTeams && Channels > 1) return false;
    for_each_team(exec, "quern::layers::conv2d_weight_gradient", kernel.num_teams(), kernel);
    return true;
  };
  if (!run.template operator()<8, 4>()) run.template operator()<1, 1>();
}

void bias_gradient(const ExecSpace& exec, const ConvShape& shape, const BlockSchedule& schedule,
                   const float* dy, const GradientSums& partial_sums, std::int64_t offset) {
  const ConvWeightGradient<1, 1, true> kernel{shape,
                                              traversal_of(schedule),
                                              schedule.block_rows / kLanes,
                                              nullptr,
                                              dy,
                                              partial_sums.data.data() + offset,
                                              partial_sums.stride};
  for_each_team(exec, "quern::layers::conv2d_bias_gradient", kernel.num_teams(), kernel);
}

/// Calls body(place in the image, place in the padded image) for every float.
template <class Body>
void for_each_pixel(const ExecSpace& exec, const std::string& label, std::int64_t planes,
                    int height, int width, int padding, const Body& body) {
  const std::int64_t row = std::int64_t{kLanes} * width;
  const std::int64_t padded_row = row + std::int64_t{2} * kLanes * padding;
  const std::int64_t padded_plane = padded_row * (height + 2 * padding);
  const std::int64_t corner = padded_row * padding + std::int64_t{kLanes} * padding;
  Kokkos::parallel_for(
      label, RangePolicy(exec, 0, planes * height * row), KOKKOS_LAMBDA(std::int64_t at) {
        const std::int64_t h = at / row % height;
        const std::int64_t plane = at / row / height;
        body(at, plane * padded_plane + corner + h * padded_row + at % row);
      });
}

void pad(const ExecSpace& exec, std::int64_t planes, int height, int width, int padding,
         const float* x, float* padded) {
  for_each_pixel(
      exec, "quern::layers::pad_image", planes, height, width, padding,
      KOKKOS_LAMBDA(std::int64_t at, std::int64_t padded_at) { padded[padded_at] = x[at]; });
}

void crop(const ExecSpace& exec, std::int64_t planes, int height, int width, int padding,
          const float* padded, float* x) {
  for_each_pixel(
      exec, "quern::layers::crop_image", planes, height, width, padding,
      KOKKOS_LAMBDA(std::int64_t at, std::int64_t padded_at) { x[at] = padded[padded_at]; });
}

constexpr Conv2dKernels float_kernels() {
  return {
      .adds_borders = false,
      .forward_floats = forward_floats,
      .pack_forward = pack_forward,
      .gradient_floats = gradient_floats,
      .pack_gradient = pack_gradient,
      .forward = forward,
      .input_gradient = input_gradient,
      .workspace_floats = no_workspace,
      .weight_gradient = weight_gradient,
      .bias_gradient = bias_gradient,
      .pad = pad,
      .crop = crop,
  };
}

template <class Operand>
constexpr Conv2dKernels tensor_kernels() {
  using Tensor = TensorConv2d<Operand>;
  Conv2dKernels kernels = float_kernels();
  // Places in a group of 16 samples are ints.
  kernels.max_values = (std::int64_t{1} << 31) / kLanes;
  kernels.forward_floats = Tensor::forward_floats;
  kernels.pack_forward = Tensor::pack_forward;
  kernels.gradient_floats = Tensor::gradient_floats;
  kernels.pack_gradient = Tensor::pack_gradient;
  kernels.forward = Tensor::forward;
  kernels.input_gradient = Tensor::input_gradient;
  kernels.workspace_floats = Tensor::workspace_floats;
  kernels.weight_gradient = Tensor::weight_gradient;
  return kernels;
}

}  // namespace

const Conv2dKernels& conv2d_kernels() {
  static constexpr Conv2dKernels kKernels = float_kernels();
  return kKernels;
}

const Conv2dKernels& conv2d_tf32_kernels() {
  static constexpr Conv2dKernels kKernels = tensor_kernels<Tf32Operand>();
  return kKernels;
}

const Conv2dKernels& conv2d_bf16_kernels() {
  static constexpr Conv2dKernels kKernels = tensor_kernels<Bf16Operand>();
  return kKernels;
}

}  // namespace quern::device
