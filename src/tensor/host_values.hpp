// SPDX-License-Identifier: Apache-2.0
// Values of the host on their way to kernels, and back. Not for the step: it allocates and waits.
#pragma once

#include <span>
#include <string>

#include "tensor/types.hpp"

namespace quern {

/// A copy of the values where kernels read them.
template <class T>
View<const T> copy_to_kernels(const std::string& label, std::span<const T> values) {
  View<T> copy(Kokkos::view_alloc(label, Kokkos::WithoutInitializing), values.size());
  if (values.empty()) return copy;  // nothing to wait for
  Kokkos::deep_copy(copy, Kokkos::View<const T*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(
                              values.data(), values.size()));
  return copy;
}

/// What a kernel has left in a scalar, once everything on its instance is done.
template <class T>
T read_scalar(const ScalarView<T>& scalar) {
  if constexpr (kHostExecution) {
    return scalar();
  } else {
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), scalar)();
  }
}

}  // namespace quern
