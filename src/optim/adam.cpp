// SPDX-License-Identifier: Apache-2.0
#include "optim/adam.hpp"

#include "base/assert.hpp"
#include "optim/flush_denormal.hpp"
#include "tensor/chunks.hpp"
#include "tensor/parallel_for.hpp"

namespace quern {

namespace {

void compute_factors(const ExecSpace& exec, const StepScalarsView& scalars,
                     const AdamSettings& settings, float weight_decay,
                     const ScalarView<AdamFactors>& factors) {
  run_single_item(
      exec, "quern::optim::adam_factors", KOKKOS_LAMBDA() {
        const double t = static_cast<double>(scalars().step + 1);
        const double lr = scalars().learning_rate;
        const double decay = settings.decoupled ? 1 - lr * weight_decay : 1;
        AdamFactors result;
        result.apply_updates = scalars().apply_updates;
        result.gradient_scale = scalars().gradient_scale;
        result.decay = static_cast<float>(decay);
        result.step_size = static_cast<float>(lr / (1 - Kokkos::pow(settings.beta1, t)));
        result.inverse_correction =
            static_cast<float>(1 / Kokkos::sqrt(1 - Kokkos::pow(settings.beta2, t)));
        factors() = result;
      });
}

struct Constants {
  float new_part;  // 1 - beta1
  float beta2;
  float new_part_sq;  // 1 - beta2
  float eps;
  bool decoupled;
};

// One piece of the block that is decayed alike. The members are values, so that what p, m and v
// point to cannot change them, and nothing is loaded for each vector.
struct Piece {
  float* p;
  float* m;
  float* v;
  const float* g;
  AdamFactors step;
  Constants constants;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t begin, std::int64_t end, float decay) const {
    const Piece s = *this;
    const Constants c = constants;
    const float kept = decay != 0 ? s.step.decay : 1.0f;
    const float l2 = c.decoupled ? 0.0f : decay;
    QUERN_VECTORIZE
    for (std::int64_t i = begin; i < end; ++i) {
      const float old = s.p[i] * kept;
      const float grad = s.g[i] * s.step.gradient_scale + l2 * old;
      const float mean = flush_denormal(s.m[i] + c.new_part * (grad - s.m[i]));
      const float square = flush_denormal(c.beta2 * s.v[i] + c.new_part_sq * grad * grad);
      const float spread = Kokkos::sqrt(square) * s.step.inverse_correction + c.eps;
      s.m[i] = mean;
      s.v[i] = square;
      s.p[i] = old - s.step.step_size * mean / spread;
    }
  }
};

Constants constants_of(const AdamSettings& settings) {
  return {static_cast<float>(1 - settings.beta1), static_cast<float>(settings.beta2),
          static_cast<float>(1 - settings.beta2), settings.eps, settings.decoupled};
}

void update_block(const ExecSpace& exec, const ScalarView<AdamFactors>& factors,
                  const AdamSettings& settings, const WeightDecay& decay,
                  const FloatView& parameters, const ConstFloatView& gradient,
                  const FloatView& exp_avg, const FloatView& exp_avg_sq) {
  float* p = parameters.data();
  float* m = exp_avg.data();
  float* v = exp_avg_sq.data();
  const float* g = gradient.data();
  const Constants constants = constants_of(settings);
  for_each_chunk(
      exec, "quern::optim::adam", parameters.extent(0),
      KOKKOS_LAMBDA(std::int64_t begin, std::int64_t end) {
        const AdamFactors step = factors();
        if (!step.apply_updates) return;
        decay.for_each_piece(begin, end, Piece{p, m, v, g, step, constants});
      });
}

}  // namespace

Adam::Adam(const OptimizerSpec& spec, const ParameterTable& table, const OptimizerPart& part)
    : Optimizer(part),
      weight_decay_(make_weight_decay(spec, table, part)),
      factors_("quern::optim::adam_factors"),
      exp_avg_(add_state("exp_avg", table.trained_size())),
      exp_avg_sq_(add_state("exp_avg_sq", table.trained_size())) {
  settings_.beta1 = spec.beta1;
  settings_.beta2 = spec.beta2;
  settings_.eps = static_cast<float>(spec.eps);
  settings_.decoupled = spec.type == OptimizerType::adamw;
}

void Adam::update(const ExecSpace& exec, const StepScalarsView& scalars,
                  const FloatView& parameters, const ConstFloatView& gradient) {
  expect(gradient.extent(0) >= parameters.extent(0), "a gradient for every parameter");
  expect(exp_avg_.extent(0) == own_part(parameters).extent(0), "state shaped like the parameters");
  compute_factors(exec, scalars, settings_, weight_decay_.strength, factors_);
  update_block(exec, factors_, settings_, weight_decay_, own_part(parameters), own_part(gradient),
               exp_avg_, exp_avg_sq_);
}

ParameterUpdate Adam::begin_update(const ExecSpace& exec, const StepScalarsView& scalars,
                                   const FloatView& parameters) {
  if (!kHostExecution) return {};
  compute_factors(exec, scalars, settings_, weight_decay_.strength, factors_);
  parameters_ = own_part(parameters).data();
  return {this, update_pieces, parameters.data()};
}

void Adam::update_pieces(const void* optimizer, std::int64_t begin, std::int64_t end,
                         const float* gradient) {
  const auto& adam = *static_cast<const Adam*>(optimizer);
  const AdamFactors step = adam.factors_();
  if (!step.apply_updates) return;
  const std::int64_t first = adam.place_in_part(begin);
  const Piece piece{adam.parameters_,
                    adam.exp_avg_.data(),
                    adam.exp_avg_sq_.data(),
                    gradient - first,
                    step,
                    constants_of(adam.settings_)};
  adam.weight_decay_.for_each_piece(first, first + (end - begin), piece);
}

}  // namespace quern
