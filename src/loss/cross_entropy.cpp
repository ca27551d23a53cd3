// SPDX-License-Identifier: Apache-2.0
#include "loss/cross_entropy.hpp"

#include "base/assert.hpp"
#include "base/error.hpp"
#include "loss/device/cross_entropy.hpp"
#include "loss/host/cross_entropy.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

CrossEntropy::CrossEntropy(const Shape& prediction) : Loss(prediction) {
  if (!prediction.is_flat())
    throw InputError("cross_entropy needs one value per class from the last layer, not the shape " +
                     to_string(prediction) + " (end the network with a linear layer)");
}

void CrossEntropy::evaluate_rows(const ExecSpace& exec, const LossContext& step,
                                 const Activation& prediction, const LossTarget& target,
                                 const Activation& d_prediction, const FloatView& values) const {
  expect(prediction.layout == flat_layout(), "a prediction in the layout of flat layers");
  if (runs_device_kernels()) {
    for_each_team(exec, "quern::loss::cross_entropy", prediction.rows,
                  device::CrossEntropyTeam<>{prediction.data.data(), d_prediction.data.data(),
                                             values.data(), step.sample_of_row.data(),
                                             target.labels.data(), step.scalars.data(),
                                             prediction.shape.units(), prediction.row_stride()});
  } else if constexpr (kHostExecution) {
    host::cross_entropy(exec, step, prediction, target, d_prediction, values);
  }
}

}  // namespace quern
