// SPDX-License-Identifier: Apache-2.0
#include "samples/normalization.hpp"

#include <cmath>
#include <numeric>
#include <vector>

#include "samples/sample_sums.hpp"

namespace quern {

namespace {

template <class T>
NormalizeSpec statistics(Communicator& comm, const SummedArray<T>& source, double scale) {
  const double numbers =
      static_cast<double>(source.count) * static_cast<double>(source.plane.units);
  NormalizeSpec spec;
  spec.type = NormalizeType::given;
  spec.mean = sum_all(comm, source,
                      [&](T value, std::int64_t) { return static_cast<double>(value) * scale; });
  for (double& mean : spec.mean) mean /= numbers;
  spec.std = sum_all(comm, source, [&](T value, std::int64_t channel) {
    const double distance =
        static_cast<double>(value) * scale - spec.mean[static_cast<std::size_t>(channel)];
    return distance * distance;
  });
  for (std::size_t channel = 0; channel < spec.std.size(); ++channel) {
    double& deviation = spec.std[channel];
    deviation = std::sqrt(deviation / numbers);
    // Of equal values rounding leaves a rest, which is far below what floats can differ by.
    const double rest = 1e-9 * std::abs(spec.mean[channel]);
    if (deviation <= rest || static_cast<float>(deviation) == 0) deviation = 1;
  }
  return spec;
}

template <class T>
NormalizeSpec statistics_of_array(Communicator& comm, const Samples& samples,
                                  const View<const T>& array, const Shape& shape, double scale) {
  const Plane plane{shape.channels, std::int64_t{shape.height} * shape.width};
  return statistics(comm, SummedArray<T>(samples, array, plane), scale);
}

}  // namespace

NormalizeSpec statistics_of(Communicator& comm, const Samples& samples) {
  if (samples.has_images())
    return statistics_of_array<std::uint8_t>(comm, samples, samples.images, samples.shape,
                                             1.0 / 255);
  return statistics_of_array<float>(comm, samples, samples.values, samples.shape, 1.0);
}

NormalizeSpec target_statistics_of(Communicator& comm, const Samples& samples, const Shape& shape) {
  return statistics_of_array<float>(comm, samples, samples.targets, shape, 1.0);
}

double variance_of_targets(Communicator& comm, const Samples& samples) {
  if (!samples.has_targets()) return 0;
  const std::int64_t units = samples.target_units();
  const SummedArray<float> targets(samples, samples.targets, {units, 1});
  const auto count = static_cast<double>(samples.count);
  std::vector<double> mean =
      sum_all(comm, targets, [](float value, std::int64_t) { return double{value}; });
  for (double& value : mean) value /= count;
  const std::vector<double> squares = sum_all(comm, targets, [&](float value, std::int64_t unit) {
    const double distance = double{value} - mean[static_cast<std::size_t>(unit)];
    return distance * distance;
  });
  const double sum = std::accumulate(squares.begin(), squares.end(), 0.0);
  return sum / (count * static_cast<double>(units));
}

}  // namespace quern
