// SPDX-License-Identifier: Apache-2.0
// Reference implementation of host/conv2d_winograd.hpp: the matrices of the paper, written out. The
// same floats: all factors of the matrices are powers of two, and sums have the kernels' order.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "layers/reference/conv2d.hpp"

namespace quern::reference {

template <std::size_t Rows, std::size_t Columns>
using SmallMatrix = std::array<std::array<float, Columns>, Rows>;

inline constexpr SmallMatrix<4, 4> kWinogradBt{
    {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}}};
inline constexpr SmallMatrix<4, 3> kWinogradG{
    {{1, 0, 0}, {0.5f, 0.5f, 0.5f}, {0.5f, -0.5f, 0.5f}, {0, 0, 1}}};
inline constexpr SmallMatrix<2, 4> kWinogradAt{{{1, 1, 1, 0}, {0, 1, -1, -1}}};

/// M X M^T: the columns of X first.
template <std::size_t Rows, std::size_t Size>
SmallMatrix<Rows, Rows> on_both_sides(const SmallMatrix<Rows, Size>& m,
                                      const SmallMatrix<Size, Size>& x) {
  SmallMatrix<Rows, Size> half{};
  for (std::size_t i = 0; i < Rows; ++i)
    for (std::size_t j = 0; j < Size; ++j)
      for (std::size_t k = 0; k < Size; ++k) half[i][j] += m[i][k] * x[k][j];
  SmallMatrix<Rows, Rows> product{};
  for (std::size_t i = 0; i < Rows; ++i)
    for (std::size_t j = 0; j < Rows; ++j)
      for (std::size_t k = 0; k < Size; ++k) product[i][j] += half[i][k] * m[j][k];
  return product;
}

/// y [S, O, H_out, W_out] for a kernel of 3 x 3 pixels with stride 1. weight(o, c, kh, kw).
template <class Weight>
std::vector<float> conv2d_winograd(const Conv2dShape& d, const std::vector<float>& x,
                                   const Weight& weight) {
  std::vector<float> y(d.y_size());
  for (int s = 0; s < d.S; ++s)
    for (int o = 0; o < d.O; ++o)
      for (int row = 0; row < d.out_height(); row += 2)
        for (int column = 0; column < d.out_width(); column += 2) {
          SmallMatrix<4, 4> m{};
          for (int c = 0; c < d.C; ++c) {
            SmallMatrix<4, 4> pixels{};
            for (int i = 0; i < 4; ++i)
              for (int j = 0; j < 4; ++j) {
                const int h = row - d.padding + i;
                const int w = column - d.padding + j;
                if (h < 0 || h >= d.H || w < 0 || w >= d.W) continue;
                pixels[i][j] = x[((s * d.C + c) * d.H + h) * d.W + w];
              }
            SmallMatrix<3, 3> g;
            for (int i = 0; i < 3; ++i)
              for (int j = 0; j < 3; ++j) g[i][j] = weight(o, c, i, j);
            const auto v = on_both_sides(kWinogradBt, pixels);
            const auto u = on_both_sides(kWinogradG, g);
            for (int i = 0; i < 4; ++i)
              for (int j = 0; j < 4; ++j) m[i][j] = std::fma(u[i][j], v[i][j], m[i][j]);
          }
          const auto tile = on_both_sides(kWinogradAt, m);
          for (int i = 0; i < 2 && row + i < d.out_height(); ++i)
            for (int j = 0; j < 2 && column + j < d.out_width(); ++j)
              y[((s * d.O + o) * d.out_height() + row + i) * d.out_width() + column + j] =
                  tile[i][j];
        }
  return y;
}

inline std::vector<float> conv2d_winograd_forward(const Conv2dShape& d, const std::vector<float>& x,
                                                  const std::vector<float>& weight,
                                                  const std::vector<float>& bias) {
  auto y = conv2d_winograd(d, x, [&](int o, int c, int kh, int kw) {
    return weight[((o * d.C + c) * 3 + kh) * 3 + kw];
  });
  const std::size_t pixels = static_cast<std::size_t>(d.out_height()) * d.out_width();
  for (std::size_t j = 0; j < y.size(); ++j) y[j] += bias[j / pixels % d.O];
  return y;
}

/// dx: the convolution of dy with the turned kernel.
inline std::vector<float> conv2d_winograd_input_gradient(const Conv2dShape& d,
                                                         const std::vector<float>& weight,
                                                         const std::vector<float>& dy) {
  const Conv2dShape turned{d.S, d.O, d.out_height(), d.out_width(), d.C, 3, 1, 2 - d.padding};
  return conv2d_winograd(turned, dy, [&](int c, int o, int kh, int kw) {
    return weight[((o * d.C + c) * 3 + 2 - kh) * 3 + 2 - kw];
  });
}

}  // namespace quern::reference
