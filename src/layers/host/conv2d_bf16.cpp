// SPDX-License-Identifier: Apache-2.0
// Convolutions whose products have operands of bfloat16, on tiles. Sums are floats; images are
// floats or bfloat16 (ConvShape::rounded_x and so on).
#include <algorithm>

#include "layers/conv2d_kernels.hpp"
#include "layers/host/conv2d_bf16_products.hpp"
#include "layers/host/conv2d_bf16_weight_gradient.hpp"
#include "layers/host/conv2d_bf16_weights.hpp"
#include "layers/host/scratch.hpp"

namespace quern::host {

namespace {

std::int64_t tile_panel_floats(const ConvShape& shape, const PanelPlace& at) {
  const ForwardKernel kernel(shape);
  return channel_pair_floats(kernel.window(shape, at.row, at.rows, at.column, at.columns),
                             kernel.tiles.channels);
}

// The outputs of a part, from their panel of x.
template <OperandPrecision kPrecision>
void forward_tile_part(const ConvShape& shape, const PanelPlace& at, const float* x,
                       const float* weights, const float* bias, bool with_relu, float* y) {
  const ForwardKernel kernel(shape);
  const PlaneWindow window = kernel.window(shape, at.row, at.rows, at.column, at.columns);
  auto* panel = reinterpret_cast<Bf16*>(scratch(tile_panel_floats(shape, at)));
  with_values(x, shape.rounded_x, [&](const auto* values) {
    pack_channel_pairs(PlanesOf{values + at.group * shape.image_group(), shape.in_channels,
                                shape.image_height(), shape.image_width()},
                       window, kernel.fold, panel);
  });
  const std::int64_t pixel = std::int64_t{count_pairs(kernel.tiles.channels)} * kPairLine;
  const std::int64_t row = window.columns * pixel;
  const int stride = shape.stride / window.step;
  const PixelProduct product{kernel.tiles,
                             reinterpret_cast<const Bf16*>(weights),
                             shape.out_channels,
                             panel,
                             kernel.first_row(shape, window, at.row) * row,
                             row,
                             stride * row,
                             stride * pixel,
                             at.rows,
                             at.columns,
                             kernel.rows(shape, at.row),
                             ForwardKernel::columns(shape, at.column)};
  const std::int64_t corner = at.group * shape.out_group() + shape.out(0, at.row, at.column);
  with_values(y, shape.rounded_y, [&](auto* values) {
    const auto store = [&](const ResultTiles& tiles) {
      for (int c = 0; c < tiles.channels; ++c) {
        const int o = tiles.channel + c;
        // Zeros that are left out keep a -0, and how many depends on the panel: a bias of -0 would
        // too.
        const simd::Vector b = (bias ? simd::broadcast(bias[o]) : simd::Vector{}) + simd::Vector{};
        auto* to = values + corner + shape.out(o, tiles.line, tiles.column);
        for (int k = 0; k < tiles.columns; ++k) {
          const simd::Vector sum = simd::load(tiles.at(c, k)) + b;
          store_values(to + kLanes * k, with_relu ? simd::relu(sum) : sum);
        }
      }
    };
    multiply_pixels(tile_unit(kPrecision), product, store, kAskForNothing);
  });
}

PanelGrid tile_forward_grid(int threads, const ConvShape& shape, int batch_rows) {
  return {batch_rows / kLanes, shape.out_height, shape.out_width, threads,
          [&](int rows, int columns) {
            return tile_panel_floats(shape, {0, 0, rows, 0, columns});
          }};
}

template <OperandPrecision kPrecision>
void forward_tiles(const ExecSpace& exec, const ConvShape& given, int batch_rows, const float* x,
                   const float* weights, const float* bias, bool with_relu, float* y) {
  const ConvShape shape = as_product(given);
  const PanelGrid grid = tile_forward_grid(exec.concurrency(), shape, batch_rows);
  Kokkos::parallel_for(
      "quern::layers::conv2d_forward", RangePolicy(exec, 0, grid.count()), [=](std::int64_t item) {
        forward_tile_part<kPrecision>(shape, grid[item], x, weights, bias, with_relu, y);
      });
}

// The inputs of a phase along one side of the image: the input h meets the kernel pixels of its
// phase, and of the outputs q = (h + padding) / stride and those before it.
struct Phase {
  int phase;
  int taps;   // kernel pixels
  int first;  // input
  int count;  // of inputs
  int q;      // of the first input
};

Phase phase_of(const ConvShape& s, int phase, int begin, int count) {
  const int first = begin + (phase + s.stride - (begin + s.padding) % s.stride) % s.stride;
  const int end = begin + count;
  return {phase, taps_of_phase(s, phase), first, first < end ? (end - 1 - first) / s.stride + 1 : 0,
          (first + s.padding) / s.stride};
}

// What `count` inputs from `begin` on meet along one side: outputs [first, first + count), which
// may lie outside.
struct MetOutputs {
  int first;
  int count;
};

MetOutputs met_outputs(const ConvShape& s, int begin, int count) {
  const int most_taps = (s.kernel - 1) / s.stride + 1;
  const int first = (begin + s.padding) / s.stride - (most_taps - 1);
  return {first, (begin + count - 1 + s.padding) / s.stride - first + 1};
}

// What the part of dx at `at` reads.
PlaneWindow tile_gradient_window(const ConvShape& shape, const PanelPlace& at) {
  const MetOutputs rows = met_outputs(shape, at.row, at.rows);
  const MetOutputs columns = met_outputs(shape, at.column, at.columns);
  return rows_inside({rows.first, rows.count, columns.first, columns.count}, shape.out_height);
}

// The part of dx, of floats or bfloat16, at `at`, phase by phase from one panel of dy. kAdds: added
// to what is there, floats.
template <OperandPrecision kPrecision, bool kAdds, class Dx>
void input_gradient_tile_part(const ConvShape& shape, const PanelPlace& at, const float* dy,
                              const float* weights, const float* x_mask, Dx* dx) {
  const PlaneWindow window = tile_gradient_window(shape, at);
  auto* panel = reinterpret_cast<Bf16*>(scratch(channel_pair_floats(window, shape.out_channels)));
  with_values(dy, shape.rounded_dy, [&](const auto* values) {
    pack_channel_pairs(PlanesOf{values + at.group * shape.out_group(), shape.out_channels,
                                shape.out_height, shape.out_width},
                       window, 1, panel);
  });
  const std::int64_t pixel = std::int64_t{count_pairs(shape.out_channels)} * kPairLine;
  const std::int64_t row = window.columns * pixel;
  const std::int64_t image = at.group * shape.image_group();
  for (int phase = 0; phase < shape.stride * shape.stride; ++phase) {
    const Phase rows = phase_of(shape, phase / shape.stride, at.row, at.rows);
    const Phase columns = phase_of(shape, phase % shape.stride, at.column, at.columns);
    const auto place = [&](int i, int line, int column) {
      return image + shape.image(i, rows.first + shape.stride * line,
                                 columns.first + shape.stride * column);
    };
    const std::int64_t next = std::int64_t{kLanes} * shape.stride;
    // Steps over zeros make +0 of -0, and how many there are depends on the panel: always +0.
    const auto put = [&](std::int64_t to, simd::Vector own) {
      simd::Vector sum = own + simd::Vector{};
      if constexpr (kAdds) sum = simd::load(dx + to) + sum;
      store_values(dx + to, x_mask ? simd::relu_backward(simd::load(x_mask + to), sum) : sum);
    };
    if (rows.taps == 0 || columns.taps == 0) {
      for (int i = 0; i < shape.in_channels; ++i) {
        for (int line = 0; line < rows.count; ++line) {
          const std::int64_t to = place(i, line, 0);
          for (int k = 0; k < columns.count; ++k) put(to + k * next, simd::Vector{});
        }
      }
      continue;
    }
    const PixelProduct product{conv2d_bf16_gradient_kernel(shape, rows.phase, columns.phase),
                               reinterpret_cast<const Bf16*>(weights) +
                                   conv2d_bf16_weights_before(shape, rows.phase, columns.phase),
                               shape.in_channels,
                               panel,
                               (rows.q - rows.taps + 1 - window.row) * row +
                                   (columns.q - columns.taps + 1 - window.column) * pixel,
                               row,
                               row,
                               pixel,
                               rows.count,
                               columns.count,
                               {rows.q - rows.taps + 1, 1, shape.out_height},
                               {columns.q - columns.taps + 1, 1, shape.out_width}};
    const auto store = [&](const ResultTiles& tiles) {
      for (int c = 0; c < tiles.channels; ++c) {
        std::int64_t to = place(tiles.channel + c, tiles.line, tiles.column);
        for (int k = 0; k < tiles.columns; ++k, to += next) put(to, simd::load(tiles.at(c, k)));
      }
    };
    const auto ask_for = [&](const ResultTiles& tiles) {
      if constexpr (!kAdds) return;
      for (int c = 0; c < tiles.channels; ++c) {
        std::int64_t to = place(tiles.channel + c, tiles.line, tiles.column);
        for (int k = 0; k < tiles.columns; ++k, to += next) {
          simd::prefetch_to_write(dx + to);
          if (x_mask) simd::prefetch(x_mask + to);
        }
      }
    };
    multiply_pixels(tile_unit(kPrecision), product, store, ask_for);
  }
}

PanelGrid tile_gradient_grid(int threads, const ConvShape& shape, int batch_rows) {
  return {batch_rows / kLanes, shape.image_height(), shape.image_width(), threads,
          [&](int rows, int columns) {
            const auto extent = [&](int inputs) {
              return (inputs + shape.stride - 2) / shape.stride +
                     (shape.kernel - 1) / shape.stride + 1;
            };
            return channel_pair_floats({0, extent(rows), 0, extent(columns)}, shape.out_channels);
          }};
}

template <OperandPrecision kPrecision, bool kAdds>
void input_gradient_tiles(const ExecSpace& exec, const ConvShape& given, int batch_rows,
                          const float* dy, const float* weights, const float* x_mask, float* dx) {
  const ConvShape shape = as_product(given);
  const PanelGrid grid = tile_gradient_grid(exec.concurrency(), shape, batch_rows);
  const auto run = [&](auto* values) {
    Kokkos::parallel_for("quern::layers::conv2d_input_gradient", RangePolicy(exec, 0, grid.count()),
                         [=](std::int64_t item) {
                           input_gradient_tile_part<kPrecision, kAdds>(shape, grid[item], dy,
                                                                       weights, x_mask, values);
                         });
  };
  if constexpr (kAdds)
    run(dx);
  else
    with_values(dx, shape.rounded_dx, run);
}

std::int64_t scratch_of_tiles(int threads, const ConvShape& given, const BatchLimit& most) {
  const ConvShape shape = as_product(given);
  const std::int64_t x =
      tile_forward_grid(threads, shape, most.rows).most([&](const PanelPlace& at) {
        return tile_panel_floats(shape, at);
      });
  const std::int64_t dy =
      tile_gradient_grid(threads, shape, most.rows).most([&](const PanelPlace& at) {
        return channel_pair_floats(tile_gradient_window(shape, at), shape.out_channels);
      });
  return std::max({x, dy, conv2d_bf16_pack_scratch(given),
                   conv2d_bf16_weight_gradient_scratch(threads, shape, most)});
}

template <OperandPrecision kPrecision>
Conv2dKernels tile_kernels() {
  tile_unit(kPrecision);  // before threads need it
  Conv2dKernels kernels = conv2d_kernels();
  kernels.rounds = true;
  kernels.few_rows = nullptr;
  kernels.scratch_floats = scratch_of_tiles;
  kernels.forward_floats = conv2d_bf16_forward_floats;
  kernels.pack_forward = conv2d_bf16_pack_forward;
  kernels.gradient_floats = conv2d_bf16_gradient_floats;
  kernels.pack_gradient = conv2d_bf16_pack_gradient;
  kernels.forward = forward_tiles<kPrecision>;
  kernels.input_gradient = input_gradient_tiles<kPrecision, false>;
  kernels.add_input_gradient = input_gradient_tiles<kPrecision, true>;
  kernels.weight_gradient = kPrecision == OperandPrecision::bf16_pairs
                                ? conv2d_bf16_pairs_weight_gradient
                                : conv2d_bf16_weight_gradient;
  return kernels;
}

}  // namespace

const Conv2dKernels& conv2d_bf16_kernels() {
  static const Conv2dKernels kernels = tile_kernels<OperandPrecision::bf16>();
  return kernels;
}

const Conv2dKernels& conv2d_bf16_pairs_kernels() {
  static const Conv2dKernels kernels = tile_kernels<OperandPrecision::bf16_pairs>();
  return kernels;
}

}  // namespace quern::host
