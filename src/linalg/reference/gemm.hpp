// SPDX-License-Identifier: Apache-2.0
// Reference implementations of linalg/gemm.hpp, in double.
#pragma once

#include <cstdint>
#include <vector>

namespace quern::reference {

/// C = A B + bias, row-major without padding. A [m, k], B [k, n], bias [n] or empty.
inline std::vector<double> multiply(int m, int n, int k, const std::vector<float>& a,
                                    const std::vector<float>& b, const std::vector<float>& bias) {
  std::vector<double> c(static_cast<std::size_t>(m) * n);
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      double sum = bias.empty() ? 0.0 : bias[j];
      for (int l = 0; l < k; ++l) sum += double{a[i * k + l]} * b[l * n + j];
      c[i * n + j] = sum;
    }
  }
  return c;
}

}  // namespace quern::reference
