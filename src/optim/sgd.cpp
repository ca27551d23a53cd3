// SPDX-License-Identifier: Apache-2.0
#include "optim/sgd.hpp"

#include "base/assert.hpp"
#include "optim/sgd_pieces.hpp"
#include "tensor/chunks.hpp"

namespace quern {

namespace {

void update_plain(const ExecSpace& exec, const StepScalarsView& scalars,
                  const FloatView& parameters, const ConstFloatView& gradient,
                  const ParameterGroups& groups) {
  float* p = parameters.data();
  const float* g = gradient.data();
  for_each_chunk(
      exec, "quern::optim::sgd", parameters.extent(0),
      KOKKOS_LAMBDA(std::int64_t begin, std::int64_t end) {
        if (!scalars().apply_updates) return;
        groups.for_each_piece(begin, end,
                              PlainSgd{p, g, scalars().gradient_scale, scalars().learning_rate});
      });
}

void update_momentum(const ExecSpace& exec, const StepScalarsView& scalars,
                     const FloatView& parameters, const ConstFloatView& gradient,
                     const FloatView& buffer, const ParameterGroups& groups, float momentum,
                     bool nesterov) {
  float* p = parameters.data();
  float* b = buffer.data();
  const float* g = gradient.data();
  for_each_chunk(
      exec, "quern::optim::sgd_momentum", parameters.extent(0),
      KOKKOS_LAMBDA(std::int64_t begin, std::int64_t end) {
        if (!scalars().apply_updates) return;
        groups.for_each_piece(begin, end,
                              SgdWithMomentum{p, b, g, scalars().gradient_scale,
                                              scalars().learning_rate, momentum, nesterov});
      });
}

}  // namespace

Sgd::Sgd(const OptimizerSpec& spec, const ParameterTable& table, const OptimizerPart& part)
    : Optimizer(part),
      momentum_(static_cast<float>(spec.momentum)),
      groups_(make_parameter_groups(spec, table, part)),
      nesterov_(spec.nesterov) {
  if (momentum_ != 0) momentum_buffer_ = add_state("momentum_buffer", table.trained_size());
}

void Sgd::update(const ExecSpace& exec, const StepScalarsView& scalars, const FloatView& parameters,
                 const ConstFloatView& gradient) {
  expect(gradient.extent(0) >= parameters.extent(0), "a gradient for every parameter");
  if (momentum_ == 0) {
    update_plain(exec, scalars, own_part(parameters), own_part(gradient), groups_);
  } else {
    expect(momentum_buffer_.extent(0) == own_part(parameters).extent(0),
           "state shaped like the parameters");
    update_momentum(exec, scalars, own_part(parameters), own_part(gradient), momentum_buffer_,
                    groups_, momentum_, nesterov_);
  }
}

bool Sgd::begin_pieces(const ExecSpace& /*exec*/, const StepScalarsView& scalars) {
  scalars_ = scalars;
  return true;
}

void Sgd::update_pieces(std::int64_t begin, std::int64_t end, const float* gradient) const {
  const StepScalars& step = scalars_();
  if (!step.apply_updates) return;
  const std::int64_t first = place_in_part(begin);
  const std::int64_t last = first + (end - begin);
  float* p = piece_parameters();
  const float* g = gradient - first;
  if (momentum_ == 0) {
    groups_.for_each_piece(first, last, PlainSgd{p, g, step.gradient_scale, step.learning_rate});
  } else {
    groups_.for_each_piece(first, last,
                           SgdWithMomentum{p, momentum_buffer_.data(), g, step.gradient_scale,
                                           step.learning_rate, momentum_, nesterov_});
  }
}

}  // namespace quern
