// SPDX-License-Identifier: Apache-2.0
#include "optim/trusted_optimizer.hpp"

#include "base/assert.hpp"

namespace quern {

TrustedOptimizer::TrustedOptimizer(const OptimizerSpec& spec, const ParameterTable& table,
                                   const OptimizerPart& part)
    : Optimizer(part),
      is_alone_(!part.ratios),
      ratios_(is_alone_ ? std::make_shared<TrustRatios>(spec, table) : part.ratios),
      share_(ratios_->squares().share({part.begin, part.end})),
      trusted_(ratios_->part(table, part.begin, part.end)),
      groups_(make_parameter_groups(spec, table, part)) {
  expect(!is_alone_ || (part.begin == 0 && part.end >= table.trained_size()),
         "ratios that all parts share");
}

void TrustedOptimizer::update(const ExecSpace& exec, const StepScalarsView& scalars,
                              const FloatView& parameters, const ConstFloatView& gradient) {
  expect(gradient.extent(0) >= parameters.extent(0), "a gradient for every parameter");
  if (is_alone_) {
    prepare_update(exec, scalars, parameters, gradient);
    ratios_->combine(exec, scalars);
  }
  update_own(exec, scalars, own_part(parameters), own_part(gradient));
}

void TrustedOptimizer::add_squares(const ExecSpace& exec, const FloatView& parameters,
                                   const ConstFloatView& other) const {
  const float* whole = other.data() - part().begin;
  ratios_->squares().add(exec, "quern::optim::trust_squares", share_,
                         {2, {parameters.data(), whole}});
}

}  // namespace quern
