// SPDX-License-Identifier: Apache-2.0
// Reference implementation of loss/regression.hpp, for one sample.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "base/error.hpp"
#include "spec/training_spec.hpp"

namespace quern::reference {

/// What the error of one number adds to the loss.
template <class T>
T regression_cost(const LossSpec& loss, T error) {
  const T size = std::abs(error);
  const T delta = static_cast<T>(loss.delta);
  switch (loss.type) {
    case LossType::mse:
      return error * error;
    case LossType::l1:
      return size;
    case LossType::huber:
      return size <= delta ? error * error / 2 : delta * (size - delta / 2);
    case LossType::cross_entropy:
    case LossType::binary_cross_entropy:
    case LossType::custom:
      break;
  }
  throw Error("reference::regression_cost: expected the loss of a regression");
}

template <class T>
T regression_slope(const LossSpec& loss, T error) {
  const T sign = static_cast<T>(error > 0) - static_cast<T>(error < 0);
  const T delta = static_cast<T>(loss.delta);
  switch (loss.type) {
    case LossType::mse:
      return 2 * error;
    case LossType::l1:
      return sign;
    case LossType::huber:
      return std::abs(error) <= delta ? error : delta * sign;
    case LossType::cross_entropy:
    case LossType::binary_cross_entropy:
    case LossType::custom:
      break;
  }
  throw Error("reference::regression_slope: expected the loss of a regression");
}

template <class T>
T regression(const LossSpec& loss, const std::vector<T>& prediction, const std::vector<T>& target) {
  T sum = 0;
  for (std::size_t u = 0; u < prediction.size(); ++u)
    sum += regression_cost(loss, prediction[u] - target[u]);
  return sum / static_cast<T>(prediction.size());
}

/// Derivative of the sample's own loss, not divided by the batch.
template <class T>
std::vector<T> regression_backward(const LossSpec& loss, const std::vector<T>& prediction,
                                   const std::vector<T>& target) {
  std::vector<T> gradient;
  for (std::size_t u = 0; u < prediction.size(); ++u) {
    gradient.push_back(regression_slope(loss, prediction[u] - target[u]) /
                       static_cast<T>(prediction.size()));
  }
  return gradient;
}

}  // namespace quern::reference
