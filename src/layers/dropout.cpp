// SPDX-License-Identifier: Apache-2.0
#include "layers/dropout.hpp"

#include "base/assert.hpp"
#include "base/philox.hpp"
#include "layers/device/dropout.hpp"
#include "layers/layout.hpp"
#include "tensor/chunks.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

namespace {

// A work item is 16 quads of units, of one row (nc, cn16c) or of 16 rows (nchw16n).
constexpr int kQuadUnits = 4;
constexpr int kItemUnits = kQuadUnits * kLanes;

struct Mask {
  const float* from;
  float* to;
  StepScalarsView scalars;
  View<const std::int64_t> sample_of_row;
  std::uint32_t layer;
  float probability;
  float scale;
  int units;

  std::int64_t num_items(std::int64_t rows) const {
    return rows * ((units + kItemUnits - 1) / kItemUnits);
  }

  /// Factors of four units of a sample: scale or 0.
  KOKKOS_INLINE_FUNCTION void draw(std::int64_t sample, std::int64_t quad, float* factor,
                                   int factor_stride) const {
    const PhiloxBlock block = random_block(scalars().seed, RandomUse::dropout,
                                           DropoutCounter::stream(scalars().epoch, layer),
                                           DropoutCounter::index(sample, quad));
    for (int w = 0; w < kQuadUnits; ++w)
      factor[w * factor_stride] = uniform01(block.word[w]) >= probability ? scale : 0;
  }

  KOKKOS_INLINE_FUNCTION static float apply(float value, float factor) {
    return factor == 0 ? 0 : value * factor;
  }
};

struct FlatMask : Mask {
  ActivationIndex at;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    const std::int64_t items_per_row = (units + kItemUnits - 1) / kItemUnits;
    const std::int64_t row = item / items_per_row;
    const int first = static_cast<int>(item % items_per_row) * kItemUnits;
    const int padded = static_cast<int>(round_up_to_lanes(units));
    const int width = padded - first < kItemUnits ? padded - first : kItemUnits;
    const std::int64_t sample = sample_of_row(row);
    float factor[kItemUnits] = {};
    if (sample >= 0)
      for (int q = 0; q < kLanes; ++q)
        draw(sample, first / kQuadUnits + q, factor + q * kQuadUnits, 1);
    for (int u = units - first; u < width; ++u) factor[u] = 0;
    for (int u = 0; u < width; u += kLanes) {
      const std::int64_t place = at.sixteen(row, first + u);
      QUERN_VECTORIZE
      for (int l = 0; l < kLanes; ++l) to[place + l] = apply(from[place + l], factor[u + l]);
    }
  }
};

struct LanesMask : Mask {
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    const std::int64_t items_per_group = (units + kItemUnits - 1) / kItemUnits;
    const std::int64_t group = item / items_per_group;
    const int first = static_cast<int>(item % items_per_group) * kItemUnits;
    const int last = first + kItemUnits < units ? first + kItemUnits : units;
    for (int u = first; u < last; u += kQuadUnits) {
      float factor[kQuadUnits * kLanes] = {};
      for (int l = 0; l < kLanes; ++l) {
        const std::int64_t sample = sample_of_row(group * kLanes + l);
        if (sample >= 0) draw(sample, u / kQuadUnits, factor + l, kLanes);
      }
      const std::int64_t begin = (group * units + u) * kLanes;
      const int count = (last - u < kQuadUnits ? last - u : kQuadUnits) * kLanes;
      QUERN_VECTORIZE
      for (int i = 0; i < count; ++i) to[begin + i] = apply(from[begin + i], factor[i]);
    }
  }
};

void apply_mask(const ExecSpace& exec, const std::string& label, const StepContext& step,
                std::uint32_t layer, float probability, const Activation& from,
                const Activation& to) {
  expect(from.size() == to.size() && from.layout == to.layout, "an output shaped like the input");
  expect(step.sample_of_row.extent_int(0) >= from.rows, "a sample for every row");
  const float scale = probability < 1 ? 1 / (1 - probability) : 0;
  const Mask mask{from.data.data(), to.data.data(), step.scalars,      step.sample_of_row, layer,
                  probability,      scale,          from.shape.units()};
  if (runs_device_kernels()) {
    expect(from.layout != Layout::cn16c, "nc or nchw16n, on a device");
    const device::MaskQuad<Mask> kernel{mask, from.layout};
    Kokkos::parallel_for(label, RangePolicy(exec, 0, kernel.num_items(from.rows)), kernel);
  } else if constexpr (kHostExecution) {
    if (from.layout != Layout::nchw16n)
      Kokkos::parallel_for(label, RangePolicy(exec, 0, mask.num_items(from.rows)),
                           FlatMask{mask, ActivationIndex(from)});
    else
      Kokkos::parallel_for(label, RangePolicy(exec, 0, mask.num_items(from.rows / kLanes)),
                           LanesMask{mask});
  }
}

}  // namespace

Dropout::Dropout(const LayerSpec& spec, const Shape& input, int layer_number)
    : Layer(spec.name, input, input),
      probability_(static_cast<float>(spec.probability)),
      layer_number_(static_cast<std::uint32_t>(layer_number)) {
  expect(layer_number >= 0 && layer_number < DropoutCounter::kMaxLayers, "at most 1024 layers");
}

void Dropout::forward(const ExecSpace& exec, const StepContext& step,
                      const LayerArrays& arrays) const {
  const Activation& x = arrays.x;
  const Activation& y = arrays.y;
  if (step.mode == Mode::evaluate)
    convert_layout(exec, x, y);  // a copy
  else
    apply_mask(exec, "quern::layers::dropout", step, layer_number_, probability_, x, y);
}

void Dropout::backward(const ExecSpace& exec, const StepContext& step,
                       const LayerArrays& arrays) const {
  const Activation& dy = arrays.dy;
  const Activation& dx = arrays.dx;
  if (dx.empty()) return;
  if (step.mode == Mode::evaluate)
    convert_layout(exec, dy, dx);
  else
    apply_mask(exec, "quern::layers::dropout_backward", step, layer_number_, probability_, dy, dx);
}

}  // namespace quern
