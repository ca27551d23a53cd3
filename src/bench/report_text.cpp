// SPDX-License-Identifier: Apache-2.0
#include "bench/report.hpp"

#include <fmt/format.h>

#include "base/bytes_text.hpp"
#include "base/count_text.hpp"

namespace quern {

namespace {

// Three digits, whatever the size of the number.
std::string three_digits(double value) {
  return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

}  // namespace

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

std::string time_text(double seconds) {
  if (seconds < 999.5e-6) return three_digits(seconds * 1e6) + " us";
  if (seconds < 999.5e-3) return three_digits(seconds * 1e3) + " ms";
  return three_digits(seconds) + " s";
}

std::string rate_text(double bytes_per_s) {
  if (bytes_per_s < 999.5e3) return three_digits(bytes_per_s * 1e-3) + " kB/s";
  if (bytes_per_s < 999.5e6) return three_digits(bytes_per_s * 1e-6) + " MB/s";
  return three_digits(bytes_per_s * 1e-9) + " GB/s";
}

}  // namespace quern
