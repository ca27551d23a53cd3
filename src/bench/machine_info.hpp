// SPDX-License-Identifier: Apache-2.0
// What a benchmark ran on, and the peaks that were measured between its rounds.
#pragma once

#include <cstdint>
#include <string>

#include "bench/timing.hpp"

namespace quern {

/// The model of the processors, "unknown" when the system does not tell.
std::string processor_name();
/// The vector instructions that the kernels were compiled for: "AVX-512".
const char* vector_instructions();

/// Read bandwidth of one level of the memory, in bytes/s.
struct MeasuredBandwidth {
  std::int64_t cache_bytes = 0;  ///< of one rank; 0 for the memory itself
  std::int64_t array_bytes = 0;  ///< what a rank read
  Spread rate;
};

/// What a benchmark says of its machine; read back as BenchMachine (bench/bench_figures.hpp).
/// Rates are sums over all ranks, each with all its threads, all at the same time.
struct MachineInfo {
  std::string processor;
  std::string vectors;  ///< instructions the program was compiled for
  std::string device;   ///< Kokkos' name of the execution space
  int ranks = 1;
  int nodes = 1;    ///< that they run on
  int threads = 1;  ///< of a rank
  Spread fma_flops;
  std::string tile_unit;  ///< what multiplies tiles of bf16; "": it was not measured
  Spread tile_flops;
  MeasuredBandwidth l1;
  MeasuredBandwidth l2;
  MeasuredBandwidth l3;
  MeasuredBandwidth memory;
};

/// The part of one rank, when all are alike.
MachineInfo per_rank(MachineInfo all);

}  // namespace quern
