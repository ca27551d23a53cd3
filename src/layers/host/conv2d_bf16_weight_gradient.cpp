// SPDX-License-Identifier: Apache-2.0
#include "layers/host/conv2d_bf16_weight_gradient.hpp"

#include "layers/host/conv2d_bf16_weight_sums.hpp"

namespace quern::host {

namespace {

template <OperandPrecision kPrecision>
void tile_weight_gradient(const ExecSpace& exec, const ConvShape& given,
                          const BlockSchedule& schedule, const float* x, const float* dy,
                          const GradientSums& partial_sums, std::int64_t offset) {
  const ConvShape shape = as_product(given);
  with_values(dy, shape.rounded_dy, [&](const auto* values) {
    using T = std::remove_const_t<std::remove_pointer_t<decltype(values)>>;
    sum_weight_gradient<kPrecision>(exec, "quern::layers::conv2d_weight_gradient", shape, schedule,
                                    x, OutputGradient<T>{shape, values}, partial_sums, offset);
  });
}

}  // namespace

void conv2d_bf16_weight_gradient(const ExecSpace& exec, const ConvShape& shape,
                                 const BlockSchedule& schedule, const float* x, const float* dy,
                                 const GradientSums& partial_sums, std::int64_t offset,
                                 const FloatView&) {
  tile_weight_gradient<OperandPrecision::bf16>(exec, shape, schedule, x, dy, partial_sums, offset);
}

void conv2d_bf16_pairs_weight_gradient(const ExecSpace& exec, const ConvShape& shape,
                                       const BlockSchedule& schedule, const float* x,
                                       const float* dy, const GradientSums& partial_sums,
                                       std::int64_t offset, const FloatView&) {
  tile_weight_gradient<OperandPrecision::bf16_pairs>(exec, shape, schedule, x, dy, partial_sums,
                                                     offset);
}

std::int64_t conv2d_bf16_weight_gradient_scratch(int threads, const ConvShape& shape,
                                                 const BatchLimit& most) {
  return weight_gradient_scratch(threads, shape, most, false);
}

}  // namespace quern::host
