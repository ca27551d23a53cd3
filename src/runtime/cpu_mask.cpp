// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu_mask.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "base/ceil_div.hpp"
#include "base/number_runs.hpp"

namespace quern {

namespace {

// A mask for at least `count` processors, in the kernel's own form: a cpu_set_t ends at 1024.
class CpuSet {
 public:
  explicit CpuSet(std::size_t count) : words_(ceil_div(count, kWordBits)) {}

  cpu_set_t* get() { return reinterpret_cast<cpu_set_t*>(words_.data()); }
  std::size_t bytes() const { return words_.size() * sizeof(Word); }
  void add(std::size_t cpu) { words_[cpu / kWordBits] |= Word{1} << cpu % kWordBits; }
  std::vector<int> numbers() const {
    std::vector<int> cpus;
    for (std::size_t cpu = 0; cpu < words_.size() * kWordBits; ++cpu)
      if (words_[cpu / kWordBits] >> cpu % kWordBits & 1) cpus.push_back(static_cast<int>(cpu));
    return cpus;
  }

 private:
  using Word = unsigned long;
  static constexpr std::size_t kWordBits = 8 * sizeof(Word);
  std::vector<Word> words_;
};

// More than any Linux is built for (8192).
constexpr std::size_t kMostCpus = std::size_t{1} << 20;

}  // namespace

std::vector<int> allowed_cpus() {
  for (std::size_t count = CPU_SETSIZE; count <= kMostCpus; count *= 2) {
    CpuSet set(count);
    if (sched_getaffinity(0, set.bytes(), set.get()) == 0) return set.numbers();
    if (errno != EINVAL) break;  // else the system's own mask is longer
  }
  return {};
}

bool restrict_to_cpus(const std::vector<int>& cpus) {
  if (cpus.empty()) return false;
  CpuSet set(static_cast<std::size_t>(*std::max_element(cpus.begin(), cpus.end())) + 1);
  for (const int cpu : cpus) set.add(static_cast<std::size_t>(cpu));
  return sched_setaffinity(0, set.bytes(), set.get()) == 0;
}

std::string cpu_list_text(const std::vector<int>& cpus) {
  std::string text;
  for (const auto& [first, last] : number_runs(cpus)) {
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last > first) text.append("-").append(std::to_string(last));
  }
  return text.empty() ? "-" : text;
}

}  // namespace quern
