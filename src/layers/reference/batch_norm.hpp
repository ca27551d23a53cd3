// SPDX-License-Identifier: Apache-2.0
// Batch normalisation of one channel, in double. Slow and obvious.
#pragma once

#include <cmath>
#include <vector>

namespace quern::reference {

struct BatchNormChannel {
  std::vector<double> y;
  std::vector<double> dx;
  double d_scale = 0;
  double d_shift = 0;
  double mean = 0;
  double unbiased_variance = 0;
};

/// Of the values `x` of a channel that share mean and variance.
inline BatchNormChannel batch_norm(const std::vector<double>& x, const std::vector<double>& dy,
                                   double scale, double shift, double eps, bool relu = false) {
  const auto count = static_cast<double>(x.size());
  BatchNormChannel result;
  double squares = 0;
  for (const double value : x) result.mean += value / count;
  for (const double value : x) squares += (value - result.mean) * (value - result.mean);
  result.unbiased_variance = squares / (count - 1);
  const double inverse_std = 1 / std::sqrt(squares / count + eps);
  std::vector<double> d;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double y = (x[i] - result.mean) * inverse_std * scale + shift;
    result.y.push_back(relu && y <= 0 ? 0 : y);
    d.push_back(relu && y <= 0 ? 0 : dy[i]);
    result.d_shift += d[i];
    result.d_scale += d[i] * (x[i] - result.mean) * inverse_std;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double normalized = (x[i] - result.mean) * inverse_std;
    result.dx.push_back(scale * inverse_std *
                        (d[i] - result.d_shift / count - normalized * result.d_scale / count));
  }
  return result;
}

}  // namespace quern::reference
