// SPDX-License-Identifier: Apache-2.0
#include "bench/machine_meter.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "bench/cache_sizes.hpp"
#include "bench/fma_peak.hpp"
#include "bench/tile_peak.hpp"
#include "runtime/binding.hpp"
#include "runtime/cpu_mask.hpp"

namespace quern {

namespace {

int num_nodes(const Communicator& comm) {
  std::set<std::string> hosts;
  for (int rank = 0; rank < comm.size(); ++rank) hosts.insert(comm.host(rank));
  return static_cast<int>(hosts.size());
}

// What one rank reaches alone is limited by its own processors already; what others take is not.
double share_of_ranks(Communicator& comm, int threads) {
  const auto processors = static_cast<int>(allowed_cpus().size());
  return processor_share(comm, processors > 0 ? std::min(threads, processors) : threads);
}

}  // namespace

MachineMeter::MachineMeter(Communicator& comm)
    : comm_(comm),
      processor_share_(kHostExecution ? share_of_ranks(comm, exec_.concurrency()) : 1) {
  constexpr std::int64_t kLargest = std::int64_t{512} << 20;
  const CacheSizes caches = cache_sizes(exec_.concurrency());
  const auto add = [this](std::int64_t cache, std::int64_t array) {
    probes_.push_back({cache, array, ReadBandwidth(exec_, array), {}});
  };
  add(caches.l1, std::min(caches.l1 / 2, kLargest));
  add(caches.l2, std::min(caches.l2 / 2, kLargest));
  // Not half the L3: what it says it has is often that of a whole host with other guests.
  add(caches.l3, std::min({4 * caches.l2, caches.l3 / 2, kLargest}));
  add(0, std::min(4 * caches.l3, kLargest));
}

double MachineMeter::sum_over_ranks(double value) const {
  value *= processor_share_;
  comm_.all_reduce_sum(std::span(&value, 1));
  return value;
}

void MachineMeter::measure(std::optional<OperandPrecision> tiles) {
  comm_.barrier();
  fma_flops_.push_back(sum_over_ranks(1e9 * measure_fma_peak(exec_)));
  if constexpr (kHostExecution) {
    comm_.barrier();
    if (tiles) {
      tile_unit_ = tile_unit_name(*tiles);
      tile_flops_.push_back(sum_over_ranks(1e9 * measure_tile_peak(exec_, *tiles)));
    }
  }
  for (Probe& probe : probes_) {
    comm_.barrier();
    probe.rates.push_back(sum_over_ranks(probe.bandwidth.measure(exec_)));
  }
}

MachineInfo MachineMeter::info() const {
  const auto of = [](const Probe& probe) {
    return MeasuredBandwidth{probe.cache_bytes, probe.array_bytes, spread_of(probe.rates)};
  };
  MachineInfo info;
  info.processor = processor_name();
  info.vectors = vector_instructions();
  info.device = ExecSpace::name();
  info.ranks = comm_.size();
  info.nodes = num_nodes(comm_);
  info.threads = exec_.concurrency();
  info.fma_flops = spread_of(fma_flops_);
  if (!tile_flops_.empty()) {
    info.tile_unit = tile_unit_;
    info.tile_flops = spread_of(tile_flops_);
  }
  info.l1 = of(probes_[0]);
  info.l2 = of(probes_[1]);
  info.l3 = of(probes_[2]);
  info.memory = of(probes_[3]);
  return info;
}

}  // namespace quern
