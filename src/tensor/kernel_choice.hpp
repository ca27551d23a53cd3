// SPDX-License-Identifier: Apache-2.0
// Which kernels run. An operation may have several sets of them: of host/ for CPUs, vectorised, and
// of device/ for devices, one element or micro-tile a thread, with the same bits; and of products
// those that round their operands and those of a vendor's library. choose_kernels() picks one, and
// nothing else does (tests/style/check_kernel_choice.py).
#pragma once

#include "tensor/operand_precision.hpp"
#include "tensor/types.hpp"

namespace quern {

#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP) || defined(KOKKOS_ENABLE_SYCL)
/// Do the kernels of device/ run? On a device always: host/ is not part of such a build.
constexpr bool runs_device_kernels() {
  return true;
}
#else
/// Do the kernels of device/ run? On a CPU, where they are slow, only if the environment says
/// QUERN_DEVICE_KERNELS=1 or a test asks for it.
bool runs_device_kernels();

/// For tests: from now on. Layers must be made anew, because their workspace differs.
void choose_device_kernels(bool device);
#endif

/// What is asked of kernels.
struct KernelChoice {
  /// What products round their operands to, where they have a set for it.
  OperandPrecision precision = OperandPrecision::fp32;
  /// May a vendor's library choose the order of additions? It may be another one for another number
  /// of rows.
  bool any_order = false;
  bool on_device = runs_device_kernels();
  /// Do convolutions of a CPU that do not round their operands run by Winograd's algorithm?
  bool winograd = false;

  /// Do products have operands in tiles of bf16 (linalg/host/bf16_tiles.hpp)?
  bool multiplies_tiles() const { return !on_device && rounds_to_bf16(); }
  bool rounds_to_bf16() const {
    return precision == OperandPrecision::bf16 || precision == OperandPrecision::bf16_pairs;
  }
};

/// The sets of an operation, null where there is none. F: type of a function that returns a set, a
/// table of kernels for instance; or, where a set is a single kernel, the kernel's type. Functions,
/// because hipcc puts a constant of a namespace on the device as well, where what it points to does
/// not exist.
template <class F>
struct KernelSets {
  F* host = nullptr;  ///< as host_set() gives it
  F* host_bf16 = nullptr;
  F* host_bf16_pairs = nullptr;
  F* device = nullptr;
  F* device_tf32 = nullptr;
  F* device_bf16 = nullptr;
  F* vendor = nullptr;
  F* host_winograd = nullptr;
};

/// A set of host/. Null in builds for devices, which have none: the function is named there, and
/// neither compiled nor linked.
template <auto Set>
constexpr auto host_set() {
  if constexpr (kHostExecution)
    return Set;
  else
    return static_cast<decltype(Set)>(nullptr);
}

/// The set that is to run. Null: the operation has none for this choice. Costs nothing beside a
/// launch.
template <class F>
F* choose_kernels(const KernelSets<F>& sets, const KernelChoice& choice = {}) {
  if (choice.any_order && sets.vendor) return sets.vendor;
  F* rounds = nullptr;
  if (choice.on_device && choice.rounds_to_bf16())
    rounds = sets.device_bf16;
  else if (choice.precision == OperandPrecision::bf16)
    rounds = sets.host_bf16;
  else if (choice.precision == OperandPrecision::bf16_pairs)
    rounds = sets.host_bf16_pairs;
  else if (choice.precision == OperandPrecision::tf32 && choice.on_device)
    rounds = sets.device_tf32;
  if (rounds) return rounds;
  if (choice.winograd && !choice.on_device && sets.host_winograd) return sets.host_winograd;
  return choice.on_device ? sets.device : sets.host;
}

/// How many threads run kernels; 1 as long as Kokkos is not initialised, as where a plan is made
/// that nothing is run by.
inline int kernel_threads() {
  return Kokkos::is_initialized() ? ExecSpace().concurrency() : 1;
}

}  // namespace quern
