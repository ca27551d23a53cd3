// SPDX-License-Identifier: Apache-2.0
#include "optim/lars.hpp"

#include "base/assert.hpp"
#include "optim/sgd_pieces.hpp"

namespace quern {

namespace {

void update_plain(const ExecSpace& exec, const StepScalarsView& scalars,
                  const FloatView& parameters, const ConstFloatView& gradient,
                  const TrustedPart& trusted, const ParameterGroups& groups) {
  float* p = parameters.data();
  const float* g = gradient.data();
  for_each_chunk(
      exec, "quern::optim::lars", parameters.extent(0),
      KOKKOS_LAMBDA(std::int64_t begin, std::int64_t end) {
        const StepScalars& step = scalars();
        if (!step.apply_updates) return;
        for_each_trusted_piece(
            trusted, groups, begin, end,
            [&](std::int64_t first, std::int64_t last, const ParameterGroup& group, float ratio) {
              PlainSgd{p, g, step.gradient_scale * ratio, step.learning_rate}(
                  first, last, {group.decay * ratio, group.lr_factor});
            });
      });
}

void update_momentum(const ExecSpace& exec, const StepScalarsView& scalars,
                     const FloatView& parameters, const ConstFloatView& gradient,
                     const FloatView& buffer, const TrustedPart& trusted,
                     const ParameterGroups& groups, float momentum, bool nesterov) {
  float* p = parameters.data();
  float* b = buffer.data();
  const float* g = gradient.data();
  for_each_chunk(
      exec, "quern::optim::lars_momentum", parameters.extent(0),
      KOKKOS_LAMBDA(std::int64_t begin, std::int64_t end) {
        const StepScalars& step = scalars();
        if (!step.apply_updates) return;
        for_each_trusted_piece(
            trusted, groups, begin, end,
            [&](std::int64_t first, std::int64_t last, const ParameterGroup& group, float ratio) {
              SgdWithMomentum{p,        b,       g, step.gradient_scale * ratio, step.learning_rate,
                              momentum, nesterov}(first, last,
                                                  {group.decay * ratio, group.lr_factor});
            });
      });
}

}  // namespace

Lars::Lars(const OptimizerSpec& spec, const ParameterTable& table, const OptimizerPart& part)
    : TrustedOptimizer(spec, table, part),
      momentum_(static_cast<float>(spec.momentum)),
      nesterov_(spec.nesterov) {
  if (momentum_ != 0) momentum_buffer_ = add_state("momentum_buffer", table.trained_size());
}

void Lars::prepare_update(const ExecSpace& exec, const StepScalarsView& /*scalars*/,
                          const FloatView& parameters, const ConstFloatView& gradient) {
  add_squares(exec, parameters, own_part(gradient));
}

void Lars::update_own(const ExecSpace& exec, const StepScalarsView& scalars,
                      const FloatView& parameters, const ConstFloatView& gradient) {
  if (momentum_ == 0) {
    update_plain(exec, scalars, parameters, gradient, trusted(), groups());
    return;
  }
  expect(momentum_buffer_.extent(0) == parameters.extent(0), "state shaped like the parameters");
  update_momentum(exec, scalars, parameters, gradient, momentum_buffer_, trusted(), groups(),
                  momentum_, nesterov_);
}

}  // namespace quern
