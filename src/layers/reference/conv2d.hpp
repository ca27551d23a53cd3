// SPDX-License-Identifier: Apache-2.0
// Reference implementation of layers/conv2d.hpp: plain loops over logical indices, in double.
#pragma once

#include <vector>

namespace quern::reference {

struct Conv2dShape {
  int S, C, H, W, O, K, stride, padding;
  int out_height() const { return (H + 2 * padding - K) / stride + 1; }
  int out_width() const { return (W + 2 * padding - K) / stride + 1; }
  std::size_t x_size() const { return static_cast<std::size_t>(S) * C * H * W; }
  std::size_t y_size() const {
    return static_cast<std::size_t>(S) * O * out_height() * out_width();
  }
  std::size_t weight_size() const { return static_cast<std::size_t>(O) * C * K * K; }
};

struct Conv2dGradients {
  std::vector<double> dx, weight, bias;
};

/// Calls f(index of x, index of weight, index of y) for every product in the sum.
template <class F>
void for_each_conv2d_product(const Conv2dShape& d, F&& f) {
  for (int s = 0; s < d.S; ++s)
    for (int o = 0; o < d.O; ++o)
      for (int oh = 0; oh < d.out_height(); ++oh)
        for (int ow = 0; ow < d.out_width(); ++ow)
          for (int c = 0; c < d.C; ++c)
            for (int kh = 0; kh < d.K; ++kh)
              for (int kw = 0; kw < d.K; ++kw) {
                const int h = oh * d.stride + kh - d.padding;
                const int w = ow * d.stride + kw - d.padding;
                if (h < 0 || h >= d.H || w < 0 || w >= d.W) continue;
                f(((s * d.C + c) * d.H + h) * d.W + w, ((o * d.C + c) * d.K + kh) * d.K + kw,
                  ((s * d.O + o) * d.out_height() + oh) * d.out_width() + ow);
              }
}

inline std::vector<double> conv2d_forward(const Conv2dShape& d, const std::vector<float>& x,
                                          const std::vector<float>& weight,
                                          const std::vector<float>& bias) {
  std::vector<double> y(d.y_size());
  const std::size_t pixels = static_cast<std::size_t>(d.out_height()) * d.out_width();
  for (std::size_t j = 0; j < y.size(); ++j) y[j] = bias[j / pixels % d.O];
  for_each_conv2d_product(d, [&](int i, int k, int j) { y[j] += double{weight[k]} * x[i]; });
  return y;
}

inline Conv2dGradients conv2d_backward(const Conv2dShape& d, const std::vector<float>& x,
                                       const std::vector<float>& weight,
                                       const std::vector<float>& dy) {
  Conv2dGradients gradients{std::vector<double>(d.x_size()), std::vector<double>(d.weight_size()),
                            std::vector<double>(static_cast<std::size_t>(d.O))};
  const std::size_t pixels = static_cast<std::size_t>(d.out_height()) * d.out_width();
  for (std::size_t j = 0; j < dy.size(); ++j) gradients.bias[j / pixels % d.O] += dy[j];
  for_each_conv2d_product(d, [&](int i, int k, int j) {
    gradients.weight[k] += double{dy[j]} * x[i];
    gradients.dx[i] += double{dy[j]} * weight[k];
  });
  return gradients;
}

}  // namespace quern::reference
