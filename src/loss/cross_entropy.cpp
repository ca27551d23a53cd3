// SPDX-License-Identifier: Apache-2.0
#include "loss/cross_entropy.hpp"

#include "base/assert.hpp"
#include "base/error.hpp"
#include "loss/device/cross_entropy.hpp"
#include "tensor/chunks.hpp"
#include "tensor/exp.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

namespace {

/// Everything that one slot needs to know.
struct CrossEntropySlot {
  const float* logits;  ///< [slots, row_stride]
  float* d_logits;      ///< the same shape, or null
  float* values;        ///< [slots, Loss::kColumns]
  View<const std::int64_t> sample_of_slot;
  View<const std::uint8_t> labels;
  StepScalarsView scalars;
  int classes;
  int row_stride;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t slot) const {
    const std::int64_t sample = sample_of_slot(slot);
    float* value = values + slot * Loss::kColumns;
    float* dx = d_logits ? d_logits + slot * row_stride : nullptr;
    value[Loss::kLoss] = 0;
    value[Loss::kCorrect] = 0;
    if (dx)
      for (int v = 0; v < row_stride; ++v) dx[v] = 0;
    if (sample < 0) return;
    const float* x = logits + slot * row_stride;
    const int label = labels(sample);
    if (label >= classes) {
      value[Loss::kLoss] = Kokkos::Experimental::quiet_NaN_v<float>;
      return;
    }
    int best = 0;
    for (int v = 1; v < classes; ++v)
      if (x[v] > x[best]) best = v;
    value[Loss::kCorrect] = best == label ? 1.0f : 0.0f;
    value[Loss::kLoss] = softmax(x, dx, x[best], label);
  }

  /// Returns the loss; overwrites the classes of dx unless it is null.
  KOKKOS_INLINE_FUNCTION float softmax(const float* x, float* dx, float largest, int label) const {
    float total = 0;
    for (int begin = 0; begin < classes; begin += kLanes) {
      float power[kLanes];
      QUERN_VECTORIZE
      for (int l = 0; l < kLanes; ++l) power[l] = exp_normal(x[begin + l] - largest);
      const int width = classes - begin < kLanes ? classes - begin : kLanes;
      for (int l = 0; l < width; ++l) total += power[l];
      if (dx)
        for (int l = 0; l < width; ++l) dx[begin + l] = power[l];
    }
    if (dx) {
      const float inverse_count = scalars().inverse_count;
      dx[label] -= total;
      QUERN_VECTORIZE
      for (int v = 0; v < classes; ++v) dx[v] = dx[v] / total * inverse_count;
    }
    return Kokkos::log(total) + (largest - x[label]);
  }
};

}  // namespace

CrossEntropy::CrossEntropy(const Shape& prediction) : Loss(prediction) {
  if (!prediction.is_flat())
    throw InputError("cross_entropy needs one value per class from the last layer, not the shape " +
                     to_string(prediction) + " (end the network with a linear layer)");
}

void CrossEntropy::evaluate_slots(const ExecSpace& exec, const LossContext& step,
                                  const Activation& prediction, const LossTarget& target,
                                  const Activation& d_prediction, const FloatView& values) const {
  expect(prediction.layout == Layout::rows, "a prediction in rows");
  if (runs_device_kernels()) {
    for_each_team(exec, "quern::loss::cross_entropy", prediction.slots,
                  device::CrossEntropyTeam<>{prediction.data.data(), d_prediction.data.data(),
                                             values.data(), step.sample_of_slot.data(),
                                             target.labels.data(), step.scalars.data(),
                                             prediction.shape.units(), prediction.row_stride()});
  } else if constexpr (kHostExecution) {
    Kokkos::parallel_for(
        "quern::loss::cross_entropy", RangePolicy(exec, 0, prediction.slots),
        CrossEntropySlot{prediction.data.data(), d_prediction.data.data(), values.data(),
                         step.sample_of_slot, target.labels, step.scalars, prediction.shape.units(),
                         prediction.row_stride()});
  }
}

}  // namespace quern
