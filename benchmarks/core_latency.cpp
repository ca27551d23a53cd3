// SPDX-License-Identifier: Apache-2.0
// How far two cores are from each other: core_latency [CORE CORE], by default the first two that
// this process may use. Two threads pass a cache line to and fro. Prints the nanoseconds that a
// store takes to be seen on the other core: some tens where they share a cache, hundreds where they
// do not. A virtual machine cannot know which: its host may move its cores while it runs.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/stopwatch.hpp"
#include "runtime/cpu_mask.hpp"

namespace {

constexpr int kRounds = 5;
constexpr int kPasses = 50000;  // of a round, there and back
constexpr long kMaxCore = std::numeric_limits<int>::max();

/// Has the cache line, and the one beside it, which some processors fetch with it, to itself.
struct alignas(128) Line {
  std::atomic<int> passes{0};
};

// A mask is the calling thread's, and that of threads that it starts.
bool bind_this_thread(int core) {
  return quern::restrict_to_cpus({core});
}

std::optional<int> core_number(const char* word) {
  char* end = nullptr;
  const long number = std::strtol(word, &end, 10);
  if (end == word || *end != '\0' || number < 0 || number > kMaxCore) return std::nullopt;
  return static_cast<int>(number);
}

/// Nanoseconds one way, the median of the rounds; nothing if `second` may not be used.
std::optional<double> latency(int second) {
  Line line;
  std::promise<bool> bound;
  std::thread other([&] {
    const bool is_bound = bind_this_thread(second);
    bound.set_value(is_bound);
    if (!is_bound) return;
    for (int pass = 0; pass < kRounds * kPasses; ++pass) {
      while (line.passes.load(std::memory_order_acquire) != 2 * pass + 1) {
      }
      line.passes.store(2 * pass + 2, std::memory_order_release);
    }
  });
  std::vector<double> rounds;
  const bool is_bound = bound.get_future().get();
  for (int round = 0; is_bound && round < kRounds; ++round) {
    const quern::Stopwatch watch;
    for (int pass = round * kPasses; pass < (round + 1) * kPasses; ++pass) {
      line.passes.store(2 * pass + 1, std::memory_order_release);
      while (line.passes.load(std::memory_order_acquire) != 2 * pass + 2) {
      }
    }
    rounds.push_back(1e9 * watch.seconds() / (2.0 * kPasses));
  }
  other.join();
  if (!is_bound) return std::nullopt;
  std::sort(rounds.begin(), rounds.end());
  return rounds[kRounds / 2];
}

int fail(const std::string& message) {
  std::fprintf(stderr, "core_latency: %s\n", message.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<int> cores = quern::allowed_cpus();
  if (cores.empty()) return fail("the system does not say which cores this process may use");
  if (argc == 1 && cores.size() < 2)
    return fail("this process may use one core only (expected two)");
  if (argc != 1 && argc != 3) return fail("expected two numbers of cores, or none");
  int chosen[2] = {cores.front(), cores[cores.size() > 1 ? 1 : 0]};
  for (int i = 0; argc == 3 && i < 2; ++i) {
    const std::optional<int> core = core_number(argv[i + 1]);
    if (!core || std::find(cores.begin(), cores.end(), *core) == cores.end())
      return fail("'" + std::string(argv[i + 1]) + "' is no core that this process may use");
    chosen[i] = *core;
  }
  if (chosen[0] == chosen[1]) return fail("expected two different cores");
  std::optional<double> nanoseconds;
  if (bind_this_thread(chosen[0])) nanoseconds = latency(chosen[1]);
  if (!nanoseconds) return fail("the system does not bind threads to these cores");
  std::printf("%.0f ns from core %d to core %d\n", *nanoseconds, chosen[0], chosen[1]);
  return 0;
}
