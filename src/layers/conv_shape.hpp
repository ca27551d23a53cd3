// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tensor/types.hpp"

namespace quern {

/// Sizes of a convolution of images with their border of zeros, and places in its arrays in
/// Layout::nchw16n.
struct ConvShape {
  int in_channels;
  int in_height;  ///< with the border above and below
  int in_width;
  int out_channels;
  int out_height;
  int out_width;
  int kernel;
  int stride;
  /// Width of a border that x and dx do not have in memory; 0: there is none, or they have it.
  int padding = 0;
  /// x, y, and so on are in Layout::nchw16n_bf16. Only for kernels with Conv2dKernels::rounds.
  bool rounded_x = false;
  bool rounded_y = false;
  bool rounded_dy = false;
  bool rounded_dx = false;

  /// Floats of a group of kLanes samples.
  KOKKOS_INLINE_FUNCTION std::int64_t in_group() const {
    return std::int64_t{kLanes} * in_channels * in_height * in_width;
  }
  KOKKOS_INLINE_FUNCTION std::int64_t out_group() const {
    return std::int64_t{kLanes} * out_channels * out_height * out_width;
  }
  /// Place of a value of the first sample of a group.
  KOKKOS_INLINE_FUNCTION std::int64_t in(int c, int h, int w) const {
    return std::int64_t{kLanes} * ((c * in_height + h) * in_width + w);
  }
  KOKKOS_INLINE_FUNCTION std::int64_t out(int c, int h, int w) const {
    return std::int64_t{kLanes} * ((c * out_height + h) * out_width + w);
  }
  /// Of x and dx in memory.
  KOKKOS_INLINE_FUNCTION int image_height() const { return in_height - 2 * padding; }
  KOKKOS_INLINE_FUNCTION int image_width() const { return in_width - 2 * padding; }
  KOKKOS_INLINE_FUNCTION std::int64_t image(int c, int h, int w) const {
    return std::int64_t{kLanes} * ((c * image_height() + h) * image_width() + w);
  }
  KOKKOS_INLINE_FUNCTION std::int64_t image_group() const { return image(in_channels, 0, 0); }
  /// Position of W[o, i, kh, kw] in PyTorch's order.
  KOKKOS_INLINE_FUNCTION std::int64_t weight(int o, int i, int kh, int kw) const {
    return ((std::int64_t{o} * in_channels + i) * kernel + kh) * kernel + kw;
  }
  KOKKOS_INLINE_FUNCTION int taps() const { return in_channels * kernel * kernel; }
};

}  // namespace quern
