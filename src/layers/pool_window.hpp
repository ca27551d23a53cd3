// SPDX-License-Identifier: Apache-2.0
// The geometry of pooling: square windows without padding, output sizes rounded down.
#pragma once

#include "spec/network_spec.hpp"
#include "tensor/types.hpp"

namespace quern {

/// Output (oh, ow) of a plane looks at the input rows [oh stride, oh stride + size), columns alike.
struct PoolWindow {
  int height = 0;
  int width = 0;
  int out_height = 0;
  int out_width = 0;
  int size = 0;
  int stride = 0;

  /// Floats of one plane of 16 lanes.
  KOKKOS_INLINE_FUNCTION std::int64_t plane() const {
    return std::int64_t{height} * width * kLanes;
  }
  KOKKOS_INLINE_FUNCTION std::int64_t out_plane() const {
    return std::int64_t{out_height} * out_width * kLanes;
  }
  /// Position of the window of output (oh, ow) in the input plane, in floats.
  KOKKOS_INLINE_FUNCTION std::int64_t begin(int oh, int ow) const {
    return (std::int64_t{oh} * stride * width + std::int64_t{ow} * stride) * kLanes;
  }
  /// What the windows of the top left part `read` of the output cover.
  Shape input_of(const Shape& read) const {
    return {read.channels, (read.height - 1) * stride + size, (read.width - 1) * stride + size};
  }
  /// What a sum over a window is multiplied by.
  float mean_factor() const { return 1 / static_cast<float>(size * size); }
  KOKKOS_INLINE_FUNCTION bool windows_overlap() const { return stride < size; }
  /// Does every input element lie in exactly one window?
  KOKKOS_INLINE_FUNCTION bool tiles_the_plane() const {
    return stride == size && height % size == 0 && width % size == 0;
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

/// [C, (H - size) / stride + 1, (W - size) / stride + 1]. The window has to fit into the input.
Shape pooled_shape(const LayerSpec& spec, const Shape& input);

PoolWindow make_pool_window(const LayerSpec& spec, const Shape& input);

}  // namespace quern
