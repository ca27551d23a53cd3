// SPDX-License-Identifier: Apache-2.0
// Activations: the values of one layer for the local batch, a matrix [rows, units].
//
// A row holds one sample, or nothing: the last micro-block of a batch may be short, and blocks are
// padded to whole lane groups where a network has image layers. Empty rows hold finite values that
// never reach a result, because their loss gradient is zero.
//
// Three layouts of floats, named like oneDNN's format tags: letters from the outermost index to
// the innermost (n: the row, c: the unit or the channel), 16c and 16n: blocks of 16 of them.
// (oneDNN writes a blocked index as a capital: Cn16c, Nchw16n.)
//   nc       element (s, unit) at s * row_stride + unit, row_stride = row_floats(units). Row-major.
//            Flat layers on a device, and layers that want it simple.
//   cn16c    element (s, unit) at unit / 16 * panel_stride + s * 16 + unit % 16,
//            panel_stride = row_floats(16 rows). Panels of 16 units.
//            Flat layers on a CPU: a vector register holds 16 units of one sample, and products
//            read neighbouring cache lines whether they go along the units or down the rows.
//   nchw16n  element (s, unit) at ((s / 16) * units + unit) * 16 + s % 16. Blocks of 16 samples.
//            Image layers: a register holds one unit of 16 samples: no lane is wasted on odd widths
//            or channel counts (few samples: layers/host/conv2d_few_panels.hpp). Not nChw16c.
// unit = (c * H + h) * W + w, as in PyTorch's contiguous [N, C, H, W].
//
// And two of bfloat16, in which products read their operands:
//   nchw16n_bf16  as nchw16n, element for element. Between convolutions and batch normalisations,
//            where nobody else reads the value.
//   tiles    Flat layers: every value twice, in the order in which products over the units read it,
//            and in the order in which products over the samples do. See tensor/operand_tiles.hpp.
#pragma once

#include "base/shape.hpp"
#include "tensor/types.hpp"

namespace quern {

enum class Layout { nc, cn16c, nchw16n, nchw16n_bf16, tiles };

/// Where flat layers work: cn16c with the kernels of a CPU, nc with those of a device.
Layout flat_layout();

struct Activation {
  FloatView data;
  Shape shape;
  Layout layout = Layout::nc;
  int rows = 0;  ///< rows in use; but for nc and cn16c a multiple of kLanes
  /// Rows of a micro-block, of which `rows` is a multiple: tiles of samples end with it. For tiles
  /// only.
  int block_rows = 0;

  bool empty() const { return data.extent(0) == 0; }
  int row_stride() const { return static_cast<int>(row_floats(shape.units())); }
  std::int64_t panel_stride() const { return row_floats(std::int64_t{kLanes} * rows); }
  /// Floats in use, padding included.
  std::int64_t size() const;
};

/// Position of (row, unit), for kernels that work in any layout: nchw16n_bf16 counts as nchw16n.
struct ActivationIndex {
  Layout layout;
  std::int64_t units;
  std::int64_t stride;  ///< nc: of a row; cn16c: of a panel

  explicit ActivationIndex(const Activation& a)
      : layout(a.layout == Layout::nchw16n_bf16 ? Layout::nchw16n : a.layout),
        units(a.shape.units()),
        stride(a.layout == Layout::cn16c ? a.panel_stride() : a.row_stride()) {}

  KOKKOS_INLINE_FUNCTION std::int64_t operator()(std::int64_t row, std::int64_t unit) const {
    if (layout == Layout::nchw16n) return (row / kLanes * units + unit) * kLanes + row % kLanes;
    return sixteen(row, unit / kLanes * kLanes) + unit % kLanes;
  }

  /// nc and cn16c: where the neighbouring units `unit` .. `unit` + 15 begin; 16 divides `unit`.
  KOKKOS_INLINE_FUNCTION std::int64_t sixteen(std::int64_t row, std::int64_t unit) const {
    if (layout == Layout::nc) return row * stride + unit;
    return unit / kLanes * stride + row * kLanes;
  }
};

/// Floats that allocate_activation() takes.
std::int64_t allocation_size(const Shape& shape, Layout layout, int rows);

/// Allocates (zero-filled) for `rows` rows, with slack after the end so that kernels may read
/// whole vectors past the last element. `label` is the View's label.
Activation allocate_activation(const std::string& label, const Shape& shape, Layout layout,
                               int rows);

}  // namespace quern
