// SPDX-License-Identifier: Apache-2.0
// Reference implementation of layers/linear.hpp: plain loops over logical indices, in double.
#pragma once

#include <vector>

namespace quern::reference {

struct LinearGradients {
  std::vector<double> dx;      ///< [S, I]
  std::vector<double> weight;  ///< [O, I]
  std::vector<double> bias;    ///< [O]
};

/// y [S, O] = x [S, I] W^T + b, W [O, I].
inline std::vector<double> linear_forward(int S, int I, int O, const std::vector<float>& x,
                                          const std::vector<float>& weight,
                                          const std::vector<float>& bias) {
  std::vector<double> y(static_cast<std::size_t>(S) * O);
  for (int s = 0; s < S; ++s) {
    for (int o = 0; o < O; ++o) {
      double sum = bias[o];
      for (int i = 0; i < I; ++i) sum += double{weight[o * I + i]} * x[s * I + i];
      y[s * O + o] = sum;
    }
  }
  return y;
}

inline LinearGradients linear_backward(int S, int I, int O, const std::vector<float>& x,
                                       const std::vector<float>& weight,
                                       const std::vector<float>& dy) {
  LinearGradients gradients{std::vector<double>(static_cast<std::size_t>(S) * I),
                            std::vector<double>(static_cast<std::size_t>(O) * I),
                            std::vector<double>(static_cast<std::size_t>(O))};
  for (int s = 0; s < S; ++s) {
    for (int o = 0; o < O; ++o) {
      const double d = dy[s * O + o];
      gradients.bias[o] += d;
      for (int i = 0; i < I; ++i) {
        gradients.weight[o * I + i] += d * x[s * I + i];
        gradients.dx[s * I + i] += d * weight[o * I + i];
      }
    }
  }
  return gradients;
}

}  // namespace quern::reference
