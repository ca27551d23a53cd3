// SPDX-License-Identifier: Apache-2.0
#include "layers/batch_norm_sets.hpp"

namespace quern {

namespace {

KOKKOS_INLINE_FUNCTION float inverse_std(float variance, float eps) {
  return 1 / Kokkos::sqrt(variance + eps);
}

/// Sum of squares over one less than their number, as running variances take it.
KOKKOS_INLINE_FUNCTION float unbiased(float squares, float values) {
  return values > 1 ? squares / (values - 1) : squares;
}

}  // namespace

void set_running_statistics(const ExecSpace& exec, const float* running,
                            const NormChannels& channels, float* sets) {
  Kokkos::parallel_for(
      "quern::layers::batch_norm_running", RangePolicy(exec, 0, channels.padded),
      KOKKOS_LAMBDA(std::int64_t c) {
        sets[c] = running[c];
        sets[channels.padded + c] = inverse_std(running[channels.padded + c], channels.eps);
      });
}

void set_means(const ExecSpace& exec, const float* totals, const NormBatch& batch, int num_blocks,
               const NormChannels& channels, const float* statistics, const NormOutputs& out) {
  const std::int64_t row = BlockStatistics::floats(channels.padded);
  Kokkos::parallel_for(
      "quern::layers::batch_norm_means", RangePolicy(exec, 0, channels.padded),
      KOKKOS_LAMBDA(std::int64_t c) {
        const float samples = totals[2 * channels.padded];
        const float mean = totals[c] / batch.values(samples);
        out.sets[c] = mean;
        out.sets[channels.padded + c] = totals[channels.padded + c];
        if (c < kLanes) out.sets[2 * channels.padded + c] = c == 0 ? samples : 0;
        for (int b = 0; b < num_blocks; ++b) {
          const float* block = statistics + b * row;
          const float values = batch.values(block[2 * channels.padded]);
          const float distance = block[c] / values - mean;
          out.rows[b * channels.padded + c] = values * (distance * distance);
        }
      });
}

void set_variances(const ExecSpace& exec, const float* distances, const NormBatch& batch,
                   const NormChannels& channels, float* sets, const BufferPlace& place) {
  Kokkos::parallel_for(
      "quern::layers::batch_norm_variances", RangePolicy(exec, 0, channels.padded),
      KOKKOS_LAMBDA(std::int64_t c) {
        const float values = batch.values(sets[2 * channels.padded]);
        const float squares = sets[channels.padded + c] + distances[c];
        sets[channels.padded + c] = inverse_std(squares / values, channels.eps);
        for (int p = 0; p < place.num_partial_sums; ++p) {
          const bool is_mine = place.is_first && p == 0 && c < channels.count;
          float* to = place.gradients.data.data() + p * place.gradients.stride + place.offset + c;
          to[0] = is_mine ? sets[c] : 0;
          to[channels.padded] = is_mine ? unbiased(squares, values) : 0;
        }
      });
}

void set_blocks(const ExecSpace& exec, const float* statistics, const NormBatch& batch,
                int num_blocks, const NormChannels& channels, const StepScalarsView& scalars,
                const NormOutputs& out) {
  const std::int64_t padded = channels.padded;
  const std::int64_t row = BlockStatistics::floats(padded);
  Kokkos::parallel_for(
      "quern::layers::batch_norm_blocks", RangePolicy(exec, 0, num_blocks * padded),
      KOKKOS_LAMBDA(std::int64_t i) {
        const std::int64_t b = i / padded;
        const std::int64_t c = i % padded;
        const float* block = statistics + b * row;
        float* set = out.sets + b * NormSets::floats(padded);
        float* shares = out.rows + b * 2 * padded;
        const float samples = block[2 * padded];
        const float values = batch.values(samples);
        const float mean = block[c] / values;
        const float squares = block[padded + c];
        const float share = samples * scalars().inverse_count;
        set[c] = mean;
        set[padded + c] = inverse_std(squares / values, channels.eps);
        if (c < kLanes) set[2 * padded + c] = c == 0 ? samples : 0;
        shares[c] = c < channels.count ? mean * share : 0;
        shares[padded + c] = c < channels.count ? unbiased(squares, values) * share : 0;
      });
}

void set_gradients(const ExecSpace& exec, const float* sums, int num_sets, const NormBatch& batch,
                   const NormSets& sets, float* gradients) {
  const std::int64_t padded = sets.padded;
  Kokkos::parallel_for(
      "quern::layers::batch_norm_slopes", RangePolicy(exec, 0, num_sets * padded),
      KOKKOS_LAMBDA(std::int64_t i) {
        const std::int64_t set = i / padded;
        const std::int64_t c = i % padded;
        const float* with_x = sums + set * 2 * padded;
        float* out = gradients + set * 2 * padded;
        const float values = batch.values(sets.samples(set));
        out[c] = with_x[padded + c] / values;
        out[padded + c] = with_x[c] / values * sets.inverse_std(set)[c];
      });
}

void set_no_gradients(const ExecSpace& exec, std::int64_t padded, float* gradients) {
  Kokkos::parallel_for(
      "quern::layers::batch_norm_no_slopes", RangePolicy(exec, 0, 2 * padded),
      KOKKOS_LAMBDA(std::int64_t i) { gradients[i] = 0; });
}

}  // namespace quern
