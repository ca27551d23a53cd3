// SPDX-License-Identifier: Apache-2.0
#include "bench/report.hpp"

#include <fmt/format.h>

#include "base/count_text.hpp"
#include "base/unit_text.hpp"

namespace quern {

std::string machine_text(const MachineInfo& machine) {
  const std::string tiles = machine.tile_unit.empty()
                                ? ""
                                : fmt::format("tiles of bf16 on {} {:.1f} Gflop/s; ",
                                              machine.tile_unit, machine.tile_flops.median * 1e-9);
  return fmt::format(
      "{}, {} x {}, {} for {}\nmeasured between the rounds: FMA peak {:.1f} Gflop/s; {}read "
      "bandwidth {} from {} (L1), {} from {} (L2), {} from {} (L3), {} from memory",
      machine.processor, count_text(machine.ranks, "rank"), count_text(machine.threads, "thread"),
      machine.device, machine.vectors, machine.fma_flops.median * 1e-9, tiles,
      rate_text(machine.l1.rate.median), bytes_text(machine.l1.array_bytes),
      rate_text(machine.l2.rate.median), bytes_text(machine.l2.array_bytes),
      rate_text(machine.l3.rate.median), bytes_text(machine.l3.array_bytes),
      rate_text(machine.memory.rate.median));
}

}  // namespace quern
