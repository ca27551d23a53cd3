// SPDX-License-Identifier: Apache-2.0
#include "tensor/kernel_choice.hpp"

#include <cstdlib>
#include <string_view>

namespace quern {

#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP) && !defined(KOKKOS_ENABLE_SYCL)

namespace {

bool& choice() {
  static bool device = [] {
    const char* value = std::getenv("QUERN_DEVICE_KERNELS");
    return value != nullptr && std::string_view(value) == "1";
  }();
  return device;
}

}  // namespace

bool runs_device_kernels() {
  return choice();
}

void choose_device_kernels(bool device) {
  choice() = device;
}

#endif

}  // namespace quern
