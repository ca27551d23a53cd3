// SPDX-License-Identifier: Apache-2.0
// Sums over all samples of a set, with the same bits on any number of ranks, in memory or streamed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/ceil_div.hpp"
#include "comm/agree.hpp"
#include "strategy/sample_stream.hpp"
#include "strategy/samples.hpp"

namespace quern {

// Samples whose sums are taken in one go. How many depends on the data alone, and so do the bits.
// All sums together have room in some 32 MB.
inline std::int64_t chunk_samples(std::int64_t count, std::int64_t channels) {
  const std::int64_t most = std::clamp<std::int64_t>((std::int64_t{1} << 22) / channels, 1, 1024);
  return std::max<std::int64_t>(256, ceil_div(count, most));
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

/// One of the arrays of a set, wherever its samples are.
template <class T>
struct SummedArray {
  SummedArray(const Samples& samples, const View<const T>& array, const Plane& size)
      : plane(size),
        count(samples.count),
        stream(samples.stream.get()),
        held(samples.held()),
        kernel_array(array),
        data(array.data()) {
    if constexpr (!kHostExecution) {
      host = Kokkos::View<T*, Kokkos::HostSpace>(
          Kokkos::view_alloc("quern::samples::summed_array", Kokkos::WithoutInitializing),
          array.extent(0));
      data = host.data();
      if (!stream) copy_to_host(samples.count);
    }
  }

  Plane plane;
  std::int64_t count;
  SampleStream* stream;  ///< null: all are in memory
  std::int64_t held;     ///< samples that the array has room for
  View<const T> kernel_array;
  Kokkos::View<T*, Kokkos::HostSpace> host;  ///< its copy, where it is not host memory
  const T* data;                             ///< on the host: all of them, or what was read last

  /// The first samples of the array.
  void copy_to_host(std::int64_t num_samples) const {
    if constexpr (!kHostExecution) {
      const std::pair<std::int64_t, std::int64_t> first(0,
                                                        num_samples * plane.channels * plane.units);
      Kokkos::deep_copy(Kokkos::subview(host, first), Kokkos::subview(kernel_array, first));
    }
  }

  /// Calls use(data, number of samples) for the samples [first, last), as many at once as there are
  /// in memory. Of a stream: for one thread at a time.
  template <class Use>
  void for_each_part(std::int64_t first, std::int64_t last, const Use& use) const {
    if (!stream) return use(data + first * plane.channels * plane.units, last - first);
    for (; first < last; first += held) {
      const std::int64_t count_here = std::min(held, last - first);
      stream->fetch(first, count_here);
      copy_to_host(count_here);
      use(data, count_here);
    }
  }

  /// Overwrites sums [channels] with those of the samples [first, last), as for_each_part().
  template <class Term>
  void sum(std::int64_t first, std::int64_t last, const Term& term, double* sums) const {
    std::fill_n(sums, plane.channels, 0.0);
    for_each_part(first, last, [&](const T* part, std::int64_t num_samples) {
      add_samples(part, plane, num_samples, term, sums);
    });
  }
};

/// Collective: per channel, the sum of term(value, channel) over all samples. AgreedError where
/// they cannot be read.
template <class T, class Term>
std::vector<double> sum_all(Communicator& comm, const SummedArray<T>& source, const Term& term) {
  const std::int64_t count = source.count;
  const std::int64_t channels = source.plane.channels;
  const std::int64_t size = chunk_samples(count, channels);
  const std::int64_t chunks = ceil_div(count, size);
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
    Kokkos::parallel_for("quern::samples::channel_sums",
                         Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(first, last),
                         sum_chunk);
    Kokkos::DefaultHostExecutionSpace().fence("quern::samples::channel_sums");
  }
  comm.all_reduce_sum(std::span(sums));  // exact: each number comes from one rank, the rest is 0
  std::vector<double> totals(static_cast<std::size_t>(channels), 0);
  for (std::size_t i = 0; i < sums.size(); ++i) totals[i % totals.size()] += sums[i];
  return totals;
}

}  // namespace quern
