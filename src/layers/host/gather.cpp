// SPDX-License-Identifier: Apache-2.0
#include "layers/host/gather.hpp"

#include "linalg/host/simd.hpp"

namespace quern::host {

namespace {

/// x / 255, rounded, without the division where there are fused multiply-adds: one step of Newton's
/// method from x * (1 / 255). The tests compare all 256 values.
simd::Register divide_by_255(simd::Register x) {
#if defined(__FMA__)
  const simd::Register inverse = simd::broadcast<simd::Register>(1.0f / 255.0f);
  const simd::Register quotient = x * inverse;
  const simd::Register rest =
      simd::multiply_add(quotient, simd::broadcast<simd::Register>(-255.0f), x);
  return simd::multiply_add(rest, inverse, quotient);
#else
  return x / 255.0f;
#endif
}
template <class Half>
simd::Pair<Half> divide_by_255(simd::Pair<Half> x) {
  return {divide_by_255(x.low), divide_by_255(x.high)};
}

simd::Vector load_floats(const float* values) {
  return simd::load(values);
}
simd::Vector load_floats(const std::uint8_t* pixels) {
  return divide_by_255(simd::load_bytes(pixels));
}

/// Four slots, 256 units of each in turn: in panels these are neighbours.
template <class T>
struct GatherFlat {
  static constexpr int kSlots = 4;
  static constexpr int kUnits = 256;

  const T* data;                       ///< [N, units]
  const std::int64_t* sample_of_slot;  ///< [num_slots]
  float* y;
  ActivationIndex at;
  std::int64_t num_slots;

  std::int64_t num_items() const { return (num_slots + kSlots - 1) / kSlots; }

  void operator()(std::int64_t item) const {
    const std::int64_t begin = item * kSlots;
    const std::int64_t end = begin + kSlots < num_slots ? begin + kSlots : num_slots;
    for (std::int64_t unit = 0; unit < at.units; unit += kUnits) {
      for (std::int64_t slot = begin; slot < end; ++slot) {
        // Samples lie anywhere in the data set: without a hint each waits for memory.
        if (slot + kSlots < num_slots && sample_of_slot[slot + kSlots] >= 0) {
          const T* next = data + sample_of_slot[slot + kSlots] * at.units + unit;
          for (std::size_t byte = 0; byte < kUnits * sizeof(T); byte += 64)
            __builtin_prefetch(reinterpret_cast<const char*>(next) + byte);
        }
        gather_part(slot, unit);
      }
    }
  }

  void gather_part(std::int64_t slot, std::int64_t unit) const {
    const std::int64_t sample = sample_of_slot[slot];
    const std::int64_t end = unit + kUnits < at.units ? unit + kUnits : at.units;
    const T* in = sample >= 0 ? data + sample * at.units : nullptr;
    for (; unit < end; unit += kLanes) {
      float* out = y + at.sixteen(slot, unit);
      if (!in) {
        simd::store(out, simd::Vector{});
      } else if (unit + kLanes <= end) {
        simd::store(out, load_floats(in + unit));
      } else {
        T last[kLanes] = {};
        for (std::int64_t u = unit; u < end; ++u) last[u - unit] = in[u];
        simd::store(out, load_floats(last));
      }
    }
  }
};

template <class T>
void launch(const ExecSpace& exec, const std::string& label, const View<const T>& data,
            const View<const std::int64_t>& sample_of_slot, const Activation& y) {
  const GatherFlat<T> kernel{data.data(), sample_of_slot.data(), y.data.data(), ActivationIndex(y),
                             y.slots};
  Kokkos::parallel_for(label, RangePolicy(exec, 0, kernel.num_items()), kernel);
}

}  // namespace

void gather(const ExecSpace& exec, const std::string& label, const View<const std::uint8_t>& data,
            const View<const std::int64_t>& sample_of_slot, const Activation& y) {
  launch(exec, label, data, sample_of_slot, y);
}

void gather(const ExecSpace& exec, const std::string& label, const View<const float>& data,
            const View<const std::int64_t>& sample_of_slot, const Activation& y) {
  launch(exec, label, data, sample_of_slot, y);
}

}  // namespace quern::host
