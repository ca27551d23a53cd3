// SPDX-License-Identifier: Apache-2.0
// Sixteen floats as one value: one AVX-512 register, two of AVX2, or four of SSE or NEON. The
// arithmetic per element, and so every result, is the same on all processors with fused
// multiply-add.
//
// Registers are GCC's and Clang's vector extension. A vector type wider than a register would work
// as well, but the compiler keeps such a value in memory: ten times slower. Hence Pair.
//
// Only host micro-kernels include this file. It must stay free of Kokkos and of the standard
// library, so that a micro-kernel can be compiled once per processor type.
#pragma once

#include <cstdint>

#if defined(__AVX__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

/// Before a loop over registers whose number the compiler knows, at most 32: writes it out. A loop
/// would index the registers, which then lie in memory throughout the function.
#if defined(__clang__)
#define QUERN_UNROLL _Pragma("clang loop unroll(full)")
#else
#define QUERN_UNROLL _Pragma("GCC unroll 32")
#endif

namespace quern::simd {

#if defined(__AVX512F__)
inline constexpr int kRegisterLanes = 16;
#elif defined(__AVX__)
inline constexpr int kRegisterLanes = 8;
#else
inline constexpr int kRegisterLanes = 4;
#endif

using Register = float __attribute__((vector_size(4 * kRegisterLanes)));
/// One in memory, on any float. A typedef: Clang drops the alignment of an alias declaration.
// NOLINTNEXTLINE(modernize-use-using)
typedef float UnalignedRegister
    __attribute__((vector_size(4 * kRegisterLanes), aligned(4), may_alias));
/// The lanes of two registers by number: those of the second follow those of the first.
using LaneIndex = int __attribute__((vector_size(4 * kRegisterLanes)));

/// The register whose lane l is lane lanes[l] of a and b.
inline Register shuffle(Register a, Register b, LaneIndex lanes) {
#if defined(__clang__) && defined(__AVX512F__)
  return _mm512_permutex2var_ps(a, reinterpret_cast<__m512i>(lanes), b);
#elif defined(__clang__)  // has a builtin for numbers that are template arguments only
  Register chosen{};
  for (int l = 0; l < kRegisterLanes; ++l) {
    chosen[l] = lanes[l] < kRegisterLanes ? a[lanes[l]] : b[lanes[l] - kRegisterLanes];
  }
  return chosen;
#else
  return __builtin_shuffle(a, b, lanes);
#endif
}

/// Two halves that are always treated alike. Like a Register it is not initialised by itself:
/// Pair{} is zero.
template <class Half>
struct Pair {
  Half low;
  Half high;

  friend Pair operator+(Pair a, Pair b) { return {a.low + b.low, a.high + b.high}; }
  friend Pair operator-(Pair a, Pair b) { return {a.low - b.low, a.high - b.high}; }
  friend Pair operator*(Pair a, Pair b) { return {a.low * b.low, a.high * b.high}; }
  friend Pair operator*(Pair a, float b) { return {a.low * b, a.high * b}; }
  Pair& operator+=(Pair b) {
    low += b.low;
    high += b.high;
    return *this;
  }
};

/// Lanes in as many of a kind of register as they take, each with kRegisterLanes.
template <class OneRegister, int Lanes>
struct LanesOf {
  using Type = Pair<typename LanesOf<OneRegister, Lanes / 2>::Type>;
};
template <class OneRegister>
struct LanesOf<OneRegister, kRegisterLanes> {
  using Type = OneRegister;
};
template <int Lanes>
using VectorOf = LanesOf<Register, Lanes>;

/// Floats of a Vector: quern::kLanes, which this file does not see (asserted in
/// linalg/host/gemm.cpp).
inline constexpr int kWidth = 16;

using Vector = VectorOf<kWidth>::Type;

template <class V>
inline constexpr int kLanesOf = static_cast<int>(sizeof(V) / sizeof(float));

template <class V = Vector>
inline V load(const float* p) {
  if constexpr (kLanesOf<V> == kRegisterLanes) {
    return *reinterpret_cast<const UnalignedRegister*>(p);
  } else {
    using Half = typename VectorOf<kLanesOf<V> / 2>::Type;
    return {load<Half>(p), load<Half>(p + kLanesOf<Half>)};
  }
}

/// GCC drops calls of a function that does nothing but prefetch, unless it has a statement that is
/// volatile. To Clang that would be a barrier for memory.
inline void keep_prefetches() {
#if !defined(__clang__)
  asm volatile("");
#endif
}
/// Asks for the cache line at `p`: to read it, to write it, or for the second-level cache.
inline void prefetch(const void* p) {
  keep_prefetches();
  __builtin_prefetch(p);
}
inline void prefetch_to_write(const void* p) {
  keep_prefetches();
  __builtin_prefetch(p, 1);
}
inline void prefetch_to_second_level(const void* p) {
  keep_prefetches();
  __builtin_prefetch(p, 0, 2);
}

/// Sixteen bytes (of a register: as many as it has lanes) as floats.
template <class V = Vector>
inline V load_bytes(const std::uint8_t* p) {
  if constexpr (kLanesOf<V> == kRegisterLanes) {
#if defined(__AVX512F__)
    // With a mask of all lanes: GCC 12 warns of what the plain ones leave undefined.
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm512_maskz_cvtepi32_ps(0xffff, _mm512_maskz_cvtepu8_epi32(0xffff, bytes));
#elif defined(__AVX2__)
    return _mm256_cvtepi32_ps(
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
#else
    V floats;
    for (int lane = 0; lane < kRegisterLanes; ++lane) floats[lane] = static_cast<float>(p[lane]);
    return floats;
#endif
  } else {
    using Half = typename VectorOf<kLanesOf<V> / 2>::Type;
    return {load_bytes<Half>(p), load_bytes<Half>(p + kLanesOf<Half>)};
  }
}

/// A register of any bits, from any byte on. A copy by memcpy would go through smaller registers.
inline Register load_bits(const void* p) {
  // NOLINTNEXTLINE(modernize-use-using)
  typedef float Bits __attribute__((vector_size(4 * kRegisterLanes), aligned(1), may_alias));
  return *static_cast<const Bits*>(p);
}

/// Byte `Number` of each lane, 0 the lowest, as a float.
template <int Number>
inline Register byte_of_lanes(Register v) {
  using Bits = unsigned __attribute__((vector_size(4 * kRegisterLanes)));
  const Bits byte = reinterpret_cast<Bits>(v) >> (8 * Number) & 0xFFu;
  return __builtin_convertvector(reinterpret_cast<LaneIndex>(byte), Register);
}

/// v, a Register or LaneIndex, which the compiler shall take as it is: it may not load it anew for
/// each use (a load for every product is one too many), nor go back to what it was made of.
template <class V>
inline V in_register(V v) {
  static_assert(sizeof(V) == sizeof(Register));
#if defined(__AVX512F__)
  asm("" : "+v"(v));
#elif defined(__SSE__)
  asm("" : "+x"(v));
#endif
  return v;
}

/// a b + c, fused where the processor can: not left to the compiler, which fuses in some places and
/// at some optimisation levels only.
inline Register multiply_add(Register a, Register b, Register c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#elif defined(__aarch64__)
  return reinterpret_cast<Register>(vfmaq_f32(reinterpret_cast<float32x4_t>(c),
                                              reinterpret_cast<float32x4_t>(a),
                                              reinterpret_cast<float32x4_t>(b)));
#else
  return a * b + c;
#endif
}
template <class Half>
inline Pair<Half> multiply_add(Pair<Half> a, Pair<Half> b, Pair<Half> c) {
  return {multiply_add(a.low, b.low, c.low), multiply_add(a.high, b.high, c.high)};
}

inline void store(float* p, Register v) {
  *reinterpret_cast<UnalignedRegister*>(p) = v;
}

template <class Half>
inline void store(float* p, Pair<Half> v) {
  store(p, v.low);
  store(p + kLanesOf<Half>, v.high);
}

/// Stores the first `count` lanes (1 to all).
inline void store_first(float* p, Register v, int count) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << count) - 1u), v);
#else
  for (int lane = 0; lane < count; ++lane) p[lane] = v[lane];
#endif
}

template <class Half>
inline void store_first(float* p, Pair<Half> v, int count) {
  constexpr int kHalf = kLanesOf<Half>;
  if (count <= kHalf) {
    store_first(p, v.low, count);
  } else {
    store(p, v.low);
    store_first(p + kHalf, v.high, count - kHalf);
  }
}

/// v where it is above 0 or not a number, else 0.
inline Register relu(Register v) {
  return v <= 0 ? Register{} : v;
}
template <class Half>
inline Pair<Half> relu(Pair<Half> v) {
  return {relu(v.low), relu(v.high)};
}

/// v where `mask` is above 0 or not a number, else 0: the gradient of relu, whose output `mask` is.
inline Register relu_backward(Register mask, Register v) {
  return mask <= 0 ? Register{} : v;
}
template <class Half>
inline Pair<Half> relu_backward(Pair<Half> mask, Pair<Half> v) {
  return {relu_backward(mask.low, v.low), relu_backward(mask.high, v.high)};
}

/// 1, -1 or 0 by the sign of v; what is not a number stays so.
inline Register sign(Register v) {
  return v > 0 ? Register{} + 1.0f : (v < 0 ? Register{} - 1.0f : v);
}
template <class Half>
inline Pair<Half> sign(Pair<Half> v) {
  return {sign(v.low), sign(v.high)};
}

/// v, at most limit and at least -limit; what is not a number stays so.
inline Register clamp(Register v, float limit) {
  const Register most = Register{} + limit;
  return v > most ? most : (v < -most ? -most : v);
}
template <class Half>
inline Pair<Half> clamp(Pair<Half> v, float limit) {
  return {clamp(v.low, limit), clamp(v.high, limit)};
}

// Of AVX-512 by name: the compiler would make vectors of masks, and masks of them again.
#if defined(__AVX512F__)

/// relu(v). `active`: the lanes that it passes on, above 0 or not a number.
inline Register relu(Register v, unsigned& active) {
  const __mmask16 lanes = _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NLE_UQ);
  active = lanes;
  return _mm512_maskz_mov_ps(lanes, v);
}
/// The lanes in which `value` takes the place of `best` in a maximum: above it or not a number.
inline unsigned lanes_that_replace(Register value, Register best) {
  return _mm512_cmp_ps_mask(value, best, _CMP_GT_OQ) |
         _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
}
/// a in the lanes whose bit is set, else b.
inline Register select_lanes(unsigned bits, Register a, Register b) {
  return _mm512_mask_mov_ps(b, static_cast<__mmask16>(bits), a);
}
/// `value` in the lanes_that_replace(value, best), else `best`.
inline Register larger(Register value, Register best) {
  return select_lanes(lanes_that_replace(value, best), value, best);
}

#else

/// Bit l: the condition holds in lane l (all bits of the lane are set, or none).
inline unsigned lane_bits(LaneIndex condition) {
#if defined(__AVX__)
  return static_cast<unsigned>(_mm256_movemask_ps(reinterpret_cast<__m256>(condition)));
#else
  unsigned bits = 0;
  for (int lane = 0; lane < kRegisterLanes; ++lane) bits |= (condition[lane] & 1u) << lane;
  return bits;
#endif
}

inline Register relu(Register v, unsigned& active) {
  const LaneIndex above = ~(v <= 0);
  active = lane_bits(above);
  return above != 0 ? v : Register{};
}
inline unsigned lanes_that_replace(Register value, Register best) {
  return lane_bits((value > best) | (value != value));
}
inline Register select_lanes(unsigned bits, Register a, Register b) {
  LaneIndex bit{};
  for (int lane = 0; lane < kRegisterLanes; ++lane) bit[lane] = 1 << lane;
  return (static_cast<int>(bits) & bit) != 0 ? a : b;
}
inline Register larger(Register value, Register best) {
  return ((value > best) | (value != value)) ? value : best;
}

#endif

template <class Half>
inline Pair<Half> relu(Pair<Half> v, unsigned& active) {
  unsigned high;
  const Pair<Half> positive{relu(v.low, active), relu(v.high, high)};
  active |= high << kLanesOf<Half>;
  return positive;
}
template <class Half>
inline unsigned lanes_that_replace(Pair<Half> value, Pair<Half> best) {
  return lanes_that_replace(value.low, best.low) | lanes_that_replace(value.high, best.high)
                                                       << kLanesOf<Half>;
}
template <class Half>
inline Pair<Half> select_lanes(unsigned bits, Pair<Half> a, Pair<Half> b) {
  return {select_lanes(bits, a.low, b.low), select_lanes(bits >> kLanesOf<Half>, a.high, b.high)};
}

template <class V = Vector>
inline V broadcast(float value) {
  if constexpr (kLanesOf<V> == kRegisterLanes) {
    return value - Register{};
  } else {
    using Half = typename VectorOf<kLanesOf<V> / 2>::Type;
    return {broadcast<Half>(value), broadcast<Half>(value)};
  }
}

/// Sum over the lanes in a fixed binary tree: of the 16 lanes of a Vector, l + (l + 8), then
/// + 4, + 2, + 1.
inline float sum_lanes(Register v) {
  float lanes[kRegisterLanes];
  store(lanes, v);
  for (int half = kRegisterLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}
template <class Half>
inline float sum_lanes(Pair<Half> v) {
  return sum_lanes(v.low + v.high);
}

/// One round of adding the lanes of many vectors: of two vectors that consist of groups of 2 Width
/// lanes, the vector whose groups of Width lanes hold lane l + lane (l + Width) of a's groups, then
/// of b's.
template <int Width>
inline Register fold_lanes(Register a, Register b) {
  constexpr int kHalf = kRegisterLanes / 2;
  LaneIndex low{};
  LaneIndex high{};
  for (int lane = 0; lane < kRegisterLanes; ++lane) {
    // The first half of the result comes from a, the other from b.
    const int group = lane % kHalf / Width;
    low[lane] = lane / kHalf * kRegisterLanes + group * 2 * Width + lane % Width;
    high[lane] = low[lane] + Width;
  }
  return shuffle(a, b, low) + shuffle(a, b, high);
}
template <int Width, class Half>
inline Pair<Half> fold_lanes(Pair<Half> a, Pair<Half> b) {
  if constexpr (Width == kLanesOf<Half>) {
    return {a.low + a.high, b.low + b.high};
  } else {
    return {fold_lanes<Width>(a.low, a.high), fold_lanes<Width>(b.low, b.high)};
  }
}

/// sums[i] = sum_lanes(values[i]) for i < Count, with the same bits: sixteen vectors are folded
/// into one side by side.
template <int Count>
inline void sum_lanes(const Vector* values, float* sums) {
  for (int begin = 0; begin < Count; begin += 16) {
    Vector part[16];
    for (int i = 0; i < 16; ++i) part[i] = begin + i < Count ? values[begin + i] : Vector{};
    for (int i = 0; i < 8; ++i) part[i] = fold_lanes<8>(part[2 * i], part[2 * i + 1]);
    for (int i = 0; i < 4; ++i) part[i] = fold_lanes<4>(part[2 * i], part[2 * i + 1]);
    for (int i = 0; i < 2; ++i) part[i] = fold_lanes<2>(part[2 * i], part[2 * i + 1]);
    const int left = Count - begin;
    store_first(sums + begin, fold_lanes<1>(part[0], part[1]), left < 16 ? left : 16);
  }
}

// Tile sizes that fill, and do not overflow, the register file.
//   kRows x kVectors                  matrix products
//   kTallRows                         the same, where a tile is at most half as wide
//   kBlockVectors                     sums of blocks, which end with storing a tile: smaller ones,
//                                     as Zen 3 stalls on storing 12 registers at once, not on 8
//   kConvChannels x kConvColumns      convolution: channels times neighbouring pixels
//   kWeightTile                       convolution: weight gradients held at once, in registers
//   kChannelsOfPool2, kChannelsOfPool3  convolution with its pool of 2 x 2 or 3 x 3: channels whose
//                                     windows are held at once, in registers
#if defined(__AVX512F__)
inline constexpr int kRows = 6;
inline constexpr int kVectors = 4;
inline constexpr int kTallRows = 12;
inline constexpr int kBlockVectors = 16;
inline constexpr int kConvChannels = 8;
inline constexpr int kConvColumns = 3;
inline constexpr int kWeightTile = 25;
inline constexpr int kChannelsOfPool2 = 4;
inline constexpr int kChannelsOfPool3 = 2;
#elif defined(__ARM_NEON)
inline constexpr int kRows = 6;
inline constexpr int kVectors = 1;
inline constexpr int kTallRows = 6;
inline constexpr int kBlockVectors = 4;
inline constexpr int kConvChannels = 6;
inline constexpr int kConvColumns = 1;
inline constexpr int kWeightTile = 20;
inline constexpr int kChannelsOfPool2 = 4;
inline constexpr int kChannelsOfPool3 = 2;
#elif defined(__AVX__)
inline constexpr int kRows = 6;
inline constexpr int kVectors = 1;
inline constexpr int kTallRows = 6;
inline constexpr int kBlockVectors = 4;
inline constexpr int kConvChannels = 6;
inline constexpr int kConvColumns = 1;
inline constexpr int kWeightTile = 12;
inline constexpr int kChannelsOfPool2 = 3;
inline constexpr int kChannelsOfPool3 = 1;
#else
inline constexpr int kRows = 3;
inline constexpr int kVectors = 1;
inline constexpr int kTallRows = 3;
inline constexpr int kBlockVectors = 2;
inline constexpr int kConvChannels = 3;
inline constexpr int kConvColumns = 1;
inline constexpr int kWeightTile = 12;
inline constexpr int kChannelsOfPool2 = 3;
inline constexpr int kChannelsOfPool3 = 1;
#endif

}  // namespace quern::simd
