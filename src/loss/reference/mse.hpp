// SPDX-License-Identifier: Apache-2.0
// Reference implementation of loss/mse.hpp, for one sample.
#pragma once

#include <cstddef>
#include <vector>

namespace quern::reference {

template <class T>
T mse(const std::vector<T>& prediction, const std::vector<T>& target) {
  T sum = 0;
  for (std::size_t u = 0; u < prediction.size(); ++u)
    sum += (prediction[u] - target[u]) * (prediction[u] - target[u]);
  return sum / static_cast<T>(prediction.size());
}

/// Derivative of the sample's own loss, not divided by the batch.
template <class T>
std::vector<T> mse_backward(const std::vector<T>& prediction, const std::vector<T>& target) {
  std::vector<T> gradient;
  for (std::size_t u = 0; u < prediction.size(); ++u)
    gradient.push_back(2 * (prediction[u] - target[u]) / static_cast<T>(prediction.size()));
  return gradient;
}

}  // namespace quern::reference
