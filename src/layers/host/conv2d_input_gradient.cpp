// SPDX-License-Identifier: Apache-2.0
#include "layers/host/conv2d_input_gradient.hpp"

#include "layers/host/conv2d_loops.hpp"

namespace quern::host {

namespace {

using simd::EvenSplit;
using simd::kConvChannels;

// One row of dx of a group; tiles of columns where the stride is 1, single columns otherwise.
void input_gradient_row(const ConvShape& shape, const float* dy, const float* weights,
                        const float* x_mask, float* dx, int ih) {
  const std::int64_t rows = std::int64_t{shape.kernel} * shape.out_channels * shape.kernel;
  for_each_tile(shape.in_channels, shape.in_width, [&]<int C, int T>(int i, int iw) {
    const float* packed = weights + i * rows;
    if (shape.stride == 1) {
      simd::conv_input_gradient_tile<C, T>(shape, dy, packed, x_mask, dx, i, ih, iw);
      return;
    }
    for (int t = 0; t < T; ++t) {
      simd::conv_input_gradient_column<C>(shape, dy, packed, x_mask, dx, i, ih, iw + t);
    }
  });
}

}  // namespace

std::int64_t conv2d_gradient_floats(const ConvShape& shape) {
  return std::int64_t{shape.taps()} * shape.out_channels;
}

void conv2d_pack_gradient(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                          float* packed) {
  const std::int64_t rows = std::int64_t{shape.kernel} * shape.out_channels * shape.kernel;
  const EvenSplit tiles(shape.in_channels, kConvChannels);
  Kokkos::parallel_for("quern::layers::conv2d_pack_gradient", RangePolicy(exec, 0, tiles.pieces),
                       [=](std::int64_t tile) {
                         const int first = tiles.begin(static_cast<int>(tile));
                         const int channels = tiles.size(static_cast<int>(tile));
                         float* out = packed + first * rows;
                         for (int kw = 0; kw < shape.kernel; ++kw) {
                           for (int o = 0; o < shape.out_channels; ++o) {
                             for (int kh = 0; kh < shape.kernel; ++kh) {
                               for (int c = 0; c < channels; ++c)
                                 *out++ = weight[shape.weight(o, first + c, kh, kw)];
                             }
                           }
                         }
                       });
}

void conv2d_input_gradient(const ExecSpace& exec, const ConvShape& shape, int batch_rows,
                           const float* dy, const float* weights, const float* x_mask, float* dx) {
  const std::int64_t items = std::int64_t{batch_rows / kLanes} * shape.in_height;
  Kokkos::parallel_for("quern::layers::conv2d_input_gradient", RangePolicy(exec, 0, items),
                       [=](std::int64_t item) {
                         const int ih = static_cast<int>(item % shape.in_height);
                         const std::int64_t in = item / shape.in_height * shape.in_group();
                         input_gradient_row(shape, dy + item / shape.in_height * shape.out_group(),
                                            weights, x_mask ? x_mask + in : nullptr, dx + in, ih);
                       });
}

}  // namespace quern::host
