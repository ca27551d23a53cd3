// SPDX-License-Identifier: Apache-2.0
// How far two cores are from each other: core_latency [CORE CORE], by default the first two that
// this process may use. Two threads pass a cache line to and fro. Prints the nanoseconds that a
// store takes to be seen on the other core: less than 100 where the cores share a cache, more where
// they do not. A virtual machine does not say which: its host may move its cores while it runs.
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/stopwatch.hpp"

namespace {

constexpr int kRounds = 5;
constexpr int kPasses = 50000;  // of a round, there and back

std::vector<int> own_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

bool bind_this_thread(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

std::optional<int> core_number(const char* word) {
  char* end = nullptr;
  const long number = std::strtol(word, &end, 10);
  if (end == word || *end != '\0' || number < 0 || number >= CPU_SETSIZE) return std::nullopt;
  return static_cast<int>(number);
}

/// Nanoseconds one way, the median of the rounds.
double latency(int second) {
  alignas(64) std::atomic<int> line{0};
  std::thread other([&] {
    bind_this_thread(second);
    for (int pass = 0; pass < kRounds * kPasses; ++pass) {
      while (line.load(std::memory_order_acquire) != 2 * pass + 1) {
      }
      line.store(2 * pass + 2, std::memory_order_release);
    }
  });
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    const quern::Stopwatch watch;
    for (int pass = round * kPasses; pass < (round + 1) * kPasses; ++pass) {
      line.store(2 * pass + 1, std::memory_order_release);
      while (line.load(std::memory_order_acquire) != 2 * pass + 2) {
      }
    }
    rounds.push_back(1e9 * watch.seconds() / (2.0 * kPasses));
  }
  other.join();
  std::sort(rounds.begin(), rounds.end());
  return rounds[kRounds / 2];
}

int fail(const std::string& message) {
  std::fprintf(stderr, "core_latency: %s\n", message.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<int> cores = own_cores();
  if (argc == 1 && cores.size() < 2)
    return fail("this process may use one core only (expected two)");
  if (argc != 1 && argc != 3) return fail("expected two numbers of cores, or none");
  int chosen[2] = {cores.empty() ? 0 : cores[0], cores.size() < 2 ? 0 : cores[1]};
  for (int i = 0; argc == 3 && i < 2; ++i) {
    const std::optional<int> core = core_number(argv[i + 1]);
    if (!core || std::find(cores.begin(), cores.end(), *core) == cores.end())
      return fail("'" + std::string(argv[i + 1]) + "' is no core that this process may use");
    chosen[i] = *core;
  }
  if (chosen[0] == chosen[1]) return fail("expected two different cores");
  if (!bind_this_thread(chosen[0])) return fail("cannot be bound to a core");
  std::printf("%.0f ns from core %d to core %d\n", latency(chosen[1]), chosen[0], chosen[1]);
  return 0;
}
