// SPDX-License-Identifier: Apache-2.0
// Kernels of one work item: a few numbers that a step needs where its kernels run.
#pragma once

#include <string>

#include "tensor/types.hpp"

namespace quern {

/// The work item of run_single_item.
template <class Body>
struct SingleItem {
  Body body;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t) const { body(); }
};

/// Calls body() where kernels run, after what is on `exec`. On the host that is here and now, where
/// kernels are complete when their launch returns: starting all threads for it would take longer
/// than the work. A profiler sees a kernel all the same.
template <class Body>
void run_single_item(const ExecSpace& exec, const char* label, const Body& body) {
  if constexpr (kHostExecution) {
    if (!Kokkos::Tools::profileLibraryLoaded()) return body();
  }
  Kokkos::parallel_for(label, RangePolicy(exec, 0, 1), SingleItem<Body>{body});
}

}  // namespace quern
