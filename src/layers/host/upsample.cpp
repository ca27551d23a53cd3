// SPDX-License-Identifier: Apache-2.0
#include "layers/upsample_kernels.hpp"
#include "linalg/host/simd.hpp"
#include "tensor/chunks.hpp"

namespace quern::host {

namespace {

using simd::Register;

/// One row of y, of all rows of all planes (group, channel): in nchw16n they follow one another, as
/// those of x do. Factor: 0 if only known when running.
template <int Factor>
struct SpreadRow {
  const float* x;
  float* y;
  int width;  ///< of x
  int factor;

  void operator()(std::int64_t row) const {
    const int times = Factor > 0 ? Factor : factor;
    const std::int64_t length = std::int64_t{width} * kLanes;
    const float* in = x + row / times * length;
    float* out = y + row * length * times;
    for (int w = 0; w < width; ++w, in += kLanes) {
      for (int lane = 0; lane < kLanes; lane += simd::kRegisterLanes) {
        const auto pixel = simd::load<Register>(in + lane);
        for (int k = 0; k < times; ++k) simd::store(out + k * kLanes + lane, pixel);
      }
      out += times * kLanes;
    }
  }
};

/// One row of dx, in the same way. Masked: x is a ReLU's output, whose derivative is applied.
template <int Factor, bool Masked>
struct SumRow {
  const float* x;
  const float* dy;
  float* dx;
  int width;  ///< of x
  int factor;

  void operator()(std::int64_t row) const {
    const int times = Factor > 0 ? Factor : factor;
    const std::int64_t length = std::int64_t{width} * kLanes;
    const std::int64_t line = length * times;  // of dy
    const float* in = dy + row * times * line;
    const float* read = x + row * length;
    float* out = dx + row * length;
    for (int w = 0; w < width; ++w) {
      float sum[kLanes];
      for (int lane = 0; lane < kLanes; lane += simd::kRegisterLanes) {
        Register total{};
        for (int kh = 0; kh < times; ++kh)
          for (int kw = 0; kw < times; ++kw)
            total += simd::load<Register>(in + kh * line + kw * kLanes + lane);
        simd::store(sum + lane, total);
      }
      QUERN_VECTORIZE
      for (int l = 0; l < kLanes; ++l) {
        // Read outside the choice: a conditional load would keep the loop from vectorising.
        const float pixel = Masked ? read[l] : 1.0f;
        out[l] = pixel <= 0 ? 0.0f : sum[l];
      }
      in += times * kLanes;
      read += kLanes;
      out += kLanes;
    }
  }
};

std::int64_t rows_of_planes(const Activation& a) {
  return std::int64_t{a.rows} / kLanes * a.shape.channels * a.shape.height;
}

void upsample_forward(const ExecSpace& exec, int factor, const Activation& x, const Activation& y) {
  const char* const label = "quern::layers::upsample";
  const RangePolicy rows(exec, 0, rows_of_planes(y));
  const float* const in = x.data.data();
  float* const out = y.data.data();
  if (factor == 2)
    Kokkos::parallel_for(label, rows, SpreadRow<2>{in, out, x.shape.width, factor});
  else
    Kokkos::parallel_for(label, rows, SpreadRow<0>{in, out, x.shape.width, factor});
}

template <bool Masked>
void sum_rows(const ExecSpace& exec, int factor, const Activation& x, const Activation& dy,
              const Activation& dx) {
  const char* const label = "quern::layers::upsample_backward";
  const RangePolicy rows(exec, 0, rows_of_planes(dx));
  const float* const read = x.data.data();
  const float* const in = dy.data.data();
  float* const out = dx.data.data();
  const int width = dx.shape.width;
  if (factor == 2)
    Kokkos::parallel_for(label, rows, SumRow<2, Masked>{read, in, out, width, factor});
  else
    Kokkos::parallel_for(label, rows, SumRow<0, Masked>{read, in, out, width, factor});
}

void upsample_backward(const ExecSpace& exec, int factor, const Activation& x, const Activation& dy,
                       const Activation& dx, bool masked) {
  if (masked)
    sum_rows<true>(exec, factor, x, dy, dx);
  else
    sum_rows<false>(exec, factor, x, dy, dx);
}

}  // namespace

const UpsampleKernels& upsample_kernels() {
  static constexpr UpsampleKernels kKernels = {upsample_forward, upsample_backward};
  return kKernels;
}

}  // namespace quern::host
