// SPDX-License-Identifier: Apache-2.0
#include "layers/host/conv2d_few_panels.hpp"
#include "layers/host/conv2d_few_rows.hpp"
#include "layers/host/conv2d_input_gradient.hpp"
#include "layers/host/conv2d_loops.hpp"
#include "layers/host/scratch.hpp"

namespace quern::host {

namespace {

using simd::EvenSplit;
using simd::Known;
using simd::Tile;

// What a tile of dx meets in a kernel column: of each output channel `rows` pixels, a kernel row
// and a row of dy apart.
struct MetRows {
  int out_channels;
  int rows;
  std::int64_t channel_weights;
  std::int64_t row_weights;
  std::int64_t channel;
  std::int64_t row;
};

// R neighbouring rows (column, sample) of 16 V channels go on with a kernel column, or begin with
// it: sums [V, `vector` floats] by rows of 16. The chain of an element is that of
// conv_input_gradient_tile(). Rows: those of `met`, 0: not known.
template <int R, int V, int Rows>
[[gnu::noinline]] void few_input_gradient_tile(const MetRows& met, const float* dy,
                                               const float* weights, std::int64_t next_weights,
                                               bool begins, float* sums, std::int64_t vector) {
  Tile<R, V> tile;
  if (begins) {
    tile.clear();
  } else {
    QUERN_UNROLL
    for (int v = 0; v < V; ++v) {
      QUERN_UNROLL
      for (int r = 0; r < R; ++r) tile.sum[r][v] = simd::load(sums + v * vector + kLanes * r);
    }
  }
  if constexpr (Rows == 1) {
    tile.multiply_add(met.out_channels, dy, Known<1>(), met.channel, weights, met.channel_weights,
                      next_weights);
  } else {
    for (int o = 0; o < met.out_channels; ++o) {
      if constexpr (Rows > 0) {
        tile.multiply_add(Known<Rows>(), dy, Known<1>(), -met.row, weights, met.row_weights,
                          next_weights);
      } else {
        tile.multiply_add(met.rows, dy, Known<1>(), -met.row, weights, met.row_weights,
                          next_weights);
      }
      dy += met.channel;
      weights += met.channel_weights;
    }
  }
  tile.store_to(sums, {kLanes, vector}, kLanes * V);
}

// As with_few() of conv2d_tiles.hpp.
template <class F>
void with_few_rows(int rows, F&& f) {
  if (rows > 3) {
    f.template operator()<0>();
  } else {
    simd::with_constant<3>(rows, static_cast<F&&>(f));
  }
}

// Of the panel of dy, at most.
std::int64_t few_panel_floats(const ConvShape& s, int rows, int columns, int samples) {
  const auto extent = [&](int inputs) { return (inputs + s.kernel - 2) / s.stride + 1; };
  return SampleWindow{samples, 0, extent(rows), 1, 0, extent(columns), 1, 1}.floats(s.out_channels);
}

// Of dx of a row: a vector of one phase.
std::int64_t few_sum_floats(const ConvShape& s, int columns, int samples) {
  return std::int64_t{kLanes} * ((columns - 1) / s.stride + 1) * samples;
}

PanelGrid few_gradient_grid(int threads, const ConvShape& shape, int groups, int most_samples) {
  return {groups, shape.image_height(), shape.image_width(), threads, [&](int rows, int columns) {
            return few_panel_floats(shape, rows, columns, most_samples);
          }};
}

struct FewInputGradient {
  ConvShape shape;
  const float* dy;
  const float* weights;
  const float* x_mask;
  float* dx;

  // The part of dx at `at`, from its panel of dy.
  void compute(const PanelPlace& at, int samples) const {
    const ConvShape& s = shape;
    const Met rows = outputs_of(s, at.row, at.rows, s.out_height);
    const Met columns = outputs_of(s, at.column, at.columns, s.out_width);
    const SampleWindow window{samples, rows.first, rows.count(), 1, columns.first, columns.count(),
                              1,       1};
    const std::int64_t of_vector = few_sum_floats(s, at.columns, samples);
    const std::int64_t of_panel = round_up_to_lanes(window.floats(s.out_channels));
    float* panel = scratch(of_panel + kFewVectors * of_vector);
    float* sums = panel + of_panel;
    copy_samples({dy + at.group * s.out_group(), s.out_channels, s.out_height, s.out_width}, window,
                 panel);
    const EvenSplit vectors(count_vectors(s.in_channels), kFewVectors);
    // Rows run fastest: the weights of some vectors stay in cache.
    for (int piece = 0; piece < vectors.pieces; ++piece) {
      for (int row = at.row; row < at.row + at.rows; ++row) {
        for (int phase = 0; phase < std::min(s.stride, at.columns); ++phase) {
          const int count = (at.columns - phase - 1) / s.stride + 1;
          simd::with_constant<kFewVectors>(vectors.size(piece), [&]<int V>() {
            add_kernel_columns<V>(window, panel, vectors.begin(piece), row, at.column + phase,
                                  count, sums, of_vector);
          });
          for (int v = 0; v < vectors.size(piece); ++v) {
            write(sums + v * of_vector, samples, vectors.begin(piece) + v, at.group, row,
                  at.column + phase, count);
          }
        }
      }
    }
  }

  // dx of 16 V channels at `count` pixels of a row, a stride apart from w on.
  template <int V>
  void add_kernel_columns(const SampleWindow& window, const float* panel, int vector, int row,
                          int w, int count, float* sums, std::int64_t of_vector) const {
    const ConvShape& s = shape;
    const int samples = window.samples;
    const int ih = row + s.padding;
    const int iw = w + s.padding;
    const int above = ih - (s.out_height - 1) * s.stride;
    const int first_kh = above >= 0 ? above : ih % s.stride;
    const int end_kh = std::min(s.kernel, ih + 1);
    const int num_rows = end_kh > first_kh ? (end_kh - first_kh - 1) / s.stride + 1 : 0;
    const MetRows met{s.out_channels,
                      num_rows,
                      std::int64_t{kLanes} * s.kernel,
                      std::int64_t{kLanes} * s.stride,
                      window.plane_floats(),
                      window.row_floats()};
    const std::int64_t next_weights = std::int64_t{kLanes} * s.kernel * s.out_channels * s.kernel;
    const float* of_vectors = weights + vector * next_weights;
    bool begins = true;
    for (int kw = iw % s.stride; kw < s.kernel; kw += s.stride) {
      // Pixel t meets output column `column` + t, where there is one.
      const int column = (iw - kw) / s.stride;
      const int first = std::max(0, -column);
      const int met_columns = std::min(count, s.out_width - column) - first;
      if (met_columns <= 0 || num_rows <= 0) continue;
      if (begins && met_columns < count) {
        for (int v = 0; v < V; ++v) {
          float* vector_sums = sums + v * of_vector;
          std::fill_n(vector_sums, std::int64_t{kLanes} * first * samples, 0.0f);
          const std::int64_t end = std::int64_t{kLanes} * (first + met_columns) * samples;
          std::fill(vector_sums + end, vector_sums + std::int64_t{kLanes} * count * samples, 0.0f);
        }
      }
      const float* w_kw =
          of_vectors +
          std::int64_t{kLanes} * (std::int64_t{kw} * s.out_channels * s.kernel + first_kh);
      const float* dy_kw = panel + ((ih - first_kh) / s.stride - window.row) * window.row_floats() +
                           (column + first - window.column) * std::int64_t{samples};
      float* sums_kw = sums + std::int64_t{kLanes} * first * samples;
      with_few_rows(num_rows, [&]<int Rows>() {
        const EvenSplit tiles(met_columns * samples, kFewRows);
        for (int tile = 0; tile < tiles.pieces; ++tile) {
          const int begin = tiles.begin(tile);
          simd::with_constant<kFewRows>(tiles.size(tile), [&]<int R>() {
            few_input_gradient_tile<R, V, Rows>(met, dy_kw + begin, w_kw, next_weights, begins,
                                                sums_kw + std::int64_t{kLanes} * begin, of_vector);
          });
        }
      });
      begins = false;
    }
    if (!begins) return;
    for (int v = 0; v < V; ++v)
      std::fill_n(sums + v * of_vector, std::int64_t{kLanes} * count * samples, 0.0f);
  }

  void write(const float* sums, int samples, int vector, int group, int row, int w,
             int count) const {
    const ConvShape& s = shape;
    const int i = kLanes * vector;
    const std::int64_t corner = group * s.image_group() + s.image(i, row, w);
    const std::int64_t plane = s.image(1, 0, 0);
    const std::int64_t next = std::int64_t{kLanes} * s.stride;
    simd::with_constant<kLanes>(samples, [&]<int Samples>() {
      spread_samples<Samples>(
          sums, count, std::min(kLanes, s.in_channels - i),
          [&](int c, int column, int lane, simd::Register values) {
            const std::int64_t place = corner + c * plane + column * next + lane;
            simd::store(dx + place, x_mask ? simd::relu_backward(
                                                 simd::load<simd::Register>(x_mask + place), values)
                                           : values);
          });
    });
  }
};

}  // namespace

std::int64_t few_gradient_floats(const ConvShape& shape) {
  return std::int64_t{kLanes} * count_vectors(shape.in_channels) * shape.kernel * shape.kernel *
         shape.out_channels;
}

void few_pack_gradient(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                       float* packed) {
  const int kernel = shape.kernel;
  const std::int64_t rows = std::int64_t{kernel} * shape.out_channels * kernel;
  Kokkos::parallel_for(
      "quern::layers::conv2d_pack_gradient", RangePolicy(exec, 0, count_vectors(shape.in_channels)),
      [=](std::int64_t vector) {
        const int first = kLanes * static_cast<int>(vector);
        const int channels = std::min(kLanes, shape.in_channels - first);
        for (int o = 0; o < shape.out_channels; ++o) {
          const float* from = weight + shape.weight(o, first, 0, 0);
          for (int kw = 0; kw < kernel; ++kw) {
            float* to = packed + kLanes * (vector * rows +
                                           (std::int64_t{kw} * shape.out_channels + o) * kernel);
            for (int kh = 0; kh < kernel; ++kh) {
              for (int c = 0; c < kLanes; ++c)
                *to++ = c < channels ? from[shape.weight(0, c, kh, kw)] : 0.0f;
            }
          }
        }
      });
}

std::int64_t few_input_gradient_scratch(int threads, const ConvShape& shape, int groups,
                                        int most_samples) {
  std::int64_t most = 0;
  for (int samples = 1; samples <= most_samples; ++samples) {
    const PanelPlace part = few_gradient_grid(threads, shape, groups, samples).largest();
    most = std::max(most,
                    round_up_to_lanes(few_panel_floats(shape, part.rows, part.columns, samples)) +
                        kFewVectors * few_sum_floats(shape, part.columns, samples));
  }
  return most;
}

void few_input_gradient(const ExecSpace& exec, const ConvShape& given, const FewRows& few,
                        const float* dy, const float* weights, const float* x_mask, float* dx) {
  const ConvShape shape = as_product(given);
  const PanelGrid grid = few_gradient_grid(exec.concurrency(), shape, few.groups(), few.most);
  const FewInputGradient work{shape, dy, weights, x_mask, dx};
  Kokkos::parallel_for("quern::layers::conv2d_input_gradient", RangePolicy(exec, 0, grid.count()),
                       [=](std::int64_t item) {
                         PanelPlace at = grid[item];
                         at.group += few.first;
                         work.compute(at, few.samples(at.group));
                       });
}

}  // namespace quern::host
