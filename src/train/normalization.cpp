// SPDX-License-Identifier: Apache-2.0
#include "train/normalization.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "comm/agree.hpp"
#include "strategy/sample_stream.hpp"

namespace quern {

namespace {

// Samples whose sums are taken in one go. How many depends on the data alone, and so do the bits.
std::int64_t chunk_samples(std::int64_t count) {
  return std::max<std::int64_t>(256, (count + 1023) / 1024);
}

struct Plane {
  std::int64_t channels;
  std::int64_t units;  // of one channel
};

/// Adds to sums [channels] the sums over `count` samples of term(value, channel).
template <class T, class Term>
void add_samples(const T* data, const Plane& plane, std::int64_t count, const Term& term,
                 double* sums) {
  for (std::int64_t channel = 0; channel < plane.channels; ++channel) {
    double sum = sums[channel];
    for (std::int64_t sample = 0; sample < count; ++sample) {
      const T* values = data + (sample * plane.channels + channel) * plane.units;
      double of_sample = 0;
      for (std::int64_t i = 0; i < plane.units; ++i) of_sample += term(values[i], channel);
      sum += of_sample;
    }
    sums[channel] = sum;
  }
}

/// The samples of a set, wherever they are.
template <class T>
struct Source {
  Plane plane;
  std::int64_t count;
  const T* data;         ///< all of them, or what the stream reads
  SampleStream* stream;  ///< null: all are in memory
  std::int64_t held;     ///< samples that `data` has room for

  /// Overwrites sums [channels] with those of the samples [first, last). Of a stream: for one
  /// thread at a time.
  template <class Term>
  void sum(std::int64_t first, std::int64_t last, const Term& term, double* sums) const {
    std::fill_n(sums, plane.channels, 0.0);
    if (!stream) {
      add_samples(data + first * plane.channels * plane.units, plane, last - first, term, sums);
      return;
    }
    for (; first < last; first += held) {
      const std::int64_t count_here = std::min(held, last - first);
      stream->fetch(first, count_here);
      add_samples(data, plane, count_here, term, sums);
    }
  }
};

/// -> per channel, the sum of term(value, channel) over all samples. AgreedError where they cannot
/// be read.
template <class T, class Term>
std::vector<double> sum_all(Communicator& comm, const Source<T>& source, const Term& term) {
  const std::int64_t count = source.count;
  const std::int64_t channels = source.plane.channels;
  const std::int64_t size = chunk_samples(count);
  const std::int64_t chunks = (count + size - 1) / size;
  std::vector<double> sums(static_cast<std::size_t>(chunks * channels), 0);
  const std::int64_t first = chunks * comm.rank() / comm.size();
  const std::int64_t last = chunks * (comm.rank() + 1) / comm.size();
  const auto sum_chunk = [&](std::int64_t chunk) {
    source.sum(chunk * size, std::min((chunk + 1) * size, count), term,
               sums.data() + chunk * channels);
  };
  if (source.stream) {
    agree(comm, [&] {
      for (std::int64_t chunk = first; chunk < last; ++chunk) sum_chunk(chunk);
    });
  } else {
    Kokkos::parallel_for("quern::train::channel_sums",
                         Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(first, last),
                         sum_chunk);
    Kokkos::DefaultHostExecutionSpace().fence("quern::train::channel_sums");
  }
  comm.all_reduce_sum(std::span(sums));  // exact: each number comes from one rank, the rest is 0
  std::vector<double> totals(static_cast<std::size_t>(channels), 0);
  for (std::size_t i = 0; i < sums.size(); ++i) totals[i % totals.size()] += sums[i];
  return totals;
}

template <class T>
NormalizeSpec statistics(Communicator& comm, const Source<T>& source, double scale) {
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

}  // namespace

NormalizeSpec statistics_of(Communicator& comm, const Samples& samples) {
  const Plane plane{samples.shape.channels,
                    std::int64_t{samples.shape.height} * samples.shape.width};
  if (samples.images.extent(0) > 0) {
    const auto images = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), samples.images);
    return statistics<std::uint8_t>(
        comm, {plane, samples.count, images.data(), samples.stream.get(), samples.held()},
        1.0 / 255);
  }
  const auto values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), samples.values);
  return statistics<float>(
      comm, {plane, samples.count, values.data(), samples.stream.get(), samples.held()}, 1.0);
}

}  // namespace quern
