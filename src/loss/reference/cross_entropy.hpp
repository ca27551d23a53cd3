// SPDX-License-Identifier: Apache-2.0
// Reference implementation of loss/cross_entropy.hpp, for one sample.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace quern::reference {

template <class T>
T cross_entropy(const std::vector<T>& logits, std::size_t label) {
  const T largest = *std::max_element(logits.begin(), logits.end());
  T total = 0;
  for (const T x : logits) total += std::exp(x - largest);
  return std::log(total) + largest - logits[label];
}

/// Derivative of the sample's own loss, not divided by the batch.
template <class T>
std::vector<T> cross_entropy_backward(const std::vector<T>& logits, std::size_t label) {
  std::vector<T> gradient;
  // exp(-loss of class v) is the probability of class v.
  for (std::size_t v = 0; v < logits.size(); ++v)
    gradient.push_back(std::exp(-cross_entropy(logits, v)) - (v == label ? 1 : 0));
  return gradient;
}

template <class T>
bool is_correct(const std::vector<T>& logits, std::size_t label) {
  return std::max_element(logits.begin(), logits.end()) - logits.begin() ==
         static_cast<std::ptrdiff_t>(label);
}

}  // namespace quern::reference
