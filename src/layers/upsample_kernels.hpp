// SPDX-License-Identifier: Apache-2.0
// The kernels of upsample, on activations in Layout::nchw16n.
#pragma once

#include "tensor/activation.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

struct UpsampleKernels {
  /// Overwrites y.
  void (*forward)(const ExecSpace& exec, int factor, const Activation& x, const Activation& y);
  /// Overwrites dx. With `masked` x is a ReLU's output, whose derivative is applied: dx becomes 0
  /// where x is not above 0.
  void (*backward)(const ExecSpace& exec, int factor, const Activation& x, const Activation& dy,
                   const Activation& dx, bool masked);
};

namespace host {
const UpsampleKernels& upsample_kernels();
}
namespace device {
const UpsampleKernels& upsample_kernels();
}

}  // namespace quern
