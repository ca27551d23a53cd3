// SPDX-License-Identifier: Apache-2.0
// The changes of layout that differ between CPUs and devices: layers/layout.hpp.
#pragma once

#include "layers/layout.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

/// All overwrite `to`, whose rows and units are those of `from`. The padding of nc and cn16c
/// becomes zero.
struct LayoutKernels {
  /// Between nchw16n and nc or cn16c, whole lane groups. On a device nc only.
  void (*flat_to_lanes)(const ExecSpace& exec, const Activation& from, const Activation& to);
  void (*lanes_to_flat)(const ExecSpace& exec, const Activation& from, const Activation& to);
  /// Between tiles and cn16c. Null: tiles are no layout there.
  void (*convert_tiles)(const ExecSpace& exec, const Activation& from, const Activation& to,
                        Content content);
};

namespace host {
const LayoutKernels& layout_kernels();
}
namespace device {
const LayoutKernels& layout_kernels();
}

}  // namespace quern
