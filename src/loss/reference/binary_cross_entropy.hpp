// SPDX-License-Identifier: Apache-2.0
// Reference implementation of loss/binary_cross_entropy.hpp, for one sample.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace quern::reference {

template <class T>
T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}

/// log(1 + exp(x)), for any x.
template <class T>
T softplus(T x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

/// -w t log p - (1 - t) log(1 - p) of each number, p = sigmoid(x), and the mean of these.
template <class T>
T binary_cross_entropy(const std::vector<T>& x, const std::vector<T>& t, double w = 1) {
  T sum = 0;
  for (std::size_t u = 0; u < x.size(); ++u)
    sum += static_cast<T>(w) * t[u] * softplus(-x[u]) + (1 - t[u]) * softplus(x[u]);
  return sum / static_cast<T>(x.size());
}

/// Of how many numbers the probability and the target are on the same side of 1/2.
template <class T>
int right_answers(const std::vector<T>& x, const std::vector<T>& t) {
  int count = 0;
  for (std::size_t u = 0; u < x.size(); ++u) count += (sigmoid(x[u]) > 0.5) == (t[u] > 0.5) ? 1 : 0;
  return count;
}

/// Derivative of the sample's own loss, not divided by the batch.
template <class T>
std::vector<T> binary_cross_entropy_backward(const std::vector<T>& x, const std::vector<T>& t,
                                             double w = 1) {
  std::vector<T> gradient;
  for (std::size_t u = 0; u < x.size(); ++u) {
    const T p = sigmoid(x[u]);
    gradient.push_back(((1 - t[u]) * p - static_cast<T>(w) * t[u] * (1 - p)) /
                       static_cast<T>(x.size()));
  }
  return gradient;
}

}  // namespace quern::reference
