// SPDX-License-Identifier: Apache-2.0
// The geometry of pooling: square windows, output sizes rounded down.
#pragma once

#include "spec/network_spec.hpp"
#include "tensor/types.hpp"

namespace quern {

/// What of a window lies in the plane.
struct WindowPart {
  int row;  ///< the first
  int column;
  int rows;
  int columns;

  KOKKOS_INLINE_FUNCTION bool is_square(int size) const { return rows == size && columns == size; }
};

/// Output (oh, ow) of a plane looks at the input rows [oh stride - padding, oh stride - padding +
/// size), columns alike. Each window has rows and columns in the plane: padding <= size / 2.
struct PoolWindow {
  int height = 0;
  int width = 0;
  int out_height = 0;
  int out_width = 0;
  int size = 0;
  int stride = 0;
  int padding = 0;

  /// Floats of one plane of 16 lanes.
  KOKKOS_INLINE_FUNCTION std::int64_t plane() const {
    return std::int64_t{height} * width * kLanes;
  }
  KOKKOS_INLINE_FUNCTION std::int64_t out_plane() const {
    return std::int64_t{out_height} * out_width * kLanes;
  }
  KOKKOS_INLINE_FUNCTION WindowPart part(int oh, int ow) const {
    if (padding == 0) return {oh * stride, ow * stride, size, size};
    const int top = oh * stride - padding;
    const int left = ow * stride - padding;
    const int row = top > 0 ? top : 0;
    const int column = left > 0 ? left : 0;
    const int bottom = top + size < height ? top + size : height;
    const int right = left + size < width ? left + size : width;
    return {row, column, bottom - row, right - column};
  }
  /// Position of a window's first element in the input plane, in floats.
  KOKKOS_INLINE_FUNCTION std::int64_t begin(const WindowPart& part) const {
    return (std::int64_t{part.row} * width + part.column) * kLanes;
  }
  KOKKOS_INLINE_FUNCTION std::int64_t begin(int oh, int ow) const { return begin(part(oh, ow)); }
  /// What the windows of the top left part `read` of the output cover; everything with padding,
  /// whose last rows and columns have to stay where they are.
  Shape input_of(const Shape& read) const {
    if (padding > 0) return {read.channels, height, width};
    return {read.channels, (read.height - 1) * stride + size, (read.width - 1) * stride + size};
  }
  /// What a sum over a window is multiplied by: padding counts as zeros.
  float mean_factor() const { return 1 / static_cast<float>(size * size); }
  KOKKOS_INLINE_FUNCTION bool windows_overlap() const { return stride < size; }
  /// Does every input element lie in exactly one window?
  KOKKOS_INLINE_FUNCTION bool tiles_the_plane() const {
    return padding == 0 && stride == size && height % size == 0 && width % size == 0;
  }
};

enum class PoolKind { mean, maximum };

/// What a layer that computes a pool beside its own work has to know of it.
struct Pool {
  PoolWindow window;
  PoolKind kind = PoolKind::mean;

  /// The part of an output's gradient that each pixel gets which it reaches.
  float share() const { return kind == PoolKind::maximum ? 1.0f : window.mean_factor(); }
};

/// [C, (H + 2 padding - size) / stride + 1, (W + 2 padding - size) / stride + 1]. The window has to
/// fit into the padded input.
Shape pooled_shape(const LayerSpec& spec, const Shape& input);

PoolWindow make_pool_window(const LayerSpec& spec, const Shape& input);

}  // namespace quern
