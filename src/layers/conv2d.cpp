// SPDX-License-Identifier: Apache-2.0
#include "layers/conv2d.hpp"

#include "layers/conv2d_kernels.hpp"
#include "linalg/transpose.hpp"

namespace quern {

namespace {

Shape output_of(const LayerSpec& spec, const Shape& input) {
  const int border = 2 * spec.padding - spec.kernel;
  return {spec.channels, (input.height + border) / spec.stride + 1,
          (input.width + border) / spec.stride + 1};
}

}  // namespace

Conv2d::Conv2d(const LayerSpec& spec, const Shape& input)
    : Layer(spec.name, input, output_of(spec, input)),
      shape_{input.channels,
             input.height + 2 * spec.padding,
             input.width + 2 * spec.padding,
             spec.channels,
             output_shape().height,
             output_shape().width,
             spec.kernel,
             spec.stride},
      padding_(spec.padding) {}

void Conv2d::add_parameters(ParameterTable& table) {
  const int kernel = shape_.kernel;
  weight_ = table.add(name() + ".weight", {shape_.out_channels, shape_.in_channels, kernel, kernel},
                      shape_.taps(), false);
  bias_ = table.add(name() + ".bias", {shape_.out_channels}, shape_.taps(), true);
}

void Conv2d::allocate(int max_slots) {
  weight_t_ =
      FloatView("quern::layers::conv2d_weight_t",
                static_cast<std::size_t>(shape_.taps() * round_up_to_lanes(shape_.out_channels)));
  if (padding_ == 0) return;
  const std::size_t size = static_cast<std::size_t>(max_slots / kLanes * shape_.in_group());
  padded_x_ = FloatView("quern::layers::conv2d_padded_x", size);
  padded_dx_ = FloatView("quern::layers::conv2d_padded_dx", size);
}

void Conv2d::forward(const ExecSpace& exec, const StepContext& step, const Activation& x,
                     const Activation& y) {
  const std::int64_t row = round_up_to_lanes(shape_.out_channels);
  transpose(exec, "quern::layers::conv2d_transpose",
            {weight_t_.data(), shape_.taps(), shape_.out_channels, row},
            {step.parameters.data() + weight_, shape_.out_channels, shape_.taps(), shape_.taps()});
  if (padding_ > 0) {
    pad_image(exec, std::int64_t{x.slots / kLanes} * shape_.in_channels, input_shape().height,
              input_shape().width, padding_, x.data.data(), padded_x_.data());
  }
  conv2d_forward(exec, shape_, x.slots, padding_ > 0 ? padded_x_.data() : x.data.data(),
                 weight_t_.data(), row, step.parameters.data() + bias_, y.data.data());
}

void Conv2d::backward(const ExecSpace& exec, const StepContext& step, const Activation& x,
                      const Activation&, const Activation& dy, const Activation& dx) {
  const float* padded_x = padding_ > 0 ? padded_x_.data() : x.data.data();  // kept from forward
  conv2d_weight_gradient(exec, shape_, step.schedule, padded_x, dy.data.data(), step.gradients,
                         weight_);
  conv2d_bias_gradient(exec, shape_, step.schedule, dy.data.data(), step.gradients, bias_);
  if (dx.empty()) return;
  float* padded_dx = padding_ > 0 ? padded_dx_.data() : dx.data.data();
  conv2d_input_gradient(exec, shape_, dy.slots, dy.data.data(), step.parameters.data() + weight_,
                        padded_dx);
  if (padding_ > 0) {
    crop_image(exec, std::int64_t{dx.slots / kLanes} * shape_.in_channels, input_shape().height,
               input_shape().width, padding_, padded_dx, dx.data.data());
  }
}

}  // namespace quern
