// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/measured_line.hpp"
#include "plan/step_demand.hpp"

namespace quern {

/// What a GPU can do by its data sheet, and what of it a step is taken to reach. Both shares are
/// assumed: no GPU has confirmed them.
struct GpuFigures {
  double flops = 0;        ///< peak in the recipe's precision
  double bytes_per_s = 0;  ///< of its memory

  static constexpr double kFlopsShare = 0.4;
  static constexpr double kBytesShare = 0.8;
};

/// Seconds of a step of one GPU that computes the whole network, by its samples: what takes longer,
/// the multiply-adds or the bytes that kernels read and write, each at its assumed share. Starts of
/// kernels take nothing. For one sample to `samples`.
MeasuredLine gpu_line(const StepDemands& demands, const Recipe& recipe, int samples,
                      const GpuFigures& gpu);

}  // namespace quern
