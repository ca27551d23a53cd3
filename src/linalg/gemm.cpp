// SPDX-License-Identifier: Apache-2.0
#include "linalg/gemm.hpp"

#include "linalg/device/gemm.hpp"
#include "linalg/host/gemm.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

void multiply(const ExecSpace& exec, const std::string& label, const Matrix& c,
              const ConstMatrix& a, const ConstMatrix& b, const Epilogue& epilogue) {
  const auto run = choose_kernels<decltype(device::multiply)>(
      {.host = host_set<host::multiply>(), .device = device::multiply});
  run(exec, label, c, a, b, epilogue);
}

void multiply_blocks(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
                     const GradientSums& partial_sums, const GradientPlace& place,
                     const ConstMatrix& a, const ConstMatrix& b) {
  const auto run = choose_kernels<decltype(device::multiply_blocks)>(
      {.host = host_set<host::multiply_blocks>(), .device = device::multiply_blocks});
  run(exec, label, schedule, partial_sums, place, a, b);
}

}  // namespace quern
