// SPDX-License-Identifier: Apache-2.0
// The shuffle: a permutation of the sample indices with random access, so that any rank asks for
// any position of any epoch, and resuming needs only (seed, epoch, cursor).
#pragma once

#include <cstdint>

#include "base/macros.hpp"
#include "base/philox.hpp"

namespace quern {

/// A bijection of [0, count) for every (seed, epoch): an alternating Feistel network whose round
/// function is Philox, over the smallest power of two that holds `count`; indices that land outside
/// walk on until they are inside (cycle walking), less than two evaluations on average.
/// Luby, Rackoff, SIAM J. Comput. 17 (1988); Black, Rogaway, "Ciphers with arbitrary finite
/// domains", CT-RSA 2002.
class Permutation {
 public:
  /// `count` >= 1.
  QUERN_INLINE_FUNCTION Permutation(std::uint64_t seed, std::uint32_t epoch, std::int64_t count)
      : seed_(seed), epoch_(epoch), count_(static_cast<std::uint64_t>(count)) {
    int bits = 0;
    while (bits < 63 && (std::uint64_t{1} << bits) < count_) ++bits;
    rounds_ = bits < kSmallBits ? 24 : 6;
    right_bits_ = (bits + 1) / 2;
    left_mask_ = low_bits(bits / 2);
    right_mask_ = low_bits(right_bits_);
  }

  /// The samples at up to kWidth positions of the epoch, side by side so that a CPU can use its
  /// vector unit: sample[i] = (*this)(position[i]). `sample` may be `position`.
  static constexpr int kWidth = 32;
  QUERN_INLINE_FUNCTION void map(const std::int64_t* position, std::int64_t* sample,
                                 int count = kWidth) const {
    std::uint64_t index[kWidth] = {};
    int place[kWidth];  // in `sample`, of those that walk on
    for (int i = 0; i < count; ++i) {
      index[i] = static_cast<std::uint64_t>(position[i]);
      place[i] = i;
    }
    while (count > kFew) {
      if (count > kWidth / 2)
        scramble_side_by_side<kWidth>(index);
      else
        scramble_side_by_side<kWidth / 2>(index);
      int outside = 0;
      for (int i = 0; i < count; ++i) {
        if (index[i] < count_) {
          sample[place[i]] = static_cast<std::int64_t>(index[i]);
        } else {
          index[outside] = index[i];
          place[outside++] = place[i];
        }
      }
      count = outside;
    }
    for (int i = 0; i < count; ++i) sample[place[i]] = (*this)(static_cast<std::int64_t>(index[i]));
  }

  /// The sample at this position of the epoch, 0 <= position < count.
  QUERN_INLINE_FUNCTION std::int64_t operator()(std::int64_t position) const {
    std::uint64_t index = static_cast<std::uint64_t>(position);
    do {
      index = scramble(index);
    } while (index >= count_);
    return static_cast<std::int64_t>(index);
  }

 private:
  /// So few indices are as fast one by one.
  static constexpr int kFew = 3;
  // Halves of few bits mix slowly: with 6 rounds some orders of 5 samples are 20 % too frequent.
  static constexpr int kSmallBits = 10;

  static QUERN_INLINE_FUNCTION std::uint32_t low_bits(int bits) {
    return static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
  }

  QUERN_INLINE_FUNCTION std::uint32_t round_function(std::uint32_t round,
                                                     std::uint32_t half) const {
    const std::uint64_t index = std::uint64_t{round} << 32 | half;
    return random_block(seed_, RandomUse::shuffle, epoch_, index).word[0];
  }

  // A loop over plain calls: the compiler vectorises it, with the rounds of Philox in registers.
  template <int Lanes>
  QUERN_INLINE_FUNCTION void mix(std::uint32_t round, const std::uint32_t* half, std::uint32_t mask,
                                 std::uint32_t* target) const {
    for (int i = 0; i < Lanes; ++i) target[i] ^= round_function(round, half[i]) & mask;
  }

  template <int Lanes>
  QUERN_INLINE_FUNCTION void scramble_side_by_side(std::uint64_t* index) const {
    std::uint32_t left[Lanes];
    std::uint32_t right[Lanes];
    for (int i = 0; i < Lanes; ++i) {
      left[i] = static_cast<std::uint32_t>(index[i] >> right_bits_);
      right[i] = static_cast<std::uint32_t>(index[i]) & right_mask_;
    }
    for (std::uint32_t round = 0; round < rounds_; round += 2) {
      mix<Lanes>(round, right, left_mask_, left);
      mix<Lanes>(round + 1, left, right_mask_, right);
    }
    for (int i = 0; i < Lanes; ++i) index[i] = std::uint64_t{left[i]} << right_bits_ | right[i];
  }

  QUERN_INLINE_FUNCTION std::uint64_t scramble(std::uint64_t index) const {
    std::uint32_t left = static_cast<std::uint32_t>(index >> right_bits_);
    std::uint32_t right = static_cast<std::uint32_t>(index) & right_mask_;
    for (std::uint32_t round = 0; round < rounds_; round += 2) {
      left ^= round_function(round, right) & left_mask_;
      right ^= round_function(round + 1, left) & right_mask_;
    }
    return std::uint64_t{left} << right_bits_ | right;
  }

  std::uint64_t seed_;
  std::uint32_t epoch_;
  std::uint64_t count_;
  std::uint32_t rounds_;
  int right_bits_;
  std::uint32_t left_mask_;
  std::uint32_t right_mask_;
};

}  // namespace quern
