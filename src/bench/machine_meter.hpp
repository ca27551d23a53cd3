// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/machine_info.hpp"
#include "bench/memory_bandwidth.hpp"
#include "comm/communicator.hpp"
#include "tensor/operand_precision.hpp"

namespace quern {

/// Measures the peaks of the machine again and again, between the rounds of a benchmark: its clock
/// may drift, and other programs come and go.
class MachineMeter {
 public:
  /// Allocates arrays of half the L1, half the L2, four times the L2 (at most half the L3), which
  /// lies in the L3, and four times the L3; none larger than 512 MB a rank.
  explicit MachineMeter(Communicator& comm);

  /// Collective: one measurement of every peak, some 0.1 s. Nothing else is in a cache after it.
  /// `tiles`: also of products of bf16 on the host, in this order.
  void measure(std::optional<OperandPrecision> tiles = {});

  /// Medians of all measurements so far (at least one).
  MachineInfo info() const;

 private:
  struct Probe {
    std::int64_t cache_bytes;
    std::int64_t array_bytes;
    ReadBandwidth bandwidth;
    std::vector<double> rates;
  };

  /// Of peaks that each rank reached while it had its processors to itself.
  double sum_over_ranks(double value) const;

  Communicator& comm_;
  ExecSpace exec_;
  double processor_share_;
  std::vector<double> fma_flops_;
  std::string tile_unit_;
  std::vector<double> tile_flops_;
  std::vector<Probe> probes_;  // L1, L2, L3, memory
};

}  // namespace quern
