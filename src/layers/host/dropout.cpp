// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/ceil_div.hpp"
#include "layers/dropout_kernels.hpp"
#include "linalg/host/simd_random.hpp"
#include "linalg/host/simd_transpose.hpp"
#include "tensor/parallel_for.hpp"

namespace quern::host {

namespace {

using simd::broadcast_word;
using simd::kRegisterLanes;
using simd::LaneIndex;
using simd::PhiloxWords;
using simd::Register;
using simd::WordLanes;

static_assert(kLanes % kRegisterLanes == 0, "registers that fill the lanes");

LaneIndex lane_numbers() {
  LaneIndex numbers{};
  for (int lane = 0; lane < kRegisterLanes; ++lane) numbers[lane] = lane;
  return numbers;
}

/// What all items of a launch have in common.
struct HostMask : DropoutMask {
  int lowest_kept;  // upper 24 bits of a word, from here on

  explicit HostMask(const DropoutMask& mask)
      : DropoutMask(mask),
        // uniform01 is these bits times 2^-24, without rounding.
        lowest_kept(static_cast<int>(std::ceil(mask.probability * 0x1.0p24f))) {}

  /// The random words of as many quads and samples as there are lanes.
  PhiloxWords draw(WordLanes quads, WordLanes samples) const {
    return simd::philox(
        scalars().seed,
        {{quads, samples, broadcast_word(DropoutCounter::stream(scalars().epoch, layer)),
          broadcast_word(static_cast<std::uint32_t>(RandomUse::dropout))}});
  }

  /// Lanes of `to` from `place` on, those of `exists` alone; the others become 0.
  void apply(std::int64_t place, WordLanes words, LaneIndex exists) const {
    const LaneIndex kept = (reinterpret_cast<LaneIndex>(words >> 8) >= lowest_kept) & exists;
    const Register value = simd::load<Register>(from + place);
    simd::store(to + place, kept != 0 ? value * scale : Register{});
  }
};

/// A work item: 64 units of a row (nc, cn16c).
struct FlatMask : HostMask {
  static constexpr int kUnits = kQuadUnits * kLanes;
  ActivationIndex at;

  void operator()(std::int64_t item) const {
    const int padded = static_cast<int>(round_up_to_lanes(units));
    const std::int64_t items_per_row = ceil_div(padded, kUnits);
    const std::int64_t row = item / items_per_row;
    const int first = static_cast<int>(item % items_per_row) * kUnits;
    const int last = padded - first < kUnits ? padded : first + kUnits;
    const std::int64_t sample = sample_of_row(row);
    for (int u = first; u < last; u += kQuadUnits * kRegisterLanes)
      apply_quads(row, sample, u, last);
  }

  /// Lane 4 j + i draws quad i Q + j of the Q registers' worth of four, so that a transpose of
  /// blocks of 4 x 4 lanes gives registers of neighbouring units.
  void apply_quads(std::int64_t row, std::int64_t sample, int first, int last) const {
    const LaneIndex lanes = lane_numbers();
    const LaneIndex quads = lanes % kQuadUnits * (kRegisterLanes / kQuadUnits) + lanes / kQuadUnits;
    const PhiloxWords random =
        draw(reinterpret_cast<WordLanes>(quads) + static_cast<std::uint32_t>(first / kQuadUnits),
             broadcast_word(static_cast<std::uint32_t>(sample)));
    Register words[kQuadUnits];
    QUERN_UNROLL
    for (int w = 0; w < kQuadUnits; ++w) words[w] = reinterpret_cast<Register>(random.word[w]);
    simd::transpose(words);
    const int count = sample < 0 ? 0 : units;  // an empty row keeps nothing
    QUERN_UNROLL
    for (int w = 0; w < kQuadUnits; ++w) {
      const int unit = first + w * kRegisterLanes;
      if (unit >= last) break;
      const std::int64_t place = at.sixteen(row, unit / kLanes * kLanes) + unit % kLanes;
      apply(place, reinterpret_cast<WordLanes>(words[w]), lanes < count - unit);
    }
  }
};

/// A work item: 64 units of 16 rows (nchw16n).
struct LanesMask : HostMask {
  static constexpr int kUnits = 64;

  void operator()(std::int64_t item) const {
    const std::int64_t items_per_group = ceil_div(units, kUnits);
    const std::int64_t group = item / items_per_group;
    const int first = static_cast<int>(item % items_per_group) * kUnits;
    const int last = first + kUnits < units ? first + kUnits : units;
    for (int lane = 0; lane < kLanes; lane += kRegisterLanes) {
      WordLanes samples{};
      LaneIndex exists{};
      for (int l = 0; l < kRegisterLanes; ++l) {
        const std::int64_t sample = sample_of_row(group * kLanes + lane + l);
        samples[l] = static_cast<std::uint32_t>(sample);
        exists[l] = sample < 0 ? 0 : -1;
      }
      for (int u = first; u < last; u += kQuadUnits) {
        const PhiloxWords random =
            draw(broadcast_word(static_cast<std::uint32_t>(u / kQuadUnits)), samples);
        const int count = last - u < kQuadUnits ? last - u : kQuadUnits;
        for (int w = 0; w < count; ++w)
          apply((group * units + u + w) * kLanes + lane, random.word[w], exists);
      }
    }
  }
};

}  // namespace

void apply_dropout(const ExecSpace& exec, const std::string& label, const DropoutMask& mask,
                   const Activation& from) {
  if (from.layout != Layout::nchw16n)
    quern::parallel_for(
        label,
        RangePolicy(exec, 0, from.rows * ceil_div(round_up_to_lanes(mask.units), FlatMask::kUnits)),
        FlatMask{HostMask(mask), ActivationIndex(from)});
  else
    quern::parallel_for(
        label, RangePolicy(exec, 0, from.rows / kLanes * ceil_div(mask.units, LanesMask::kUnits)),
        LanesMask{HostMask(mask)});
}

}  // namespace quern::host
