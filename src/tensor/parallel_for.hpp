// SPDX-License-Identifier: Apache-2.0
// Kernels over a range of work items, such as tiles or chunks, and kernels of one item.
#pragma once

#include <string>

#include "tensor/types.hpp"

namespace quern {

/// Kokkos::parallel_for, with a loop in its place where there is one thread: OpenMP sets up a team
/// even then, and GCC's makes a system call to wake nobody, some 0.4 us for each kernel. A profiler
/// sees a kernel all the same. Items are to be long enough to be worth a call each.
template <class Label, class Functor>
void parallel_for(const Label& label, const RangePolicy& items, const Functor& functor) {
  if constexpr (kHostExecution) {
    if (items.space().concurrency() == 1 && !Kokkos::Tools::profileLibraryLoaded()) {
      for (std::int64_t i = items.begin(); i < items.end(); ++i) functor(i);
      return;
    }
  }
  Kokkos::parallel_for(label, items, functor);
}

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
