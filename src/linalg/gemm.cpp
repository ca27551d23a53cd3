// SPDX-License-Identifier: Apache-2.0
#include "linalg/gemm.hpp"

#include "linalg/device/gemm.hpp"
#include "linalg/host/gemm.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

void multiply(const ExecSpace& exec, const std::string& label, const Matrix& c,
              const ConstMatrix& a, const ConstMatrix& b, const Epilogue& epilogue) {
  if (runs_device_kernels())
    device::multiply(exec, label, c, a, b, epilogue);
  else if constexpr (kHostExecution)
    host::multiply(exec, label, c, a, b, epilogue);
}

void multiply_blocks(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
                     const GradientSums& partial_sums, const GradientPlace& place,
                     const ConstMatrix& a, const ConstMatrix& b) {
  if (runs_device_kernels())
    device::multiply_blocks(exec, label, schedule, partial_sums, place, a, b);
  else if constexpr (kHostExecution)
    host::multiply_blocks(exec, label, schedule, partial_sums, place, a, b);
}

}  // namespace quern
