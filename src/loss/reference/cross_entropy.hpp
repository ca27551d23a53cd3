// SPDX-License-Identifier: Apache-2.0
// Reference implementation of loss/cross_entropy.hpp, for one sample.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace quern::reference {

/// How the target of a label is made. `weights`: one for each class, or empty where all are 1.
template <class T>
struct TargetRule {
  T smoothing = 0;
  std::vector<T> weights = {};

  /// What class `v` is to have, as often as the class counts.
  T target(std::size_t v, std::size_t label, std::size_t classes) const {
    const T plain = (v == label ? 1 - smoothing : 0) + smoothing / static_cast<T>(classes);
    return weights.empty() ? plain : plain * weights[v];
  }
};

/// The logarithm of the probability of a class.
template <class T>
T log_softmax(const std::vector<T>& logits, std::size_t v) {
  const T largest = *std::max_element(logits.begin(), logits.end());
  T total = 0;
  for (const T x : logits) total += std::exp(x - largest);
  return logits[v] - largest - std::log(total);
}

template <class T>
T cross_entropy(const std::vector<T>& logits, std::size_t label, const TargetRule<T>& rule = {}) {
  T loss = 0;
  for (std::size_t v = 0; v < logits.size(); ++v)
    loss -= rule.target(v, label, logits.size()) * log_softmax(logits, v);
  return loss;
}

/// Derivative of the sample's own loss, not divided by the batch.
template <class T>
std::vector<T> cross_entropy_backward(const std::vector<T>& logits, std::size_t label,
                                      const TargetRule<T>& rule = {}) {
  T whole = 0;
  for (std::size_t v = 0; v < logits.size(); ++v) whole += rule.target(v, label, logits.size());
  std::vector<T> gradient;
  for (std::size_t v = 0; v < logits.size(); ++v)
    gradient.push_back(whole * std::exp(log_softmax(logits, v)) -
                       rule.target(v, label, logits.size()));
  return gradient;
}

template <class T>
bool is_correct(const std::vector<T>& logits, std::size_t label) {
  return std::max_element(logits.begin(), logits.end()) - logits.begin() ==
         static_cast<std::ptrdiff_t>(label);
}

}  // namespace quern::reference
