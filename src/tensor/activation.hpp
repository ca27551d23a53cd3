// SPDX-License-Identifier: Apache-2.0
// Activations: the values of one layer for every slot of the local batch.
//
// A slot holds one sample, or nothing: the last micro-block of a batch may be short, and blocks are
// padded to whole lane groups where a network has image layers. Empty slots hold finite values that
// never reach a result, because their loss gradient is zero.
//
// Three layouts, all float:
//   panels element (s, unit) at unit / 16 * panel_stride + s * 16 + unit % 16,
//          panel_stride = row_floats(16 slots).
//          Flat layers on a CPU: a vector register holds 16 units of one sample, and products walk
//          through neighbouring cache lines whether they go along the units or down the slots.
//   rows   element (s, unit) at s * row_stride + unit, row_stride = row_floats(units).
//          Flat layers on a device, and layers that want it simple.
//   lanes  element (s, unit) at ((s / 16) * units + unit) * 16 + s % 16.
//          Image layers: a vector register holds one unit of 16 samples, so no lane is ever wasted
//          on odd widths or channel counts.
// unit = (c * H + h) * W + w, as in PyTorch's contiguous [N, C, H, W].
#pragma once

#include "base/shape.hpp"
#include "tensor/types.hpp"

namespace quern {

enum class Layout { panels, rows, lanes };

/// Where flat layers work: panels with the kernels of a CPU, rows with those of a device.
Layout flat_layout();

struct Activation {
  FloatView data;
  Shape shape;
  Layout layout = Layout::rows;
  int slots = 0;  ///< slots in use; lanes: a multiple of kLanes

  bool empty() const { return data.extent(0) == 0; }
  int row_stride() const { return static_cast<int>(row_floats(shape.units())); }
  std::int64_t panel_stride() const { return row_floats(std::int64_t{kLanes} * slots); }
  /// Floats in use, padding included.
  std::int64_t size() const;
};

/// Position of (slot, unit), for kernels that work in any layout.
struct ActivationIndex {
  Layout layout;
  std::int64_t units;
  std::int64_t stride;  ///< rows: of a row; panels: of a panel

  explicit ActivationIndex(const Activation& a)
      : layout(a.layout),
        units(a.shape.units()),
        stride(a.layout == Layout::panels ? a.panel_stride() : a.row_stride()) {}

  KOKKOS_INLINE_FUNCTION std::int64_t operator()(std::int64_t slot, std::int64_t unit) const {
    if (layout == Layout::lanes) return (slot / kLanes * units + unit) * kLanes + slot % kLanes;
    return sixteen(slot, unit / kLanes * kLanes) + unit % kLanes;
  }

  /// Rows and panels: where the neighbouring units `unit` .. `unit` + 15 begin; 16 divides `unit`.
  KOKKOS_INLINE_FUNCTION std::int64_t sixteen(std::int64_t slot, std::int64_t unit) const {
    if (layout == Layout::rows) return slot * stride + unit;
    return unit / kLanes * stride + slot * kLanes;
  }
};

/// Floats that allocate_activation() takes.
std::int64_t allocation_size(const Shape& shape, Layout layout, int slots);

/// Allocates (zero-filled) for `slots` slots, with slack behind the end so that kernels may read
/// whole vectors past the last element. `label` is the View's label.
Activation allocate_activation(const std::string& label, const Shape& shape, Layout layout,
                               int slots);

}  // namespace quern
