// SPDX-License-Identifier: Apache-2.0
#include "runtime/binding.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <set>
#include <span>
#include <string>

#include "base/count_text.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "runtime/cpu_mask.hpp"

namespace quern {

namespace {

// The ranks of this node that give the same text, and which of them this one is.
struct Sharing {
  int index = 0;
  int ranks = 1;
};

Sharing find_sharing(Communicator& comm, const std::string& text) {
  const auto places = all_gather_strings(comm, comm.host(comm.rank()) + " " + text);
  const std::string& mine = places[static_cast<std::size_t>(comm.rank())];
  return {static_cast<int>(std::count(places.begin(), places.begin() + comm.rank(), mine)),
          static_cast<int>(std::count(places.begin(), places.end(), mine))};
}

// 0: not set.
int threads_from_environment(const char* name) {
  const char* text = std::getenv(name);
  if (!text || *text == '\0') return 0;
  char* end = nullptr;
  const long threads = std::strtol(text, &end, 10);
  if (end == text || (*end != '\0' && *end != ',') || threads < 1 || threads > kMostThreads) {
    throw InputError(std::string(name) + "=" + text + " in the environment (expected 1 to " +
                     std::to_string(kMostThreads) + " threads for each rank)");
  }
  return static_cast<int>(threads);
}

bool threads_sleep() {
  const char* policy = std::getenv("OMP_WAIT_POLICY");
  return policy && (std::string(policy) == "passive" || std::string(policy) == "PASSIVE");
}

// By default threads that wait spin. Ranks of one thread sleep after a while.
void warn_of_too_many(const Communicator& comm, int threads, int ranks, std::size_t cpus) {
  const std::int64_t all = std::int64_t{threads} * ranks;
  if (comm.rank() != 0 || threads == 1 || all <= static_cast<std::int64_t>(cpus)) return;
  if (threads_sleep()) return;
  log::warn(count_text(all, "thread") + " of " + count_text(ranks, "rank") + " on " + comm.host(0) +
            " have " + count_text(static_cast<std::int64_t>(cpus), "processor") +
            ": threads spin while they wait, and a step can take hundreds of times as long "
            "(expected a smaller OMP_NUM_THREADS, or OMP_WAIT_POLICY=passive)");
}

}  // namespace

std::vector<int> share_of_cpus(const std::vector<int>& cpus, int index, int sharing) {
  const int count = static_cast<int>(cpus.size());
  if (sharing <= 1 || count < sharing) return cpus;
  const int each = count / sharing;
  const int extra = count % sharing;
  const int begin = index * each + std::min(index, extra);
  const int end = begin + each + (index < extra ? 1 : 0);
  return {cpus.begin() + begin, cpus.begin() + end};
}

void bind_this_rank(Communicator& comm) {
  const char* wish = std::getenv("QUERN_BIND");
  const std::string mode = wish ? wish : "";
  agree(comm, [&] {
    if (mode.empty() || mode == "cores" || mode == "none") return;
    throw InputError("QUERN_BIND=" + mode + " in the environment (expected cores or none)");
  });
  // Every rank takes part, whatever its own environment says.
  const std::vector<int> cpus = allowed_cpus();
  const Sharing sharing = find_sharing(comm, mode == "cores" ? cpu_list_text(cpus) : "");
  if (mode != "cores") return;
  const std::vector<int> share = share_of_cpus(cpus, sharing.index, sharing.ranks);
  if (share != cpus) restrict_to_cpus(share);
}

int threads_of_this_rank(Communicator& comm) {
  const std::vector<int> cpus = allowed_cpus();
  const Sharing sharing = find_sharing(comm, cpu_list_text(cpus));
  const int wanted = agree(comm, [] {
    const int threads = threads_from_environment("OMP_NUM_THREADS");
    return threads > 0 ? threads : threads_from_environment("SLURM_CPUS_PER_TASK");
  });
  if (wanted > 0) {
    warn_of_too_many(comm, wanted, sharing.ranks, cpus.size());
    return wanted;
  }
  return std::clamp(static_cast<int>(cpus.size()) / sharing.ranks, 1, kMostThreads);
}

double processor_share(Communicator& comm, int threads) {
  const std::vector<int> cpus = allowed_cpus();
  const auto bytes = std::as_bytes(std::span(cpus));
  const std::vector<std::string> of_ranks = all_gather_strings(
      comm, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  const std::vector<int> threads_of_ranks = all_gather_value(comm, threads);
  std::set<int> of_node;
  int wanted = 0;
  for (int rank = 0; rank < comm.size(); ++rank) {
    if (comm.host(rank) != comm.host(comm.rank())) continue;
    const std::string& own = of_ranks[static_cast<std::size_t>(rank)];
    std::vector<int> numbers(own.size() / sizeof(int));
    std::memcpy(numbers.data(), own.data(), own.size());
    of_node.insert(numbers.begin(), numbers.end());
    wanted += threads_of_ranks[static_cast<std::size_t>(rank)];
  }
  if (of_node.empty()) return 1;
  return std::min(1.0, static_cast<double>(of_node.size()) / wanted);
}

}  // namespace quern
