// SPDX-License-Identifier: Apache-2.0
#include "bench/machine_info.hpp"

#include <fstream>

namespace quern {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

const char* vector_instructions() {
#if defined(__AVX512F__)
  return "AVX-512";
#elif defined(__AVX2__)
  return "AVX2";
#elif defined(__ARM_NEON)
  return "NEON";
#else
  return "baseline";
#endif
}

MachineInfo per_rank(MachineInfo info) {
  const double share = 1.0 / info.ranks;
  for (Spread* spread : {&info.fma_flops, &info.tile_flops, &info.l1.rate, &info.l2.rate,
                         &info.l3.rate, &info.memory.rate}) {
    *spread = {spread->median * share, spread->smallest * share, spread->largest * share};
  }
  return info;
}

}  // namespace quern
