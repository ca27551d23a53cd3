// SPDX-License-Identifier: Apache-2.0
#include "layers/host/conv2d_winograd_weights.hpp"

#include <algorithm>

#include "layers/host/conv2d_tiles.hpp"
#include "layers/host/winograd_transforms.hpp"

namespace quern::host {

namespace {

using simd::EvenSplit;
using simd::kConvChannels;
using simd::kWidth;
using simd::Register;

constexpr int kTaps = 9;

// G g G^T of all kernels, [tile of output channels][position][input channel][channel of the tile].
// taps(output channel, input channel): the nine weights, in PyTorch's order; turned: read from the
// last to the first.
template <bool Turned, class Taps>
void pack(const ExecSpace& exec, const char* label, int out_channels, int in_channels, Taps taps,
          float* packed) {
  const EvenSplit tiles(out_channels, kConvChannels);
  Kokkos::parallel_for(label, RangePolicy(exec, 0, tiles.pieces), [=](std::int64_t number) {
    const int tile = static_cast<int>(number);
    const int first = tiles.begin(tile);
    const int channels = tiles.size(tile);
    const std::int64_t position = std::int64_t{in_channels} * channels;
    float* out = packed + first * std::int64_t{kWinogradPositions} * in_channels;
    for (int i = 0; i < in_channels; ++i, out += channels) {
      float lanes[kTaps][kWidth] = {};
      for (int c = 0; c < channels; ++c) {
        const float* weights = taps(first + c, i);
        for (int tap = 0; tap < kTaps; ++tap)
          lanes[tap][c] = weights[Turned ? kTaps - 1 - tap : tap];
      }
      for (int lane = 0; lane < channels; lane += simd::kRegisterLanes) {
        Register g[kTaps];
        Register u[kWinogradPositions];
        for (int tap = 0; tap < kTaps; ++tap) g[tap] = simd::load<Register>(lanes[tap] + lane);
        winograd_transform_weights(g, u);
        for (int p = 0; p < kWinogradPositions; ++p) {
          simd::store_first(out + p * position + lane, u[p],
                            std::min(simd::kRegisterLanes, channels - lane));
        }
      }
    }
  });
}

}  // namespace

std::int64_t winograd_packed_floats(const ConvShape& shape) {
  return std::int64_t{kWinogradPositions} * shape.in_channels * shape.out_channels;
}

void pack_winograd_forward(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                           float* packed) {
  pack<false>(
      exec, "quern::layers::conv2d_winograd_pack_forward", shape.out_channels, shape.in_channels,
      [=](int o, int i) { return weight + shape.weight(o, i, 0, 0); }, packed);
}

void pack_winograd_gradient(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                            float* packed) {
  pack<true>(
      exec, "quern::layers::conv2d_winograd_pack_gradient", shape.in_channels, shape.out_channels,
      [=](int i, int o) { return weight + shape.weight(o, i, 0, 0); }, packed);
}

}  // namespace quern::host
