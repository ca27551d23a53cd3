// SPDX-License-Identifier: Apache-2.0
// Philox (base/philox.hpp) for as many counters at once as a register has lanes: the same numbers.
#pragma once

#include "linalg/host/simd.hpp"

namespace quern::simd {

using WordLanes = std::uint32_t __attribute__((vector_size(4 * kRegisterLanes)));

inline WordLanes broadcast_word(std::uint32_t word) {
  return WordLanes{} + word;
}

/// The lower and the upper halves of products of 64 bits.
struct WordProducts {
  WordLanes low;
  WordLanes high;
};

inline WordProducts multiply_words(WordLanes a, std::uint32_t b) {
#if defined(__AVX512F__)
  // Products of the even lanes and of the odd ones, of which each holds two halves side by side.
  // With a mask of all lanes: GCC 12 warns of what the plain ones leave undefined.
  const __m512i words = reinterpret_cast<__m512i>(a);
  const __m512i factor = _mm512_set1_epi32(static_cast<int>(b));
  const __m512i even = _mm512_maskz_mul_epu32(0xff, words, factor);
  const __m512i odd =
      _mm512_maskz_mul_epu32(0xff, _mm512_maskz_srli_epi64(0xff, words, 32), factor);
  return {reinterpret_cast<WordLanes>(_mm512_mask_shuffle_epi32(even, 0xaaaa, odd, _MM_PERM_CCAA)),
          reinterpret_cast<WordLanes>(_mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_DDBB))};
#elif defined(__AVX2__)
  const __m256i words = reinterpret_cast<__m256i>(a);
  const __m256i factor = _mm256_set1_epi32(static_cast<int>(b));
  const __m256i even = _mm256_mul_epu32(words, factor);
  const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(words, 32), factor);
  return {reinterpret_cast<WordLanes>(_mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa)),
          reinterpret_cast<WordLanes>(_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa))};
#else
  using Wide = std::uint64_t __attribute__((vector_size(8 * kRegisterLanes)));
  const Wide products = __builtin_convertvector(a, Wide) * std::uint64_t{b};
  return {__builtin_convertvector(products, WordLanes),
          __builtin_convertvector(products >> 32, WordLanes)};
#endif
}

/// WordLanes of a counter, or the random words that it stands for.
struct PhiloxWords {
  WordLanes word[4];
};

inline PhiloxWords philox(std::uint64_t key, PhiloxWords counter) {
  std::uint32_t key0 = static_cast<std::uint32_t>(key);
  std::uint32_t key1 = static_cast<std::uint32_t>(key >> 32);
  QUERN_UNROLL
  for (int round = 0; round < 10; ++round) {
    const WordProducts product0 = multiply_words(counter.word[0], 0xD2511F53u);
    const WordProducts product1 = multiply_words(counter.word[2], 0xCD9E8D57u);
    counter = {{product1.high ^ counter.word[1] ^ broadcast_word(key0), product1.low,
                product0.high ^ counter.word[3] ^ broadcast_word(key1), product0.low}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

}  // namespace quern::simd
