// SPDX-License-Identifier: Apache-2.0
#include "bench/machine_meter.hpp"

#include <algorithm>

#include "bench/cache_sizes.hpp"
#include "bench/fma_peak.hpp"

namespace quern {

MachineMeter::MachineMeter(Communicator& comm) : comm_(comm) {
  constexpr std::int64_t kLargest = std::int64_t{512} << 20;
  const CacheSizes caches = cache_sizes(exec_.concurrency());
  const auto add = [this](std::int64_t cache, std::int64_t array) {
    probes_.push_back({cache, array, ReadBandwidth(exec_, array), {}});
  };
  add(caches.l2, std::min(caches.l2 / 2, kLargest));
  add(caches.l3, std::min(caches.l3 / 2, kLargest));
  add(0, std::min(4 * caches.l3, kLargest));
}

double MachineMeter::sum_over_ranks(double value) const {
  comm_.all_reduce_sum(std::span(&value, 1));
  return value;
}

void MachineMeter::measure() {
  comm_.barrier();
  fma_flops_.push_back(sum_over_ranks(1e9 * measure_fma_peak(exec_)));
  for (Probe& probe : probes_) {
    comm_.barrier();
    probe.rates.push_back(sum_over_ranks(probe.bandwidth.measure(exec_)));
  }
}

MachineFacts MachineMeter::facts() const {
  const auto of = [](const Probe& probe) {
    return MeasuredBandwidth{probe.cache_bytes, probe.array_bytes, spread_of(probe.rates)};
  };
  MachineFacts facts;
  facts.processor = processor_name();
  facts.vectors = vector_instructions();
  facts.device = ExecSpace::name();
  facts.ranks = comm_.size();
  facts.threads = exec_.concurrency();
  facts.fma_flops = spread_of(fma_flops_);
  facts.l2 = of(probes_[0]);
  facts.l3 = of(probes_[1]);
  facts.memory = of(probes_[2]);
  return facts;
}

}  // namespace quern
