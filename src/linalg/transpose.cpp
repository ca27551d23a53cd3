// SPDX-License-Identifier: Apache-2.0
#include "linalg/transpose.hpp"

#include "linalg/device/transpose.hpp"
#include "linalg/host/gemm.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

void transpose(const ExecSpace& exec, const std::string& label, const Matrix& b,
               const ConstMatrix& a) {
  const auto run = choose_kernels<decltype(device::transpose)>(
      {.host = host_set<host::transpose>(), .device = device::transpose});
  run(exec, label, b, a);
}

}  // namespace quern
