// SPDX-License-Identifier: Apache-2.0
// bfloat16 in vectors: rounding to it, and the two orders in which the operands of tiles hold it.
//
// Bits travel as a Vector, which moves, stores and transposes them unchanged: a lane holds two
// bfloat16, the first in its lower half.
//
// Rounding is to nearest, ties to even. Denormals become zero and NaN stays NaN, as the processors'
// own instruction has it, so that all processors give the same bits.
#pragma once

#include "linalg/host/simd.hpp"

namespace quern::simd {

using Bf16 = std::uint16_t;

/// v as bfloat16 in the upper half of each lane, below it zeros.
inline LaneIndex round_to_upper_half(Register v) {
  using Bits = unsigned __attribute__((vector_size(4 * kRegisterLanes)));
  const Bits bits = reinterpret_cast<Bits>(v);
  const Bits exponent = bits & 0x7F800000u;
  const Bits nearest = bits + 0x7FFFu + (bits >> 16 & 1u);
  const Bits nan = bits | 0x400000u;
  const Bits number = exponent == 0 ? bits & 0x80000000u : nearest;
  const Bits result = v != v ? nan : number;
  return reinterpret_cast<LaneIndex>(result & 0xFFFF0000u);
}

#if defined(__AVX512BW__)
/// Has the processor the instruction that rounds two registers at once?
#if defined(__AVX512BF16__)
inline constexpr bool kRoundsTwo = true;
#else
inline const bool kRoundsTwo = [] {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512bf16") != 0;
}();
#endif

/// The values of `low` as bfloat16, then those of `high`. Only if kRoundsTwo. Written out, because
/// files compiled for all AVX-512 processors have it as well.
inline Register round_two(Register low, Register high) {
  Register result;
  asm("vcvtne2ps2bf16 %2, %1, %0" : "=v"(result) : "v"(high), "v"(low));
  return result;
}
#endif

/// Lane l: first[l], second[l].
inline Register round_pairs(Register first, Register second) {
#if defined(__AVX512BW__)
  if (kRoundsTwo) {
    using Words = short __attribute__((vector_size(64)));
    const Words two = reinterpret_cast<Words>(round_two(first, second));
    constexpr Words kOrder = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                              8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    return reinterpret_cast<Register>(_mm512_maskz_permutexvar_epi16(
        0xFFFFFFFFu, reinterpret_cast<__m512i>(kOrder), reinterpret_cast<__m512i>(two)));
  }
#endif
  using Bits = unsigned __attribute__((vector_size(4 * kRegisterLanes)));
  return reinterpret_cast<Register>(reinterpret_cast<Bits>(round_to_upper_half(first)) >> 16 |
                                    reinterpret_cast<Bits>(round_to_upper_half(second)));
}
template <class Half>
inline Pair<Half> round_pairs(Pair<Half> first, Pair<Half> second) {
  return {round_pairs(first.low, second.low), round_pairs(first.high, second.high)};
}

/// As many bfloat16 as a register has lanes. Sixteen are Bf16Lanes, as sixteen floats a Vector.
using RegisterBf16 = Bf16 __attribute__((vector_size(2 * kRegisterLanes)));
using Bf16Lanes = LanesOf<RegisterBf16, kWidth>::Type;

/// round_pairs() of what is rounded already.
inline Register join_pairs(RegisterBf16 first, RegisterBf16 second) {
#if defined(__AVX512BW__)
  return reinterpret_cast<Register>(
      __builtin_shufflevector(first, second, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23,
                              8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31));
#else
  // GCC 12 would shuffle one after the other.
  using Bits = unsigned __attribute__((vector_size(4 * kRegisterLanes)));
  return reinterpret_cast<Register>(__builtin_convertvector(first, Bits) |
                                    __builtin_convertvector(second, Bits) << 16);
#endif
}

template <class Half>
inline typename VectorOf<static_cast<int>(sizeof(Pair<Half>) / sizeof(Bf16))>::Type join_pairs(
    Pair<Half> first, Pair<Half> second) {
  return {join_pairs(first.low, second.low), join_pairs(first.high, second.high)};
}

/// The lanes of `low`, then those of `high`: lane l holds values 2 l and 2 l + 1 of them.
inline Register round_sequence(Register low, Register high) {
#if defined(__AVX512BW__)
  if (kRoundsTwo) return round_two(low, high);
#endif
  LaneIndex even{};
  LaneIndex odd{};
  for (int lane = 0; lane < kRegisterLanes; ++lane) {
    even[lane] = 2 * lane;
    odd[lane] = 2 * lane + 1;
  }
  return round_pairs(shuffle(low, high, even), shuffle(low, high, odd));
}
template <class Half>
inline Pair<Half> round_sequence(Pair<Half> low, Pair<Half> high) {
  return {round_sequence(low.low, low.high), round_sequence(high.low, high.high)};
}

/// The first value of each pair as a float, exactly.
inline Register first_of_pairs(Register pairs) {
  using Bits = unsigned __attribute__((vector_size(4 * kRegisterLanes)));
  return reinterpret_cast<Register>(reinterpret_cast<Bits>(pairs) << 16);
}
template <class Half>
inline Pair<Half> first_of_pairs(Pair<Half> pairs) {
  return {first_of_pairs(pairs.low), first_of_pairs(pairs.high)};
}

/// The second one.
inline Register second_of_pairs(Register pairs) {
  using Bits = unsigned __attribute__((vector_size(4 * kRegisterLanes)));
  return reinterpret_cast<Register>(reinterpret_cast<Bits>(pairs) & 0xFFFF0000u);
}
template <class Half>
inline Pair<Half> second_of_pairs(Pair<Half> pairs) {
  return {second_of_pairs(pairs.low), second_of_pairs(pairs.high)};
}

/// first: the first values of the pairs of `a`, then those of `b`, as pairs; second: likewise the
/// second values. Bits are moved, not rounded.
inline void separate_pairs(Register a, Register b, Register& first, Register& second) {
#if defined(__AVX512BW__)
  // Within each register first: one permutation of two registers takes longer.
  using Words = short __attribute__((vector_size(64)));
  constexpr Words kOrder = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30,
                            1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
  const auto separate = [&](Register pairs) {
    return reinterpret_cast<Register>(_mm512_maskz_permutexvar_epi16(
        0xFFFFFFFFu, reinterpret_cast<__m512i>(kOrder), reinterpret_cast<__m512i>(pairs)));
  };
  const Register of_a = separate(a);
  const Register of_b = separate(b);
  first = shuffle(of_a, of_b, LaneIndex{0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23});
  second =
      shuffle(of_a, of_b, LaneIndex{8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31});
#else
  using Bits = unsigned __attribute__((vector_size(4 * kRegisterLanes)));
  LaneIndex even{};
  LaneIndex odd{};
  for (int lane = 0; lane < kRegisterLanes; ++lane) {
    even[lane] = 2 * lane;
    odd[lane] = 2 * lane + 1;
  }
  const Bits left = reinterpret_cast<Bits>(shuffle(a, b, even));
  const Bits right = reinterpret_cast<Bits>(shuffle(a, b, odd));
  first = reinterpret_cast<Register>((left & 0xFFFFu) | right << 16);
  second = reinterpret_cast<Register>(left >> 16 | (right & 0xFFFF0000u));
#endif
}
template <class Half>
inline void separate_pairs(Pair<Half> a, Pair<Half> b, Pair<Half>& first, Pair<Half>& second) {
  separate_pairs(a.low, a.high, first.low, second.low);
  separate_pairs(b.low, b.high, first.high, second.high);
}

/// `value` in all lanes, whatever its bits mean: broadcast() may compute with it.
template <class V>
inline V broadcast_bits(float value) {
  if constexpr (kLanesOf<V> == kRegisterLanes) {
    int bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return reinterpret_cast<V>(bits - LaneIndex{});
  } else {
    using Half = typename VectorOf<kLanesOf<V> / 2>::Type;
    return {broadcast_bits<Half>(value), broadcast_bits<Half>(value)};
  }
}

/// The pair at `pair` in all lanes.
inline Vector broadcast_pair(const Bf16* pair) {
  float bits;
  __builtin_memcpy(&bits, pair, sizeof bits);
  return broadcast_bits<Vector>(bits);
}

/// Sixteen pairs from memory, and to it. `p` is even-numbered in its array.
inline Vector load_pairs(const Bf16* p) {
  return load(reinterpret_cast<const float*>(p));
}
inline void store_pairs(Bf16* p, Vector pairs) {
  store(reinterpret_cast<float*>(p), pairs);
}

/// Sixteen bfloat16 from memory.
template <class V = Bf16Lanes>
inline V load_rounded(const Bf16* p) {
  if constexpr (sizeof(V) == sizeof(RegisterBf16)) {
    V lanes;
    __builtin_memcpy(&lanes, p, sizeof lanes);
    return lanes;
  } else {
    using Half = decltype(V::low);
    return {load_rounded<Half>(p), load_rounded<Half>(p + sizeof(Half) / sizeof(Bf16))};
  }
}

/// The lanes as bfloat16, and these as floats again, exactly.
inline RegisterBf16 round_lanes(Register v) {
#if defined(__AVX512BW__)
  if (kRoundsTwo) {
    RegisterBf16 rounded;
    asm("vcvtneps2bf16 %1, %0" : "=v"(rounded) : "v"(v));
    return rounded;
  }
#endif
  using Bits = unsigned __attribute__((vector_size(4 * kRegisterLanes)));
  return __builtin_convertvector(reinterpret_cast<Bits>(round_to_upper_half(v)) >> 16,
                                 RegisterBf16);
}
template <class Half>
inline auto round_lanes(Pair<Half> v) {
  return Pair<decltype(round_lanes(v.low))>{round_lanes(v.low), round_lanes(v.high)};
}
inline Register widen(RegisterBf16 rounded) {
  using Bits = unsigned __attribute__((vector_size(4 * kRegisterLanes)));
  return reinterpret_cast<Register>(__builtin_convertvector(rounded, Bits) << 16);
}
template <class Half>
inline auto widen(Pair<Half> rounded) {
  return Pair<decltype(widen(rounded.low))>{widen(rounded.low), widen(rounded.high)};
}

/// Stores the lanes as bfloat16 that follow each other.
inline void store_rounded(Bf16* p, Register v) {
  const RegisterBf16 rounded = round_lanes(v);
  __builtin_memcpy(p, &rounded, sizeof rounded);
}
template <class Half>
inline void store_rounded(Bf16* p, Pair<Half> v) {
  store_rounded(p, v.low);
  store_rounded(p + kLanesOf<Half>, v.high);
}

}  // namespace quern::simd
