// SPDX-License-Identifier: Apache-2.0
// Images in memory are floats (Layout::nchw16n) or bfloat16 (nchw16n_bf16); both lie behind a
// pointer to float. Kernels that take either are written once, for the type that a pointer has
// here.
#pragma once

#include "linalg/host/simd_bf16.hpp"

namespace quern::host {

/// Calls f with the array as what it holds.
template <class F>
void with_values(const float* array, bool is_rounded, const F& f) {
  if (is_rounded)
    f(reinterpret_cast<const simd::Bf16*>(array));
  else
    f(array);
}
template <class F>
void with_values(float* array, bool is_rounded, const F& f) {
  if (is_rounded)
    f(reinterpret_cast<simd::Bf16*>(array));
  else
    f(array);
}

/// Floats that are rounded when they are read.
struct RoundedFloats {
  const float* data;

  RoundedFloats operator+(std::int64_t places) const { return {data + places}; }
};

/// Calls f with the array as what it holds, or as RoundedFloats where it holds floats.
template <class F>
void with_rounded_values(const float* array, bool is_rounded, const F& f) {
  if (is_rounded)
    f(reinterpret_cast<const simd::Bf16*>(array));
  else
    f(RoundedFloats{array});
}

/// Sixteen values, as they are stored.
inline simd::Vector load_values(const float* p) {
  return simd::load(p);
}
inline simd::Bf16Lanes load_values(const simd::Bf16* p) {
  return simd::load_rounded(p);
}

/// Sixteen values as floats.
inline simd::Vector load_floats(const float* p) {
  return simd::load(p);
}
inline simd::Vector load_floats(const simd::Bf16* p) {
  return simd::widen(simd::load_rounded(p));
}
inline simd::Vector load_floats(RoundedFloats p) {
  return simd::widen(simd::round_lanes(simd::load(p.data)));
}

/// Sixteen pairs, rounded if they are not yet.
inline simd::Vector pairs_of(simd::Vector first, simd::Vector second) {
  return simd::round_pairs(first, second);
}
inline simd::Vector pairs_of(simd::Bf16Lanes first, simd::Bf16Lanes second) {
  return simd::join_pairs(first, second);
}

/// Stores sixteen values, rounded if they are to be bfloat16.
inline void store_values(float* p, simd::Vector v) {
  simd::store(p, v);
}
inline void store_values(simd::Bf16* p, simd::Vector v) {
  simd::store_rounded(p, v);
}

}  // namespace quern::host
