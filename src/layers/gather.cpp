// SPDX-License-Identifier: Apache-2.0
#include "layers/gather.hpp"

#include "base/assert.hpp"
#include "layers/device/elements.hpp"
#include "layers/host/gather.hpp"
#include "tensor/chunks.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

namespace {

KOKKOS_INLINE_FUNCTION float to_float(std::uint8_t pixel) {
  const float x = static_cast<float>(pixel);
#if defined(__FMA__) && !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__)
  // Without the division, as in host/gather.cpp.
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

/// 16 units of 16 rows in nchw16n.
template <class T>
struct GatherTile {
  const T* data;
  View<const std::int64_t> sample_of_row;
  float* y;
  std::int64_t units;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    const std::int64_t tiles_per_group = round_up_to_lanes(units) / kLanes;
    const std::int64_t group = item / tiles_per_group;
    const std::int64_t first = item % tiles_per_group * kLanes;
    const int width = static_cast<int>(units - first < kLanes ? units - first : kLanes);
    T tile[kLanes * kLanes] = {};
    for (int l = 0; l < kLanes; ++l) {
      const std::int64_t sample = sample_of_row(group * kLanes + l);
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
            const View<const std::int64_t>& sample_of_row, const Activation& y) {
  expect(sample_of_row.extent_int(0) >= y.rows, "a sample for every row");
  const std::int64_t units = y.shape.units();
  expect(data.extent(0) % static_cast<std::size_t>(units) == 0, "whole samples of y's shape");
  if (runs_device_kernels()) {
    expect(y.layout != Layout::cn16c, "nc or nchw16n, on a device");
    Kokkos::parallel_for(label, RangePolicy(exec, 0, y.size()),
                         device::GatherElement<T, ToFloat>{data.data(), sample_of_row.data(),
                                                           y.data.data(), units, y.layout});
  } else if constexpr (kHostExecution) {
    if (y.layout != Layout::nchw16n) {
      host::gather(exec, label, data, sample_of_row, y);
    } else {
      const std::int64_t tiles = y.rows / kLanes * (round_up_to_lanes(units) / kLanes);
      Kokkos::parallel_for(label, RangePolicy(exec, 0, tiles),
                           GatherTile<T>{data.data(), sample_of_row, y.data.data(), units});
    }
  }
}

}  // namespace

void gather_images(const ExecSpace& exec, const View<const std::uint8_t>& images,
                   const View<const std::int64_t>& sample_of_row, const Activation& y) {
  gather(exec, "quern::layers::gather_images", images, sample_of_row, y);
}

void gather_values(const ExecSpace& exec, const ConstFloatView& values,
                   const View<const std::int64_t>& sample_of_row, const Activation& y) {
  gather(exec, "quern::layers::gather_values", values, sample_of_row, y);
}

}  // namespace quern
