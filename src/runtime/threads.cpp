// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/sha256.hpp"
#include "comm/exchange.hpp"

namespace quern {

namespace {

int from_environment(const char* name) {
  const char* text = std::getenv(name);
  return text ? std::max(0, std::atoi(text)) : 0;  // "4,2" (nested levels) counts as 4
}

}  // namespace

int threads_of_this_rank(Communicator& comm) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  const bool known = sched_getaffinity(0, sizeof mask, &mask) == 0;
  const int processors = known ? CPU_COUNT(&mask) : 1;
  const std::string place =
      comm.host(comm.rank()) + sha256(std::as_bytes(std::span(&mask, 1))).substr(0, 16);
  const auto places = all_gather_strings(comm, place);
  const auto sharing = static_cast<int>(std::count(places.begin(), places.end(), place));

  for (const char* name : {"OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK"}) {
    if (const int threads = from_environment(name); threads > 0) return threads;
  }
  return std::max(1, processors / sharing);
}

}  // namespace quern
