// SPDX-License-Identifier: Apache-2.0
#include "linalg/transpose.hpp"

#include "linalg/device/transpose.hpp"
#include "linalg/host/gemm.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

void transpose(const ExecSpace& exec, const std::string& label, const Matrix& b,
               const ConstMatrix& a) {
  if (runs_device_kernels())
    device::transpose(exec, label, b, a);
  else if constexpr (kHostExecution)
    host::transpose(exec, label, b, a);
}

}  // namespace quern
