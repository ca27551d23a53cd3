// SPDX-License-Identifier: Apache-2.0
// Layer normalisation of one sample, in double. Slow and obvious.
#pragma once

#include <cmath>
#include <vector>

namespace quern::reference {

struct LayerNormSample {
  std::vector<double> y;
  std::vector<double> dx;
  std::vector<double> d_weight;  ///< this sample's share
  std::vector<double> d_bias;
};

/// `dy` is the gradient in front of a ReLU.
inline LayerNormSample layer_norm(const std::vector<double>& x, const std::vector<double>& dy,
                                  const std::vector<double>& weight,
                                  const std::vector<double>& bias, double eps) {
  const auto count = static_cast<double>(x.size());
  double mean = 0;
  double variance = 0;
  for (const double value : x) mean += value / count;
  for (const double value : x) variance += (value - mean) * (value - mean) / count;
  const double deviation = std::sqrt(variance + eps);
  LayerNormSample result;
  double mean_gradient = 0;
  double mean_product = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double normalized = (x[i] - mean) / deviation;
    result.y.push_back(normalized * weight[i] + bias[i]);
    result.d_weight.push_back(dy[i] * normalized);
    result.d_bias.push_back(dy[i]);
    mean_gradient += dy[i] * weight[i] / count;
    mean_product += dy[i] * weight[i] * normalized / count;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double normalized = (x[i] - mean) / deviation;
    result.dx.push_back((dy[i] * weight[i] - mean_gradient - normalized * mean_product) /
                        deviation);
  }
  return result;
}

}  // namespace quern::reference
