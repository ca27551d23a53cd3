// SPDX-License-Identifier: Apache-2.0
#include "optim/sgd.hpp"

#include "base/assert.hpp"
#include "tensor/chunks.hpp"

namespace quern {

namespace {

void update_plain(const ExecSpace& exec, const StepScalarsView& scalars,
                  const FloatView& parameters, const ConstFloatView& gradient, float weight_decay) {
  float* p = parameters.data();
  const float* g = gradient.data();
  for_each_chunk(
      exec, "quern::optim::sgd", parameters.extent(0),
      KOKKOS_LAMBDA(std::int64_t begin, std::int64_t end) {
        if (!scalars().apply_updates) return;
        const float scale = scalars().gradient_scale;
        const float lr = scalars().learning_rate;
        QUERN_VECTORIZE
        for (std::int64_t i = begin; i < end; ++i)
          p[i] -= lr * (g[i] * scale + weight_decay * p[i]);
      });
}

void update_momentum(const ExecSpace& exec, const StepScalarsView& scalars,
                     const FloatView& parameters, const ConstFloatView& gradient,
                     const FloatView& buffer, float weight_decay, float momentum, bool nesterov) {
  float* p = parameters.data();
  float* b = buffer.data();
  const float* g = gradient.data();
  for_each_chunk(
      exec, "quern::optim::sgd_momentum", parameters.extent(0),
      KOKKOS_LAMBDA(std::int64_t begin, std::int64_t end) {
        if (!scalars().apply_updates) return;
        const float scale = scalars().gradient_scale;
        const float lr = scalars().learning_rate;
        QUERN_VECTORIZE
        for (std::int64_t i = begin; i < end; ++i) {
          const float grad = g[i] * scale + weight_decay * p[i];
          const float speed = flush_denormal(momentum * b[i] + grad);
          b[i] = speed;
          p[i] -= lr * (nesterov ? grad + momentum * speed : speed);
        }
      });
}

}  // namespace

Sgd::Sgd(const OptimizerSpec& spec, std::int64_t block_size, const OptimizerPart& part)
    : Optimizer(part),
      momentum_(static_cast<float>(spec.momentum)),
      weight_decay_(static_cast<float>(spec.weight_decay)),
      nesterov_(spec.nesterov) {
  if (momentum_ != 0) momentum_buffer_ = add_state("momentum_buffer", block_size);
}

void Sgd::update(const ExecSpace& exec, const StepScalarsView& scalars, const FloatView& parameters,
                 const ConstFloatView& gradient) {
  expect(gradient.extent(0) >= parameters.extent(0), "a gradient for every parameter");
  if (momentum_ == 0) {
    update_plain(exec, scalars, own_part(parameters), own_part(gradient), weight_decay_);
  } else {
    expect(momentum_buffer_.extent(0) == parameters.extent(0), "state shaped like the parameters");
    update_momentum(exec, scalars, own_part(parameters), own_part(gradient),
                    own_part(momentum_buffer_), weight_decay_, momentum_, nesterov_);
  }
}

}  // namespace quern
