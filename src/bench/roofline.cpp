// SPDX-License-Identifier: Apache-2.0
#include "bench/roofline.hpp"

#include <algorithm>

namespace quern {

namespace {

struct Level {
  Bound name;
  const MeasuredBandwidth& bandwidth;
};

// The time that `bytes` spread evenly over `array_bytes` take, and the level that holds them all.
Roofline best_case(double bytes, double array_bytes, const MachineInfo& machine) {
  const Level caches[] = {
      {Bound::l1, machine.l1}, {Bound::l2, machine.l2}, {Bound::l3, machine.l3}};
  Roofline line;
  double placed = 0;  // of the array, in the caches before
  for (const Level& cache : caches) {
    const double here =
        std::min(array_bytes, static_cast<double>(cache.bandwidth.cache_bytes)) - placed;
    if (here <= 0) continue;  // a cache that is no larger than the one before adds nothing
    line.seconds += bytes * here / array_bytes / cache.bandwidth.rate.median;
    line.level = cache.name;
    placed += here;
  }
  if (placed < array_bytes) {
    line.seconds += bytes * (array_bytes - placed) / array_bytes / machine.memory.rate.median;
    line.level = Bound::memory;
  }
  return line;
}

}  // namespace

const char* to_string(Bound bound) {
  switch (bound) {
    case Bound::fma:
      return "FMA";
    case Bound::tiles:
      return "tiles";
    case Bound::l1:
      return "L1";
    case Bound::l2:
      return "L2";
    case Bound::l3:
      return "L3";
    case Bound::memory:
      return "memory";
    case Bound::unknown:
      break;
  }
  return "-";
}

Roofline roofline(const KernelCost& cost, const MachineInfo& machine) {
  if (cost.bytes <= 0) return {};
  Roofline line = best_case(cost.bytes - cost.gathered, cost.working_set, machine);
  const Roofline gathered = best_case(cost.gathered, cost.gathered_from, machine);
  if (gathered.seconds > line.seconds) line.level = gathered.level;
  line.seconds += gathered.seconds;
  line.bound = line.level;
  const double flop_s = cost.flop / peak_flops(cost, machine);
  if (flop_s >= line.seconds) {
    line.seconds = flop_s;
    line.bound = cost.on_tiles ? Bound::tiles : Bound::fma;
  }
  return line;
}

double peak_flops(const KernelCost& cost, const MachineInfo& machine) {
  return (cost.on_tiles ? machine.tile_flops : machine.fma_flops).median;
}

}  // namespace quern
