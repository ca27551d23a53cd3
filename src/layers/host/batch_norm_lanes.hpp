// SPDX-License-Identifier: Apache-2.0
// Sums over the pixels of a plane in nchw16n, sixteen samples at a time.
#pragma once

#include <cstdint>

#include "linalg/host/simd.hpp"

namespace quern::host {

inline simd::Vector negative(simd::Vector v) {
  return v * simd::broadcast(-1.0f);
}

/// Count sums, each in so many chains of 16 lanes.
template <int Chains, int Count>
struct LaneSums {
  simd::Vector chain[Count][Chains] = {};

  /// The chains are added in pairs, then the lanes in their tree.
  float total(int i) const {
    simd::Vector sum = chain[i][0] + chain[i][1];
    if constexpr (Chains == 4) sum += chain[i][2] + chain[i][3];
    return simd::sum_lanes(sum);
  }
};

/// Adds the values that term(place, values) gives for every pixel; pixel p goes to chain
/// p % Chains. Masked: only the lanes whose bit is set count.
template <int Chains, bool Masked, int Count, class Term>
void add_plane(LaneSums<Chains, Count>& sums, std::int64_t begin, int pixels, unsigned lanes,
               const Term& term) {
  const auto add = [&](int p, int chain) {
    simd::Vector values[Count];
    term(begin + std::int64_t{p} * simd::kWidth, values);
    for (int i = 0; i < Count; ++i)
      sums.chain[i][chain] +=
          Masked ? simd::select_lanes(lanes, values[i], simd::Vector{}) : values[i];
  };
  int p = 0;
  for (; p + Chains <= pixels; p += Chains)
    for (int j = 0; j < Chains; ++j) add(p + j, j);
  for (int j = 0; j < Chains; ++j)
    if (p + j < pixels) add(p + j, j);
}

/// Stores sixteen channels of which `count` exist, zeros in the place of the others.
inline void store_channels(float* p, simd::Vector v, int count) {
  const unsigned lanes = count < simd::kWidth ? (1u << count) - 1 : 0xffff;
  simd::store(p, simd::select_lanes(lanes, v, simd::Vector{}));
}

}  // namespace quern::host
