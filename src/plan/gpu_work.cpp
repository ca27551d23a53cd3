// SPDX-License-Identifier: Apache-2.0
#include "plan/gpu_work.hpp"

#include <algorithm>

namespace quern {

MeasuredLine gpu_line(const StepDemands& demands, const Recipe& recipe, int samples,
                      const GpuFigures& gpu) {
  const double bytes_per_s = gpu.bytes_per_s * GpuFigures::kBytesShare;
  const double parameters_s = demands.parameter_bytes(recipe) / bytes_per_s;
  const double sample_s = std::max(demands.training_flop() / (gpu.flops * GpuFigures::kFlopsShare),
                                   demands.sample_bytes() / bytes_per_s);
  const auto at = [&](double count) {
    return MeasuredLine::Point{count, parameters_s + count * sample_s};
  };
  return MeasuredLine({at(1), at(samples + 1.0)});
}

}  // namespace quern
