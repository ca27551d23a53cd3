// SPDX-License-Identifier: Apache-2.0
// Group normalisation of one sample [channels, pixels], in double. Slow and obvious: each set of
// channels is a layer normalisation.
#pragma once

#include <cstddef>

#include "layers/reference/layer_norm.hpp"

namespace quern::reference {

/// `dy` is the gradient in front of a ReLU; weight and bias are of the channels.
inline LayerNormSample group_norm(const std::vector<double>& x, const std::vector<double>& dy,
                                  const std::vector<double>& weight,
                                  const std::vector<double>& bias, int sets, double eps) {
  const std::size_t channels = weight.size();
  const std::size_t pixels = x.size() / channels;
  const std::size_t of_set = channels / static_cast<std::size_t>(sets);
  LayerNormSample result;
  result.d_weight.resize(channels);
  result.d_bias.resize(channels);
  for (std::size_t first = 0; first < channels; first += of_set) {
    std::vector<double> set_x;
    std::vector<double> set_dy;
    std::vector<double> set_weight;
    std::vector<double> set_bias;
    for (std::size_t c = first; c < first + of_set; ++c) {
      for (std::size_t p = 0; p < pixels; ++p) {
        set_x.push_back(x[c * pixels + p]);
        set_dy.push_back(dy[c * pixels + p]);
        set_weight.push_back(weight[c]);
        set_bias.push_back(bias[c]);
      }
    }
    const LayerNormSample set = layer_norm(set_x, set_dy, set_weight, set_bias, eps);
    result.y.insert(result.y.end(), set.y.begin(), set.y.end());
    result.dx.insert(result.dx.end(), set.dx.begin(), set.dx.end());
    for (std::size_t i = 0; i < set_x.size(); ++i) {
      result.d_weight[first + i / pixels] += set.d_weight[i];
      result.d_bias[first + i / pixels] += set.d_bias[i];
    }
  }
  return result;
}

}  // namespace quern::reference
