// SPDX-License-Identifier: Apache-2.0
#include "base/sha256_rounds.hpp"

#if defined(__x86_64__)

// GCC 12 takes what its own header leaves undefined on purpose for a mistake (its bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#define QUERN_AVX512 __attribute__((target("avx512f,avx512bw")))
#define QUERN_AVX512_INLINE __attribute__((target("avx512f,avx512bw"), always_inline)) inline

namespace quern {

namespace {

constexpr int kLanes = 16;

// The truth tables of vpternlog.
constexpr int kXor = 0x96;       // x ^ y ^ z
constexpr int kChoice = 0xCA;    // x ? y : z
constexpr int kMajority = 0xE8;  // of x, y, z

// rows[i] word j -> rows[j] word i: pairs of words, then of pairs, then of quarters.
QUERN_AVX512_INLINE void transpose(__m512i (&rows)[kLanes]) {
  __m512i pairs[kLanes];
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; i += 2) {
    pairs[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  // quads[4 g + w]: of the rows 4 g to 4 g + 3 the words w, 4 + w, 8 + w and 12 + w.
  __m512i quads[kLanes];
#pragma GCC unroll 4
  for (int g = 0; g < kLanes; g += 4) {
    quads[g] = _mm512_unpacklo_epi64(pairs[g], pairs[g + 2]);
    quads[g + 1] = _mm512_unpackhi_epi64(pairs[g], pairs[g + 2]);
    quads[g + 2] = _mm512_unpacklo_epi64(pairs[g + 1], pairs[g + 3]);
    quads[g + 3] = _mm512_unpackhi_epi64(pairs[g + 1], pairs[g + 3]);
  }
#pragma GCC unroll 4
  for (int w = 0; w < 4; ++w) {
    const __m512i low_even = _mm512_shuffle_i32x4(quads[w], quads[w + 4], 0x88);
    const __m512i low_odd = _mm512_shuffle_i32x4(quads[w], quads[w + 4], 0xDD);
    const __m512i high_even = _mm512_shuffle_i32x4(quads[w + 8], quads[w + 12], 0x88);
    const __m512i high_odd = _mm512_shuffle_i32x4(quads[w + 8], quads[w + 12], 0xDD);
    rows[w] = _mm512_shuffle_i32x4(low_even, high_even, 0x88);
    rows[w + 4] = _mm512_shuffle_i32x4(low_odd, high_odd, 0x88);
    rows[w + 8] = _mm512_shuffle_i32x4(low_even, high_even, 0xDD);
    rows[w + 12] = _mm512_shuffle_i32x4(low_odd, high_odd, 0xDD);
  }
}

template <int kFirst, int kSecond, int kThird>
QUERN_AVX512_INLINE __m512i turned(__m512i x) {
  return _mm512_ternarylogic_epi32(_mm512_ror_epi32(x, kFirst), _mm512_ror_epi32(x, kSecond),
                                   _mm512_ror_epi32(x, kThird), kXor);
}

template <int kFirst, int kSecond, int kShift>
QUERN_AVX512_INLINE __m512i mixed(__m512i x) {
  return _mm512_ternarylogic_epi32(_mm512_ror_epi32(x, kFirst), _mm512_ror_epi32(x, kSecond),
                                   _mm512_srli_epi32(x, kShift), kXor);
}

}  // namespace

QUERN_AVX512 void sha256_lanes_avx512(Sha256State* states, const std::uint8_t* const* blocks,
                                      std::size_t count) {
  alignas(64) std::uint32_t words[8][kLanes];
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t lane = 0; lane < kLanes; ++lane) words[i][lane] = states[lane][i];
  __m512i s[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) s[i] = _mm512_load_si512(words[i]);
  const __m512i to_big_endian =
      _mm512_broadcast_i32x4(_mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203));
  for (std::size_t block = 0; block < count; ++block) {
    __m512i w[kLanes];
#pragma GCC unroll 16
    for (int lane = 0; lane < kLanes; ++lane)
      w[lane] = _mm512_loadu_si512(blocks[lane] + 64 * block);
    transpose(w);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) w[i] = _mm512_shuffle_epi8(w[i], to_big_endian);
    __m512i a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];
#pragma GCC unroll 64
    for (int i = 0; i < 64; ++i) {
      if (i >= 16) {
        const __m512i sum = _mm512_add_epi32(w[i % 16], w[(i + 9) % 16]);
        const __m512i mix =
            _mm512_add_epi32(mixed<7, 18, 3>(w[(i + 1) % 16]), mixed<17, 19, 10>(w[(i + 14) % 16]));
        w[i % 16] = _mm512_add_epi32(sum, mix);
      }
      const __m512i round =
          _mm512_set1_epi32(static_cast<int>(kSha256Rounds[static_cast<std::size_t>(i)]));
      const __m512i before = _mm512_add_epi32(h, _mm512_add_epi32(w[i % 16], round));
      const __m512i t1 = _mm512_add_epi32(
          before,
          _mm512_add_epi32(turned<6, 11, 25>(e), _mm512_ternarylogic_epi32(e, f, g, kChoice)));
      const __m512i t2 =
          _mm512_add_epi32(turned<2, 13, 22>(a), _mm512_ternarylogic_epi32(a, b, c, kMajority));
      h = g;
      g = f;
      f = e;
      e = _mm512_add_epi32(d, t1);
      d = c;
      c = b;
      b = a;
      a = _mm512_add_epi32(t1, t2);
    }
    const __m512i added[8] = {a, b, c, d, e, f, g, h};
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) s[i] = _mm512_add_epi32(s[i], added[i]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) _mm512_store_si512(words[i], s[i]);
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t lane = 0; lane < kLanes; ++lane) states[lane][i] = words[i][lane];
}

}  // namespace quern

#endif
