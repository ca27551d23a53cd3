// SPDX-License-Identifier: Apache-2.0
// Reference implementations of layers/elementwise.hpp, for one unit: f(x) and f'(x).
#pragma once

#include <cmath>
#include <numbers>

#include "base/error.hpp"
#include "spec/network_spec.hpp"

namespace quern::reference {

inline constexpr double kNegativeSlope = 0.01;  // of leaky_relu, as LayerSpec has it

template <class T>
T elementwise(LayerType type, T x) {
  switch (type) {
    case LayerType::relu:
      return x > 0 ? x : (x <= 0 ? 0 : x);
    case LayerType::tanh:
      return std::tanh(x);
    case LayerType::sigmoid:
      return 1 / (1 + std::exp(-x));
    case LayerType::silu:
      return x / (1 + std::exp(-x));
    case LayerType::leaky_relu:
      return x < 0 ? static_cast<T>(kNegativeSlope) * x : x;
    case LayerType::gelu:
      return x * (1 + std::erf(x / std::numbers::sqrt2_v<T>)) / 2;
    default:
      break;
  }
  throw Error("reference::elementwise: expected an elementwise layer type");
}

template <class T>
T elementwise_derivative(LayerType type, T x) {
  const T y = elementwise(type, x);
  switch (type) {
    case LayerType::relu:
      return x > 0 ? 1 : 0;
    case LayerType::tanh:
      return 1 - y * y;
    case LayerType::sigmoid:
      return y * (1 - y);
    case LayerType::silu: {
      const T gate = 1 / (1 + std::exp(-x));
      return gate + y * (1 - gate);
    }
    case LayerType::leaky_relu:
      return x < 0 ? static_cast<T>(kNegativeSlope) : 1;
    case LayerType::gelu: {
      const T density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi_v<T>);
      return (1 + std::erf(x / std::numbers::sqrt2_v<T>)) / 2 + x * density;
    }
    default:
      break;
  }
  throw Error("reference::elementwise_derivative: expected an elementwise layer type");
}

}  // namespace quern::reference
