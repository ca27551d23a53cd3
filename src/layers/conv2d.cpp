// SPDX-License-Identifier: Apache-2.0
#include "layers/conv2d.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "layers/conv2d_kernels.hpp"
#include "layers/conv2d_pool_kernels.hpp"

namespace quern {

namespace {

// Values of a sample whose places in a lane group an int can hold, as kernels that round do.
constexpr std::int64_t kMaxRoundedValues = std::int64_t{1} << 27;

Shape output_of(const LayerSpec& spec, const Shape& input) {
  const int border = 2 * spec.padding - spec.kernel;
  return {spec.channels, (input.height + border) / spec.stride + 1,
          (input.width + border) / spec.stride + 1};
}

}  // namespace

Conv2d::Conv2d(const LayerSpec& spec, const Shape& input)
    : Conv2d(spec, input, output_of(spec, input)) {}

Conv2d::Conv2d(const LayerSpec& spec, const Shape& input, const Shape& output)
    : Layer(spec.name, input, output),
      kernels_(&conv2d_kernels(OperandPrecision::fp32)),
      shape_{input.channels,
             input.height + 2 * spec.padding,
             input.width + 2 * spec.padding,
             spec.channels,
             output_shape().height,
             output_shape().width,
             spec.kernel,
             spec.stride},
      padding_(spec.padding) {}

void Conv2d::use_precision(OperandPrecision precision) {
  kernels_ = &conv2d_kernels(precision);
  const std::int64_t values = std::max(shape_.in_group(), shape_.out_group()) / kLanes;
  if (precision == OperandPrecision::fp32 || values < kMaxRoundedValues) return;
  throw InputError("network.layers: '" + name() + "' has " + std::to_string(values) +
                   " values per sample, padding included (expected fewer than " +
                   std::to_string(kMaxRoundedValues) +
                   " with train.precision \"tf32\" or \"bf16\")");
}

std::int64_t Conv2d::workspace_floats(int max_rows) const {
  return pool_ ? pool_kernels_->workspace_floats(shape_, max_rows)
               : kernels_->workspace_floats(shape_, max_rows);
}

bool Conv2d::fuse_pool(const Pool& pool) {
  pool_kernels_ = conv2d_pool_kernels();
  if (!fused_relu_ || !pool_kernels_ || !pool_kernels_->supports(shape_, pool)) return false;
  pool_ = pool;
  return true;
}

Shape Conv2d::needed_input(const Shape& read) const {
  const int beyond = shape_.kernel - padding_;
  const auto needed = [&](int outputs, int all) {
    return std::clamp((outputs - 1) * shape_.stride + beyond, 1, all);
  };
  return {input_shape().channels, needed(read.height, input_shape().height),
          needed(read.width, input_shape().width)};
}

void Conv2d::add_parameters(ParameterTable& table) {
  const int kernel = shape_.kernel;
  weight_ = table.add(name() + ".weight", {shape_.out_channels, shape_.in_channels, kernel, kernel},
                      shape_.taps(), ParameterKind::weight);
  bias_ = table.add(name() + ".bias", {shape_.out_channels}, shape_.taps(), ParameterKind::bias);
}

Conv2d::OwnSizes Conv2d::own_sizes(int max_rows) const {
  const std::int64_t groups = max_rows / kLanes;
  OwnSizes sizes;
  sizes.forward_weights = kernels_->forward_floats(shape_);
  if (padding_ > 0) sizes.padded_x = groups * shape_.in_group();
  if (pool_) {  // and nobody wants dx
    sizes.passes = groups * shape_.out_group() / kLanes;
    return sizes;
  }
  sizes.gradient_weights = kernels_->gradient_floats(shape_);
  sizes.padded_dx = sizes.padded_x;
  return sizes;
}

std::int64_t Conv2d::own_bytes(int max_rows) const {
  const OwnSizes sizes = own_sizes(max_rows);
  const std::int64_t floats =
      sizes.forward_weights + sizes.gradient_weights + sizes.padded_x + sizes.padded_dx;
  return floats * std::int64_t{sizeof(float)} + sizes.passes * std::int64_t{sizeof(std::uint16_t)};
}

void Conv2d::allocate(int max_rows) {
  const OwnSizes sizes = own_sizes(max_rows);
  const auto floats = [](const std::string& label, std::int64_t count) {
    if (count == 0) return FloatView();
    return FloatView("quern::layers::conv2d_" + label, static_cast<std::size_t>(count));
  };
  forward_weights_ = floats("forward_weights", sizes.forward_weights);
  gradient_weights_ = floats("gradient_weights", sizes.gradient_weights);
  padded_x_ = floats("padded_x", sizes.padded_x);
  padded_dx_ = floats("padded_dx", sizes.padded_dx);
  if (sizes.passes == 0) return;
  passes_ =
      View<std::uint16_t>("quern::layers::conv2d_passes", static_cast<std::size_t>(sizes.passes));
}

void Conv2d::forward(const ExecSpace& exec, const StepContext& step, const Activation& x,
                     const Activation& y) {
  kernels_->pack_forward(exec, shape_, step.parameters.data() + weight_, forward_weights_.data());
  if (padding_ > 0) {
    kernels_->pad(exec, std::int64_t{x.rows / kLanes} * shape_.in_channels, input_shape().height,
                  input_shape().width, padding_, x.data.data(), padded_x_.data());
  }
  const float* padded_x = padding_ > 0 ? padded_x_.data() : x.data.data();
  const float* bias = step.parameters.data() + bias_;
  if (pool_) {
    pool_kernels_->forward(exec, shape_, *pool_, x.rows, padded_x, forward_weights_.data(), bias,
                           passes_.data(), y.data.data());
    return;
  }
  kernels_->forward(exec, shape_, x.rows, padded_x, forward_weights_.data(), bias, fused_relu_,
                    y.data.data());
}

void Conv2d::backward(const ExecSpace& exec, const StepContext& step, const Activation& x,
                      const Activation&, const Activation& dy, const Activation& dx) {
  const float* padded_x = padding_ > 0 ? padded_x_.data() : x.data.data();  // kept from forward
  if (pool_) {
    expect(dx.empty(), "a pool that is taken over only where nobody wants dx");
    pool_kernels_->gradients(exec, shape_, *pool_, step.schedule, padded_x, passes_.data(),
                             dy.data.data(), step.gradients, weight_, bias_, workspace_);
    return;
  }
  kernels_->weight_gradient(exec, shape_, step.schedule, padded_x, dy.data.data(), step.gradients,
                            weight_, workspace_);
  kernels_->bias_gradient(exec, shape_, step.schedule, dy.data.data(), step.gradients, bias_);
  if (dx.empty()) return;
  float* padded_dx = padding_ > 0 ? padded_dx_.data() : dx.data.data();
  kernels_->pack_gradient(exec, shape_, step.parameters.data() + weight_, gradient_weights_.data());
  kernels_->input_gradient(exec, shape_, dy.rows, dy.data.data(), gradient_weights_.data(),
                           fused_input_relu_ ? x.data.data() : nullptr, padded_dx);
  if (padding_ > 0) {
    kernels_->crop(exec, std::int64_t{dx.rows / kLanes} * shape_.in_channels, input_shape().height,
                   input_shape().width, padding_, padded_dx, dx.data.data());
  }
}

}  // namespace quern
