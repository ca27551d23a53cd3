// SPDX-License-Identifier: Apache-2.0
// What LARS and LAMB have in common: their steps depend on norms of whole tensors.
#pragma once

#include "optim/optimizer.hpp"
#include "optim/parameter_groups.hpp"
#include "optim/trust_ratios.hpp"

namespace quern {

class TrustedOptimizer : public Optimizer {
 public:
  TrustedOptimizer(const OptimizerSpec& spec, const ParameterTable& table,
                   const OptimizerPart& part);

  /// After TrustRatios::combine() of all parts; without OptimizerPart::ratios the whole step.
  void update(const ExecSpace& exec, const StepScalarsView& scalars, const FloatView& parameters,
              const ConstFloatView& gradient) final;

 protected:
  /// The step, once the ratios are known. Views of this part.
  virtual void update_own(const ExecSpace& exec, const StepScalarsView& scalars,
                          const FloatView& parameters, const ConstFloatView& gradient) = 0;

  /// Adds the squares of this part to the ratios: of the parameters, and of `other`, an array of
  /// this part.
  void add_squares(const ExecSpace& exec, const FloatView& parameters,
                   const ConstFloatView& other) const;

  const ParameterGroups& groups() const { return groups_; }
  const TrustedPart& trusted() const { return trusted_; }

 private:
  bool is_alone_;
  std::shared_ptr<const TrustRatios> ratios_;
  SpreadSquares::Share share_;
  TrustedPart trusted_;
  ParameterGroups groups_;
};

/// The pieces of [begin, end) that have one ratio and are treated alike: calls
/// run(first, last, group, ratio).
template <class Run>
KOKKOS_INLINE_FUNCTION void for_each_trusted_piece(const TrustedPart& trusted,
                                                   const ParameterGroups& groups,
                                                   std::int64_t begin, std::int64_t end,
                                                   const Run& run) {
  trusted.for_each_piece(begin, end, [&](std::int64_t from, std::int64_t to, float ratio) {
    groups.for_each_piece(from, to,
                          [&](std::int64_t first, std::int64_t last, const ParameterGroup& group) {
                            run(first, last, group, ratio);
                          });
  });
}

}  // namespace quern
