// SPDX-License-Identifier: Apache-2.0
// A step context for tests of one layer: several blocks, several partial sums, empty rows.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ceil_div.hpp"
#include "layers/layer.hpp"
#include "support/views.hpp"

namespace quern::test {

struct TestBatch {
  int samples = 5;
  int block_samples = 2;  ///< samples of a full block; the last block may be short
  int block_rows = 16;    ///< rows of every block, >= block_samples; nchw16n: a multiple of 16

  int num_blocks() const { return ceil_div(samples, block_samples); }
  int rows() const { return num_blocks() * block_rows; }
};

/// Sample of every row: 0, 1, 2, ... in order, -1 in the rows that stay empty.
inline std::vector<std::int64_t> sample_of_row(const TestBatch& batch) {
  std::vector<std::int64_t> samples;
  for (int block = 0; block < batch.num_blocks(); ++block)
    for (int i = 0; i < batch.block_rows; ++i) {
      const int sample = block * batch.block_samples + i;
      samples.push_back(i < batch.block_samples && sample < batch.samples ? sample : -1);
    }
  return samples;
}

inline void set_scalars(const StepScalarsView& scalars, const StepScalars& values) {
  Kokkos::deep_copy(scalars, values);
}

/// `block_size`: floats of the parameter block. The rank owns the blocks 1 to num_blocks of
/// num_blocks + 2, so that there is usually more than one partial sum. Partial sums start as
/// garbage.
inline StepContext make_test_step(const TestBatch& batch, std::int64_t block_size = 0) {
  StepContext step;
  step.schedule =
      make_block_schedule(1, 1 + batch.num_blocks(), batch.num_blocks() + 2, batch.block_rows);
  step.schedule.block_samples = batch.block_samples;
  step.schedule.last_samples = batch.samples - (batch.num_blocks() - 1) * batch.block_samples;
  step.scalars = StepScalarsView("test::scalars");
  StepScalars scalars;
  scalars.seed = 7;
  scalars.epoch = 3;
  scalars.inverse_count = 1.0f / static_cast<float>(batch.samples);
  set_scalars(step.scalars, scalars);
  step.sample_of_row = to_view(sample_of_row(batch));
  step.parameters = FloatView("test::parameters", static_cast<std::size_t>(block_size));
  step.gradients.stride = block_size;
  step.gradients.data =
      FloatView("test::gradients", static_cast<std::size_t>(block_size) *
                                       static_cast<std::size_t>(step.schedule.num_partial_sums));
  Kokkos::deep_copy(step.gradients.data, 777.0f);
  return step;
}

}  // namespace quern::test
