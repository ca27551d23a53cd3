// SPDX-License-Identifier: Apache-2.0
#include "layers/host/conv2d_few_rows.hpp"

#include "layers/host/conv2d_few_panels.hpp"
#include "layers/host/conv2d_loops.hpp"
#include "layers/host/scratch.hpp"
#include "linalg/host/gemm_tile.hpp"

namespace quern::host {

namespace {

using simd::EvenSplit;
using simd::Known;
using simd::Tile;

// Where the pixels of a tile lie, and how to come from one kernel pixel to the next.
struct FewPixels {
  int samples;
  int stride;
  int in_channels;
  int kernel;
  std::int64_t phase;
  std::int64_t row;
  std::int64_t plane;
};

// R neighbouring rows (column, sample) of 16 V channels, to out [V, `vector` floats] by rows of 16.
// The chain of an element is that of conv_forward_tile().
template <int R, int V, int K>
[[gnu::noinline]] void few_forward_tile(const FewPixels& at, const float* x, const float* weights,
                                        std::int64_t next_weights, const float* bias,
                                        bool with_relu, float* out, std::int64_t vector) {
  const int kernel = K > 0 ? K : at.kernel;
  Tile<R, V> tile;
  tile.clear();
  if constexpr (K == 1) {
    tile.multiply_add(at.in_channels, x, Known<1>(), at.plane, weights, Known<kLanes>(),
                      next_weights);
  } else {
    for (int i = 0; i < at.in_channels; ++i) {
      for (int kh = 0; kh < kernel; ++kh) {
        const float* x_row = x + i * at.plane + kh * at.row;
        if (at.stride == 1) {
          if constexpr (K > 0) {
            tile.multiply_add(Known<K>(), x_row, Known<1>(), at.samples, weights, Known<kLanes>(),
                              next_weights);
          } else {
            tile.multiply_add(kernel, x_row, Known<1>(), at.samples, weights, Known<kLanes>(),
                              next_weights);
          }
        } else {
          int phase = 0;
          const float* x_k = x_row;
          for (int kw = 0; kw < kernel; ++kw) {
            tile.multiply_add(Known<1>(), x_k, Known<1>(), Known<0>(), weights + kLanes * kw,
                              Known<0>(), next_weights);
            x_k += at.phase;
            if (++phase == at.stride) {
              phase = 0;
              x_k += at.samples - at.stride * at.phase;
            }
          }
        }
        weights += std::int64_t{kLanes} * kernel;
      }
    }
  }
  QUERN_UNROLL
  for (int v = 0; v < V; ++v) {
    const simd::Vector b = bias ? simd::load(bias + kLanes * v) : simd::Vector{};
    QUERN_UNROLL
    for (int r = 0; r < R; ++r) {
      const simd::Vector y = tile.sum[r][v] + b;
      simd::store(out + v * vector + kLanes * r, with_relu ? simd::relu(y) : y);
    }
  }
}

SampleWindow few_window(const ConvShape& s, int samples, int row, int rows, int column,
                        int columns) {
  // A kernel of one pixel reads every stride-th pixel only.
  const bool one = s.kernel == 1;
  return {samples,
          row * s.stride - s.padding,
          one ? rows : (rows - 1) * s.stride + s.kernel,
          one ? s.stride : 1,
          column * s.stride - s.padding,
          columns + (s.kernel - 1) / s.stride,
          s.stride,
          one ? 1 : s.stride};
}

// Of scratch(): the panel, and outputs of a row.
std::int64_t few_part_floats(const ConvShape& shape, const PanelPlace& at, int samples) {
  const SampleWindow window = few_window(shape, samples, at.row, at.rows, at.column, at.columns);
  return round_up_to_lanes(window.floats(shape.in_channels)) +
         std::int64_t{kLanes} * kFewVectors * at.columns * samples;
}

PanelGrid few_forward_grid(int threads, const ConvShape& shape, int groups, int most_samples) {
  return {groups, shape.out_height, shape.out_width, threads, [&](int rows, int columns) {
            return few_window(shape, most_samples, 0, rows, 0, columns).floats(shape.in_channels);
          }};
}

struct FewForward {
  ConvShape shape;
  const float* x;
  const float* weights;
  const float* bias;
  bool with_relu;
  float* y;

  // The outputs of a part, from their panel of x.
  template <int K>
  void compute(const PanelPlace& at, int samples) const {
    const SampleWindow window = few_window(shape, samples, at.row, at.rows, at.column, at.columns);
    const std::int64_t rows_floats = std::int64_t{kLanes} * at.columns * samples;
    const std::int64_t panel_floats = round_up_to_lanes(window.floats(shape.in_channels));
    float* panel = scratch(few_part_floats(shape, at, samples));
    float* rows = panel + panel_floats;
    copy_samples({x + at.group * shape.image_group(), shape.in_channels, shape.image_height(),
                  shape.image_width()},
                 window, panel);
    const FewPixels pixels{samples,
                           window.phases == 1 ? 1 : shape.stride,
                           shape.in_channels,
                           shape.kernel,
                           window.phase_floats(),
                           window.row_floats(),
                           window.plane_floats()};
    const std::int64_t next_row = window.row_floats() * (shape.kernel == 1 ? 1 : shape.stride);
    const std::int64_t next_weights = std::int64_t{kLanes} * shape.taps();
    const EvenSplit vectors(count_vectors(shape.out_channels), kFewVectors);
    const EvenSplit tiles(at.columns * samples, kFewRows);
    float* group = y + at.group * shape.out_group();
    for (int piece = 0; piece < vectors.pieces; ++piece) {
      const int first = vectors.begin(piece);
      const float* w = weights + first * next_weights;
      const float* b = bias ? bias + kLanes * first : nullptr;
      for (int row = 0; row < at.rows; ++row) {
        simd::with_constant<kFewVectors>(vectors.size(piece), [&]<int V>() {
          for (int tile = 0; tile < tiles.pieces; ++tile) {
            const int begin = tiles.begin(tile);
            simd::with_constant<kFewRows>(tiles.size(tile), [&]<int R>() {
              few_forward_tile<R, V, K>(pixels, panel + row * next_row + begin, w, next_weights, b,
                                        with_relu, rows + std::int64_t{kLanes} * begin,
                                        rows_floats);
            });
          }
        });
        for (int v = 0; v < vectors.size(piece); ++v) {
          const int o = kLanes * (first + v);
          float* to = group + shape.out(o, at.row + row, at.column);
          const std::int64_t plane = shape.out(1, 0, 0);
          simd::with_constant<kLanes>(samples, [&]<int Samples>() {
            spread_samples<Samples>(rows + v * rows_floats, at.columns,
                                    std::min(kLanes, shape.out_channels - o),
                                    [&](int c, int column, int lane, simd::Register values) {
                                      simd::store(to + c * plane + kLanes * column + lane, values);
                                    });
          });
        }
      }
    }
  }
};

}  // namespace

std::int64_t few_forward_floats(const ConvShape& shape) {
  return std::int64_t{kLanes} * count_vectors(shape.out_channels) * shape.taps();
}

void few_pack_forward(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                      float* packed) {
  const int taps = shape.taps();
  Kokkos::parallel_for("quern::layers::conv2d_pack_forward",
                       RangePolicy(exec, 0, count_vectors(shape.out_channels)),
                       [=](std::int64_t vector) {
                         const int first = kLanes * static_cast<int>(vector);
                         const int channels = std::min(kLanes, shape.out_channels - first);
                         pack_columns(weight + std::int64_t{first} * taps, taps, channels, taps,
                                      packed + vector * kLanes * taps);
                       });
}

void few_forward(const ExecSpace& exec, const ConvShape& given, const FewRows& few, const float* x,
                 const float* weights, const float* bias, bool with_relu, float* y) {
  const ConvShape shape = as_product(given);
  const PanelGrid grid = few_forward_grid(exec.concurrency(), shape, few.groups(), few.most);
  const FewForward work{shape, x, weights, bias, with_relu, y};
  with_kernel_size(shape.kernel, [&]<int K>() {
    Kokkos::parallel_for("quern::layers::conv2d_forward", RangePolicy(exec, 0, grid.count()),
                         [=](std::int64_t item) {
                           PanelPlace at = grid[item];
                           at.group += few.first;
                           work.compute<K>(at, few.samples(at.group));
                         });
  });
}

std::int64_t few_forward_scratch(int threads, const ConvShape& shape, int groups,
                                 int most_samples) {
  std::int64_t most = 0;
  for (int samples = 1; samples <= most_samples; ++samples) {
    const PanelPlace part = few_forward_grid(threads, shape, groups, samples).largest();
    most = std::max(most, few_part_floats(shape, part, samples));
  }
  return most;
}

}  // namespace quern::host
