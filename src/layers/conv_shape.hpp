// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tensor/types.hpp"

namespace quern {

/// Sizes of a convolution without padding (padded inputs are padded by a copy beforehand), and
/// places in its arrays in Layout::nchw16n.
struct ConvShape {
  int in_channels;
  int in_height;
  int in_width;
  int out_channels;
  int out_height;
  int out_width;
  int kernel;
  int stride;

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
  /// Position of W[o, i, kh, kw] in PyTorch's order.
  KOKKOS_INLINE_FUNCTION std::int64_t weight(int o, int i, int kh, int kw) const {
    return ((std::int64_t{o} * in_channels + i) * kernel + kh) * kernel + kw;
  }
  KOKKOS_INLINE_FUNCTION int taps() const { return in_channels * kernel * kernel; }
};

}  // namespace quern
