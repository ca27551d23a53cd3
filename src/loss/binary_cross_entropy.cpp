// SPDX-License-Identifier: Apache-2.0
#include "loss/binary_cross_entropy.hpp"

#include "base/assert.hpp"
#include "loss/binary_cross_entropy_kernels.hpp"
#include "tensor/parallel_for.hpp"

namespace quern {

namespace {

struct PutProbabilities {
  FloatView values;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const float x = values(i);
    values(i) = probability(x, power_below_one(x));
  }
};

}  // namespace

void BinaryCrossEntropy::put_predictions(const ExecSpace& exec, const Activation& output) const {
  quern::parallel_for("quern::loss::probabilities", RangePolicy(exec, 0, output.size()),
                      PutProbabilities{output.data});
}

void BinaryCrossEntropy::evaluate_rows(const ExecSpace& exec, const LossContext& step,
                                       const Activation& prediction, const LossTarget& target,
                                       const Activation& d_prediction,
                                       const FloatView& values) const {
  const Activation& wanted = target.values;
  expect(wanted.shape == prediction.shape && wanted.rows == prediction.rows &&
             wanted.layout == prediction.layout,
         "a target shaped and laid out like the prediction");
  const auto evaluate = choose_kernels<EvaluateBinaryCrossEntropy>(
      {.host = host_set<host::binary_cross_entropy>(), .device = device::binary_cross_entropy});
  evaluate(exec, step, more_, prediction, target, d_prediction, values);
}

}  // namespace quern
