// SPDX-License-Identifier: Apache-2.0
// The kernels of pools, on activations in Layout::nchw16n.
#pragma once

#include "layers/pool_window.hpp"
#include "tensor/activation.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

struct PoolKernels {
  /// Overwrites y.
  void (*forward)(const ExecSpace& exec, const PoolWindow& window, const Activation& x,
                  const Activation& y);
  /// Overwrites dx. With `masked` x is a ReLU's output, whose derivative is applied: dx becomes 0
  /// where x is not above 0.
  void (*backward)(const ExecSpace& exec, const PoolWindow& window, const Activation& x,
                   const Activation& dy, const Activation& dx, bool masked);
};

/// The same over all pixels of a channel.
struct GlobalPoolKernels {
  void (*forward)(const ExecSpace& exec, const Activation& x, const Activation& y);
  void (*backward)(const ExecSpace& exec, const Activation& x, const Activation& dy,
                   const Activation& dx, bool masked);
};

namespace host {
const PoolKernels& max_pool2d_kernels();
const PoolKernels& avg_pool2d_kernels();
const GlobalPoolKernels& global_avg_pool_kernels();
}  // namespace host
namespace device {
const PoolKernels& max_pool2d_kernels();
const PoolKernels& avg_pool2d_kernels();
const GlobalPoolKernels& global_avg_pool_kernels();
}  // namespace device

}  // namespace quern
