// SPDX-License-Identifier: Apache-2.0
#include "layers/gather.hpp"

#include "base/assert.hpp"
#include "layers/device/elements.hpp"
#include "tensor/chunks.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

namespace {

KOKKOS_INLINE_FUNCTION float to_float(std::uint8_t pixel) {
  const float x = static_cast<float>(pixel);
#if defined(__FMA__) && !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__)
  // The rounded quotient without the division: one step of Newton's method from x * (1 / 255). The
  // tests compare all 256 values.
  constexpr float kInverse = 1.0f / 255.0f;
  const float quotient = x * kInverse;
  return __builtin_fmaf(__builtin_fmaf(-quotient, 255.0f, x), kInverse, quotient);
#else
  return x / 255.0f;
#endif
}

KOKKOS_INLINE_FUNCTION float to_float(float value) {
  return value;
}

struct ToFloat {
  template <class T>
  KOKKOS_INLINE_FUNCTION static float to_float(T value) {
    return quern::to_float(value);
  }
};

// Samples lie anywhere in the data set: without a hint every row waits for memory.
[[maybe_unused]] KOKKOS_INLINE_FUNCTION void prefetch(const void* begin, std::int64_t bytes) {
#if (defined(__GNUC__) || defined(__clang__)) && !defined(__CUDA_ARCH__) && \
    !defined(__HIP_DEVICE_COMPILE__)
  constexpr std::int64_t kCacheLine = 64;
  const char* byte = static_cast<const char*>(begin);
  for (std::int64_t i = 0; i < bytes; i += kCacheLine) __builtin_prefetch(byte + i);
#else
  (void)begin;
  (void)bytes;
#endif
}

/// One slot in rows.
template <class T>
struct GatherRow {
  const T* data;
  View<const std::int64_t> sample_of_slot;
  float* y;
  std::int64_t units;
  std::int64_t num_slots;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t slot) const {
    constexpr std::int64_t kAhead = 4;
    if (slot + kAhead < num_slots && sample_of_slot(slot + kAhead) >= 0) {
      prefetch(data + sample_of_slot(slot + kAhead) * units,
               units * static_cast<std::int64_t>(sizeof(T)));
    }
    const std::int64_t sample = sample_of_slot(slot);
    const std::int64_t filled = sample >= 0 ? units : 0;
    const std::int64_t row_stride = row_floats(units);
    const T* in = data + sample * filled;
    float* out = y + slot * row_stride;
    QUERN_VECTORIZE
    for (std::int64_t u = 0; u < filled; ++u) out[u] = to_float(in[u]);
    for (std::int64_t u = filled; u < row_stride; ++u) out[u] = 0;
  }
};

/// 16 units of 16 slots in lanes.
template <class T>
struct GatherTile {
  const T* data;
  View<const std::int64_t> sample_of_slot;
  float* y;
  std::int64_t units;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    const std::int64_t tiles_per_group = round_up_to_lanes(units) / kLanes;
    const std::int64_t group = item / tiles_per_group;
    const std::int64_t first = item % tiles_per_group * kLanes;
    const int width = static_cast<int>(units - first < kLanes ? units - first : kLanes);
    T tile[kLanes * kLanes] = {};
    for (int l = 0; l < kLanes; ++l) {
      const std::int64_t sample = sample_of_slot(group * kLanes + l);
      if (sample < 0) continue;
      const T* in = data + sample * units + first;
      for (int u = 0; u < width; ++u) tile[u * kLanes + l] = in[u];
    }
    float* out = y + (group * units + first) * kLanes;
    QUERN_VECTORIZE
    for (int i = 0; i < width * kLanes; ++i) out[i] = to_float(tile[i]);
  }
};

template <class T>
void gather(const ExecSpace& exec, const std::string& label, const View<const T>& data,
            const View<const std::int64_t>& sample_of_slot, const Activation& y) {
  expect(sample_of_slot.extent_int(0) >= y.slots, "a sample for every slot");
  const std::int64_t units = y.shape.units();
  expect(data.extent(0) % static_cast<std::size_t>(units) == 0, "whole samples of y's shape");
  if (runs_device_kernels()) {
    Kokkos::parallel_for(label, RangePolicy(exec, 0, y.size()),
                         device::GatherElement<T, ToFloat>{data.data(), sample_of_slot.data(),
                                                           y.data.data(), units, y.layout});
  } else if constexpr (kHostExecution) {
    if (y.layout == Layout::rows) {
      Kokkos::parallel_for(
          label, RangePolicy(exec, 0, y.slots),
          GatherRow<T>{data.data(), sample_of_slot, y.data.data(), units, y.slots});
    } else {
      const std::int64_t tiles = y.slots / kLanes * (round_up_to_lanes(units) / kLanes);
      Kokkos::parallel_for(label, RangePolicy(exec, 0, tiles),
                           GatherTile<T>{data.data(), sample_of_slot, y.data.data(), units});
    }
  }
}

}  // namespace

void gather_images(const ExecSpace& exec, const View<const std::uint8_t>& images,
                   const View<const std::int64_t>& sample_of_slot, const Activation& y) {
  gather(exec, "quern::layers::gather_images", images, sample_of_slot, y);
}

void gather_values(const ExecSpace& exec, const ConstFloatView& values,
                   const View<const std::int64_t>& sample_of_slot, const Activation& y) {
  gather(exec, "quern::layers::gather_values", values, sample_of_slot, y);
}

}  // namespace quern
