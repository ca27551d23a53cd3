// SPDX-License-Identifier: Apache-2.0
#include "optim/adam.hpp"

#include "base/assert.hpp"
#include "optim/flush_denormal.hpp"
#include "tensor/chunks.hpp"
#include "tensor/parallel_for.hpp"

namespace quern {

namespace {

void compute_factors(const ExecSpace& exec, const StepScalarsView& scalars,
                     const AdamSettings& settings, const ScalarView<AdamFactors>& factors) {
  run_single_item(
      exec, "quern::optim::adam_factors", KOKKOS_LAMBDA() {
        const double t = static_cast<double>(scalars().step + 1);
        const double lr = scalars().learning_rate;
        AdamFactors result;
        result.apply_updates = scalars().apply_updates;
        result.gradient_scale = scalars().gradient_scale;
        result.learning_rate = lr;
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

// One piece of the block that is treated alike. The members are values, so that what p, m and v
// point to cannot change them, and nothing is loaded for each vector.
struct AdamPiece {
  float* p;
  float* m;
  float* v;
  const float* g;
  AdamFactors step;
  Constants constants;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t begin, std::int64_t end,
                                         const ParameterGroup& group) const {
    const AdamPiece s = *this;
    const Constants c = constants;
    const double decayed = s.step.learning_rate * group.lr_factor * group.decay;
    const float kept = c.decoupled ? static_cast<float>(1 - decayed) : 1.0f;
    const float l2 = c.decoupled ? 0.0f : group.decay;
    const float step_size = s.step.step_size * group.lr_factor;
    QUERN_VECTORIZE
    for (std::int64_t i = begin; i < end; ++i) {
      const float old = s.p[i] * kept;
      const float grad = s.g[i] * s.step.gradient_scale + l2 * old;
      const float mean = flush_denormal(s.m[i] + c.new_part * (grad - s.m[i]));
      const float square = flush_denormal(c.beta2 * s.v[i] + c.new_part_sq * grad * grad);
      const float spread = Kokkos::sqrt(square) * s.step.inverse_correction + c.eps;
      s.m[i] = mean;
      s.v[i] = square;
      s.p[i] = old - step_size * mean / spread;
    }
  }
};

/// Of a whole part, its step to come.
AdamPiece piece_of(const AdamSettings& settings, float* parameters, const FloatView& exp_avg,
                   const FloatView& exp_avg_sq, const float* gradient) {
  return {parameters,
          exp_avg.data(),
          exp_avg_sq.data(),
          gradient,
          {},
          {static_cast<float>(1 - settings.beta1), static_cast<float>(settings.beta2),
           static_cast<float>(1 - settings.beta2), settings.eps, settings.decoupled}};
}

void update_block(const ExecSpace& exec, const ScalarView<AdamFactors>& factors,
                  const ParameterGroups& groups, std::int64_t count, const AdamPiece& whole) {
  for_each_chunk(
      exec, "quern::optim::adam", count, KOKKOS_LAMBDA(std::int64_t begin, std::int64_t end) {
        AdamPiece piece = whole;
        piece.step = factors();
        if (piece.step.apply_updates) groups.for_each_piece(begin, end, piece);
      });
}

}  // namespace

Adam::Adam(const OptimizerSpec& spec, const ParameterTable& table, const OptimizerPart& part)
    : Optimizer(part),
      groups_(make_parameter_groups(spec, table, part)),
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
  compute_factors(exec, scalars, settings_, factors_);
  const FloatView own = own_part(parameters);
  update_block(exec, factors_, groups_, own.extent(0),
               piece_of(settings_, own.data(), exp_avg_, exp_avg_sq_, own_part(gradient).data()));
}

bool Adam::begin_pieces(const ExecSpace& exec, const StepScalarsView& scalars) {
  compute_factors(exec, scalars, settings_, factors_);
  return true;
}

void Adam::update_pieces(std::int64_t begin, std::int64_t end, const float* gradient) const {
  const std::int64_t first = place_in_part(begin);
  AdamPiece piece =
      piece_of(settings_, piece_parameters(), exp_avg_, exp_avg_sq_, gradient - first);
  piece.step = factors_();
  if (piece.step.apply_updates) groups_.for_each_piece(first, first + (end - begin), piece);
}

}  // namespace quern
