// SPDX-License-Identifier: Apache-2.0
#include "base/sha256_blocks.hpp"

#include <algorithm>
#include <array>
#include <bit>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "base/sha256_rounds.hpp"

namespace quern {

namespace {

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

void compress(std::uint32_t* state, const std::uint8_t* block) {
  std::uint32_t w[64];
  for (int i = 0; i < 16; ++i) w[i] = big_endian(block + 4 * i);
  for (int i = 16; i < 64; ++i) {
    const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  std::uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  std::uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kSha256Rounds[i] + w[i];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::uint32_t added[8] = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += added[i];
}

#if defined(__x86_64__)

// CPUID leaf 7: SHA; leaf 1: SSSE3 and SSE4.1. The registers are those of SSE, which every
// operating system saves.
bool has_x86_sha() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (b & (1u << 29)) == 0) return false;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_SSSE3) != 0 && (c & bit_SSE4_1) != 0;
}

// The instructions hold the state as (A, B, E, F) and (C, D, G, H), the first in the highest word.
// One of them makes two rounds: (A, B, E, F) becomes the next (C, D, G, H), so the names change
// places from call to call. Each waits for the one before it, so a processor has time for a second
// message beside the first.
template <int kMessages>
__attribute__((target("sha,sse4.1"))) void compress_x86(Sha256State* states,
                                                        const std::uint8_t* const* blocks,
                                                        std::size_t count) {
  const auto load = [](const void* from) __attribute__((target("sha,sse4.1"))) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
  };
  const __m128i to_big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  __m128i abef[kMessages];
  __m128i cdgh[kMessages];
#pragma GCC unroll 2
  for (int m = 0; m < kMessages; ++m) {
    const __m128i cdab = _mm_shuffle_epi32(load(states[m].data()), 0xB1);
    const __m128i efgh = _mm_shuffle_epi32(load(states[m].data() + 4), 0x1B);
    abef[m] = _mm_alignr_epi8(cdab, efgh, 8);
    cdgh[m] = _mm_blend_epi16(efgh, cdab, 0xF0);
  }
  for (std::size_t block = 0; block < count; ++block) {
    __m128i abef_before[kMessages];
    __m128i cdgh_before[kMessages];
    __m128i w[kMessages][4];
#pragma GCC unroll 2
    for (int m = 0; m < kMessages; ++m) {
      abef_before[m] = abef[m];
      cdgh_before[m] = cdgh[m];
#pragma GCC unroll 4
      for (std::size_t i = 0; i < 4; ++i)
        w[m][i] = _mm_shuffle_epi8(load(blocks[m] + 64 * block + 16 * i), to_big_endian);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      const __m128i round = load(&kSha256Rounds[std::size_t{4} * static_cast<std::size_t>(i)]);
#pragma GCC unroll 2
      for (int m = 0; m < kMessages; ++m) {
        const __m128i sum = _mm_add_epi32(w[m][i % 4], round);
        cdgh[m] = _mm_sha256rnds2_epu32(cdgh[m], abef[m], sum);
        abef[m] = _mm_sha256rnds2_epu32(abef[m], cdgh[m], _mm_shuffle_epi32(sum, 0x0E));
        if (i >= 12) continue;
        // The message schedule: words 4 i + 16 to 4 i + 19 take the place of 4 i to 4 i + 3.
        const __m128i last = w[m][(i + 3) % 4];
        const __m128i seven_before = _mm_alignr_epi8(last, w[m][(i + 2) % 4], 4);
        const __m128i s0 = _mm_sha256msg1_epu32(w[m][i % 4], w[m][(i + 1) % 4]);
        w[m][i % 4] = _mm_sha256msg2_epu32(_mm_add_epi32(s0, seven_before), last);
      }
    }
#pragma GCC unroll 2
    for (int m = 0; m < kMessages; ++m) {
      abef[m] = _mm_add_epi32(abef[m], abef_before[m]);
      cdgh[m] = _mm_add_epi32(cdgh[m], cdgh_before[m]);
    }
  }
#pragma GCC unroll 2
  for (int m = 0; m < kMessages; ++m) {
    const __m128i feba = _mm_shuffle_epi32(abef[m], 0x1B);
    const __m128i dchg = _mm_shuffle_epi32(cdgh[m], 0xB1);
    auto* to = reinterpret_cast<__m128i*>(states[m].data());
    _mm_storeu_si128(to, _mm_blend_epi16(feba, dchg, 0xF0));
    _mm_storeu_si128(to + 1, _mm_alignr_epi8(dchg, feba, 8));
  }
}

void compress_one_x86(std::uint32_t* state, const std::uint8_t* blocks, std::size_t count) {
  Sha256State copy;
  std::copy_n(state, copy.size(), copy.begin());
  compress_x86<1>(&copy, &blocks, count);
  std::copy_n(copy.begin(), copy.size(), state);
}

#endif

}  // namespace

void sha256_blocks_portable(std::uint32_t* state, const std::uint8_t* blocks, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) compress(state, blocks + 64 * i);
}

Sha256Blocks sha256_blocks_of_processor() {
#if defined(__x86_64__)
  if (has_x86_sha()) return compress_one_x86;
#endif
  return nullptr;
}

Sha256Blocks fastest_sha256_blocks() {
  static const Sha256Blocks fast = sha256_blocks_of_processor();
  return fast ? fast : sha256_blocks_portable;
}

const std::vector<Sha256Lanes>& sha256_lanes_of_processor() {
  static const std::vector<Sha256Lanes> all = [] {
    std::vector<Sha256Lanes> found;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
      found.push_back({16, sha256_lanes_avx512});
    if (has_x86_sha()) found.push_back({2, compress_x86<2>});
#endif
    return found;
  }();
  return all;
}

}  // namespace quern
