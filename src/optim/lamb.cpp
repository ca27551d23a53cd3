// SPDX-License-Identifier: Apache-2.0
#include "optim/lamb.hpp"

#include "base/assert.hpp"
#include "optim/flush_denormal.hpp"
#include "tensor/chunks.hpp"
#include "tensor/parallel_for.hpp"

namespace quern {

namespace {

void compute_factors(const ExecSpace& exec, const StepScalarsView& scalars, double beta1,
                     double beta2, const ScalarView<LambFactors>& factors) {
  run_single_item(
      exec, "quern::optim::lamb_factors", KOKKOS_LAMBDA() {
        const double t = static_cast<double>(scalars().step + 1);
        factors() = {scalars().apply_updates, scalars().gradient_scale,
                     static_cast<float>(1 / (1 - Kokkos::pow(beta1, t))),
                     static_cast<float>(1 / Kokkos::sqrt(1 - Kokkos::pow(beta2, t)))};
      });
}

// One piece of the block that is treated alike. The members are values, so that what the pointers
// point to cannot change them, and nothing is loaded for each vector.
struct Direction {
  float* r;
  float* m;
  float* v;
  const float* p;
  const float* g;
  LambFactors step;
  float new_part;  // 1 - beta1
  float beta2;
  float new_part_sq;  // 1 - beta2
  float eps;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t begin, std::int64_t end,
                                         const ParameterGroup& group) const {
    const Direction s = *this;
    const float decay = group.decay;
    QUERN_VECTORIZE
    for (std::int64_t i = begin; i < end; ++i) {
      const float grad = s.g[i] * s.step.gradient_scale;
      const float mean = flush_denormal(s.m[i] + s.new_part * (grad - s.m[i]));
      const float square = flush_denormal(s.beta2 * s.v[i] + s.new_part_sq * grad * grad);
      const float spread = Kokkos::sqrt(square) * s.step.inverse_correction + s.eps;
      s.m[i] = mean;
      s.v[i] = square;
      s.r[i] = s.step.mean_correction * mean / spread + decay * s.p[i];
    }
  }
};

struct Step {
  float* p;
  const float* r;
  float lr;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t begin, std::int64_t end,
                                         const ParameterGroup& group, float ratio) const {
    const Step s = *this;
    const float rate = lr * group.lr_factor;
    QUERN_VECTORIZE  // a ratio may be so large that its product with the rate is not finite
        for (std::int64_t i = begin; i < end; ++i) s.p[i] -= rate * (ratio * s.r[i]);
  }
};

void set_directions(const ExecSpace& exec, std::int64_t count,
                    const ScalarView<LambFactors>& factors, const ParameterGroups& groups,
                    const Direction& direction) {
  for_each_chunk(
      exec, "quern::optim::lamb_direction", count,
      KOKKOS_LAMBDA(std::int64_t begin, std::int64_t end) {
        Direction piece = direction;
        piece.step = factors();
        if (piece.step.apply_updates) groups.for_each_piece(begin, end, piece);
      });
}

void step_along(const ExecSpace& exec, const StepScalarsView& scalars, const FloatView& parameters,
                const ConstFloatView& direction, const TrustedPart& trusted,
                const ParameterGroups& groups) {
  float* p = parameters.data();
  const float* r = direction.data();
  for_each_chunk(
      exec, "quern::optim::lamb", parameters.extent(0),
      KOKKOS_LAMBDA(std::int64_t begin, std::int64_t end) {
        if (!scalars().apply_updates) return;
        for_each_trusted_piece(trusted, groups, begin, end, Step{p, r, scalars().learning_rate});
      });
}

}  // namespace

Lamb::Lamb(const OptimizerSpec& spec, const ParameterTable& table, const OptimizerPart& part)
    : TrustedOptimizer(spec, table, part),
      beta1_(spec.beta1),
      beta2_(spec.beta2),
      eps_(static_cast<float>(spec.eps)),
      factors_("quern::optim::lamb_factors"),
      exp_avg_(add_state("exp_avg", table.trained_size())),
      exp_avg_sq_(add_state("exp_avg_sq", table.trained_size())),
      direction_("quern::optim::direction", exp_avg_.extent(0)) {}

void Lamb::prepare_update(const ExecSpace& exec, const StepScalarsView& scalars,
                          const FloatView& parameters, const ConstFloatView& gradient) {
  const FloatView own = own_part(parameters);
  expect(direction_.extent(0) == own.extent(0), "state shaped like the parameters");
  compute_factors(exec, scalars, beta1_, beta2_, factors_);
  const Direction direction{direction_.data(),
                            exp_avg_.data(),
                            exp_avg_sq_.data(),
                            own.data(),
                            own_part(gradient).data(),
                            {},
                            static_cast<float>(1 - beta1_),
                            static_cast<float>(beta2_),
                            static_cast<float>(1 - beta2_),
                            eps_};
  set_directions(exec, own.extent(0), factors_, groups(), direction);
  add_squares(exec, parameters, direction_);
}

void Lamb::update_own(const ExecSpace& exec, const StepScalarsView& scalars,
                      const FloatView& parameters, const ConstFloatView& /*gradient*/) {
  step_along(exec, scalars, parameters, direction_, trusted(), groups());
}

}  // namespace quern
