// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu_mask.hpp"

#include <sched.h>

#include <algorithm>
#include <cstddef>

namespace quern {

std::vector<int> allowed_cpus() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &mask)) cpus.push_back(cpu);
  }
  return cpus;
}

bool restrict_to_cpus(const std::vector<int>& cpus) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &mask);
  return !cpus.empty() && sched_setaffinity(0, sizeof mask, &mask) == 0;
}

std::string cpu_list_text(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t first = 0; first < cpus.size();) {
    std::size_t last = first;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus[first]);
    if (last > first) text.append("-").append(std::to_string(cpus[last]));
    first = last + 1;
  }
  return text.empty() ? "-" : text;
}

}  // namespace quern
