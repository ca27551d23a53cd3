// SPDX-License-Identifier: Apache-2.0
// Activations: the values of one layer for every slot of the local batch.
//
// A slot holds one sample, or nothing: the last micro-block of a batch may be short, and blocks are
// padded to whole lane groups where a network has image layers. Empty slots hold finite values that
// never reach a result, because their loss gradient is zero.
//
// Two layouts, both float:
//   rows   element (s, unit) at s * row_stride + unit, row_stride = row_floats(units).
//          Flat layers: a vector register holds 16 units of one sample.
//   lanes  element (s, unit) at ((s / 16) * units + unit) * 16 + s % 16.
//          Image layers: a vector register holds one unit of 16 samples, so no lane is ever wasted
//          on odd widths or channel counts.
// unit = (c * H + h) * W + w, as in PyTorch's contiguous [N, C, H, W].
#pragma once

#include "base/shape.hpp"
#include "tensor/types.hpp"

namespace quern {

enum class Layout { rows, lanes };

struct Activation {
  FloatView data;
  Shape shape;
  Layout layout = Layout::rows;
  int slots = 0;  ///< slots in use; lanes: a multiple of kLanes

  bool empty() const { return data.extent(0) == 0; }
  int row_stride() const { return static_cast<int>(row_floats(shape.units())); }
  /// Floats in use.
  std::int64_t size() const {
    return layout == Layout::rows ? std::int64_t{slots} * row_stride()
                                  : std::int64_t{slots} * shape.units();
  }
};

/// Position of (slot, unit), for kernels that work in either layout.
struct ActivationIndex {
  Layout layout;
  std::int64_t units;
  std::int64_t row_stride;

  explicit ActivationIndex(const Activation& a)
      : layout(a.layout), units(a.shape.units()), row_stride(a.row_stride()) {}

  KOKKOS_INLINE_FUNCTION std::int64_t operator()(std::int64_t slot, std::int64_t unit) const {
    if (layout == Layout::rows) return slot * row_stride + unit;
    return (slot / kLanes * units + unit) * kLanes + slot % kLanes;
  }
};

/// Floats that allocate_activation() takes.
std::int64_t allocation_size(const Shape& shape, Layout layout, int slots);

/// Allocates (zero-filled) for `slots` slots, with slack behind the end so that kernels may read
/// whole vectors past the last element. `label` is the View's label.
Activation allocate_activation(const std::string& label, const Shape& shape, Layout layout,
                               int slots);

}  // namespace quern
