// SPDX-License-Identifier: Apache-2.0
#include "loss/mse.hpp"

#include "base/assert.hpp"
#include "loss/mse_kernels.hpp"

namespace quern {

void Mse::evaluate_rows(const ExecSpace& exec, const LossContext& step,
                        const Activation& prediction, const LossTarget& target,
                        const Activation& d_prediction, const FloatView& values) const {
  const Activation& wanted = target.values;
  if (target.pixels.extent(0) > 0) {
    expect(compares_pixels() && prediction.layout != Layout::nchw16n, "pixels on a CPU, and flat");
    expect(target.pixels.extent(0) % static_cast<std::size_t>(prediction.shape.units()) == 0,
           "whole samples of the prediction's shape");
  } else {
    expect(wanted.shape == prediction.shape && wanted.layout == prediction.layout &&
               wanted.rows == prediction.rows,
           "a target shaped like the prediction");
  }
  const auto evaluate =
      choose_kernels<EvaluateMse>({.host = host_set<host::mse>(), .device = device::mse});
  evaluate(exec, step, prediction, target, d_prediction, values, after_relu_);
}

}  // namespace quern
