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
  const float* logits;  ///< in rows or panels
  float* d_logits;      ///< laid out alike, or null
  float* values;        ///< [slots, Loss::kColumns]
  View<const std::int64_t> sample_of_slot;
  View<const std::uint8_t> labels;
  StepScalarsView scalars;
  ActivationIndex at;

  KOKKOS_INLINE_FUNCTION int classes() const { return static_cast<int>(at.units); }

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t slot) const {
    const std::int64_t sample = sample_of_slot(slot);
    float* value = values + slot * Loss::kColumns;
    value[Loss::kLoss] = 0;
    value[Loss::kCorrect] = 0;
    const int label = sample >= 0 ? labels(sample) : 0;
    if (sample < 0 || label >= classes()) {
      clear_gradient(slot);
      if (sample >= 0) value[Loss::kLoss] = Kokkos::Experimental::quiet_NaN_v<float>;
      return;
    }
    int best = 0;
    float largest = logits[at(slot, 0)];
    for (int v = 1; v < classes(); ++v) {
      const float logit = logits[at(slot, v)];
      best = logit > largest ? v : best;
      largest = logit > largest ? logit : largest;
    }
    value[Loss::kCorrect] = best == label ? 1.0f : 0.0f;
    value[Loss::kLoss] = softmax(slot, largest, label);
  }

  KOKKOS_INLINE_FUNCTION void clear_gradient(std::int64_t slot) const {
    if (!d_logits) return;
    for (int begin = 0; begin < classes(); begin += kLanes) {
      float* dx = d_logits + at.sixteen(slot, begin);
      QUERN_VECTORIZE
      for (int l = 0; l < kLanes; ++l) dx[l] = 0;
    }
  }

  /// Returns the loss; overwrites the gradient unless it is null. Only whole vectors are written: a
  /// vector that is read behind the store of a single float waits for it.
  KOKKOS_INLINE_FUNCTION float softmax(std::int64_t slot, float largest, int label) const {
    float total = 0;
    for (int begin = 0; begin < classes(); begin += kLanes) {
      const std::int64_t i = at.sixteen(slot, begin);
      const int width = classes() - begin < kLanes ? classes() - begin : kLanes;
      float power[kLanes];
      QUERN_VECTORIZE
      for (int l = 0; l < kLanes; ++l) {
        const float value = exp_normal(logits[i + l] - largest);
        power[l] = l < width ? value : 0;
      }
      for (int l = 0; l < width; ++l) total += power[l];
      if (!d_logits) continue;
      QUERN_VECTORIZE
      for (int l = 0; l < kLanes; ++l) d_logits[i + l] = power[l];
    }
    if (d_logits) set_gradient(slot, total, label);
    return Kokkos::log(total) + (largest - logits[at(slot, label)]);
  }

  /// From exp(logit - largest) to (softmax - 1 at the label) / samples.
  KOKKOS_INLINE_FUNCTION void set_gradient(std::int64_t slot, float total, int label) const {
    const float inverse_count = scalars().inverse_count;
    for (int begin = 0; begin < classes(); begin += kLanes) {
      float* dx = d_logits + at.sixteen(slot, begin);
      QUERN_VECTORIZE
      for (int l = 0; l < kLanes; ++l) {
        const float numerator = begin + l == label ? dx[l] - total : dx[l];
        dx[l] = begin + l < classes() ? numerator / total * inverse_count : 0;
      }
    }
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
  expect(prediction.layout == flat_layout(), "a prediction in the layout of flat layers");
  if (runs_device_kernels()) {
    for_each_team(exec, "quern::loss::cross_entropy", prediction.slots,
                  device::CrossEntropyTeam<>{prediction.data.data(), d_prediction.data.data(),
                                             values.data(), step.sample_of_slot.data(),
                                             target.labels.data(), step.scalars.data(),
                                             prediction.shape.units(), prediction.row_stride()});
  } else if constexpr (kHostExecution) {
    Kokkos::parallel_for("quern::loss::cross_entropy", RangePolicy(exec, 0, prediction.slots),
                         CrossEntropySlot{prediction.data.data(), d_prediction.data.data(),
                                          values.data(), step.sample_of_slot, target.labels,
                                          step.scalars, ActivationIndex(prediction)});
  }
}

}  // namespace quern
