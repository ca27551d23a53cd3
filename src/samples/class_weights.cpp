// SPDX-License-Identifier: Apache-2.0
#include "samples/class_weights.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "comm/agree.hpp"
#include "samples/sample_sums.hpp"

namespace quern {

std::vector<std::int64_t> class_counts(Communicator& comm, const Samples& samples, int classes) {
  const SummedArray<std::int32_t> labels(samples, samples.labels, {.channels = 1, .units = 1});
  std::vector<std::int64_t> counts(static_cast<std::size_t>(classes), 0);
  const std::int64_t first = samples.count * comm.rank() / comm.size();
  const std::int64_t last = samples.count * (comm.rank() + 1) / comm.size();
  agree(comm, [&] {
    labels.for_each_part(first, last, [&](const std::int32_t* part, std::int64_t num_samples) {
      for (const std::int32_t label : std::span(part, static_cast<std::size_t>(num_samples)))
        if (label >= 0 && label < classes) ++counts[static_cast<std::size_t>(label)];
    });
  });
  comm.all_reduce_sum(std::span(counts));
  return counts;
}

ClassWeightsSpec balanced_weights(const std::vector<std::int64_t>& counts) {
  const auto samples =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  const auto present = static_cast<double>(
      std::ranges::count_if(counts, [](std::int64_t count) { return count > 0; }));
  ClassWeightsSpec spec{.type = ClassWeightsType::given};
  for (const std::int64_t count : counts)
    spec.values.push_back(count == 0 ? 1 : samples / (present * static_cast<double>(count)));
  return spec;
}

}  // namespace quern
