// SPDX-License-Identifier: Apache-2.0
// Dropout: y = x / (1 - p) with probability 1 - p, else 0. Srivastava et al., JMLR 15, 2014.
//
// Whether a unit is kept depends on (seed, epoch, layer number, sample, unit) only, not on rows,
// ranks or layout; backward draws the same numbers again instead of storing a mask.
#pragma once

#include "layers/layer.hpp"
#include "spec/network_spec.hpp"

namespace quern {

/// How the random numbers of dropout are addressed: one Philox block serves four units.
struct DropoutCounter {
  static constexpr int kLayerBits = 10;
  static constexpr int kMaxLayers = 1 << kLayerBits;
  /// Epoch and layer share a word: layers below 1024, epochs below 2^22.
  KOKKOS_INLINE_FUNCTION static std::uint32_t stream(std::int64_t epoch, std::uint32_t layer) {
    return static_cast<std::uint32_t>(epoch) << kLayerBits | layer;
  }
  /// Of the units 4 quad .. 4 quad + 3 of a sample.
  KOKKOS_INLINE_FUNCTION static std::uint64_t index(std::int64_t sample, std::int64_t quad) {
    return static_cast<std::uint64_t>(sample) << 32 | static_cast<std::uint64_t>(quad);
  }
};

/// In training mode empty rows and the padding of rows become zero; in evaluation y = x.
class Dropout final : public Layer {
 public:
  /// `layer_number`: position in the network, so that no two layers share a mask.
  Dropout(const LayerSpec& spec, const Shape& input, int layer_number);

  LayerTraits traits() const override { return {.in_place = true}; }

  void forward(const ExecSpace& exec, const StepContext& step,
               const LayerArrays& arrays) const override;
  void backward(const ExecSpace& exec, const StepContext& step,
                const LayerArrays& arrays) const override;

 private:
  float probability_;
  std::uint32_t layer_number_;
};

}  // namespace quern
