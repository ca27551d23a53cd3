// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace quern {

/// A kernel of this label inside this region.
struct KernelTime {
  std::string region;  ///< the innermost one, "" outside of all
  std::string kernel;  ///< Kokkos label
  std::int64_t calls = 0;
  double seconds = 0;  ///< of all calls
};

/// Times every Kokkos kernel while it lives, through the interface that Kokkos Tools use; a tool
/// that was loaded hears nothing meanwhile. One at a time. Kokkos waits for a kernel before it
/// reports the end, so that times are the kernels' own on all back ends.
class KernelProfile {
 public:
  KernelProfile();
  ~KernelProfile();
  KernelProfile(const KernelProfile&) = delete;
  KernelProfile& operator=(const KernelProfile&) = delete;

  /// Every kernel since the last take(), in the order of first appearance.
  std::vector<KernelTime> take();

 private:
  Kokkos::Tools::Experimental::EventSet before_;
};

}  // namespace quern
