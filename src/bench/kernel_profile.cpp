// SPDX-License-Identifier: Apache-2.0
#include "bench/kernel_profile.hpp"

#include <utility>

#include "base/assert.hpp"
#include "base/stopwatch.hpp"

namespace quern {

namespace {

namespace tools = Kokkos::Tools::Experimental;

// Kokkos' callbacks are plain functions, called by the thread that starts the kernels.
struct Recording {
  bool active = false;
  std::vector<std::string> regions;
  std::vector<KernelTime> times;
  std::size_t next = 0;  // steps repeat: most likely the kernel after the last one
  Stopwatch watch;

  bool is(std::size_t index, const std::string& region, const char* kernel) const {
    return times[index].kernel == kernel && times[index].region == region;
  }

  std::size_t find(const char* kernel) {
    static const std::string none;
    const std::string& region = regions.empty() ? none : regions.back();
    if (next < times.size() && is(next, region, kernel)) return next;
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (is(i, region, kernel)) return i;
    }
    times.push_back({region, kernel, 0, 0});
    return times.size() - 1;
  }
};

Recording g_recording;

void begin_kernel(const char* label, std::uint32_t, std::uint64_t* id) {
  *id = g_recording.find(label);
  g_recording.watch.restart();
}

void end_kernel(std::uint64_t id) {
  const double seconds = g_recording.watch.seconds();
  KernelTime& time = g_recording.times[id];
  time.seconds += seconds;
  time.calls += 1;
  g_recording.next = id + 1 < g_recording.times.size() ? id + 1 : 0;
}

void push_region(const char* name) {
  g_recording.regions.emplace_back(name);
}

void pop_region() {
  if (!g_recording.regions.empty()) g_recording.regions.pop_back();
}

}  // namespace

KernelProfile::KernelProfile() : before_(tools::get_callbacks()) {
  expect(!g_recording.active, "one profile at a time");
  g_recording = {};
  g_recording.active = true;
  tools::set_callbacks({});
  tools::set_begin_parallel_for_callback(begin_kernel);
  tools::set_end_parallel_for_callback(end_kernel);
  tools::set_begin_parallel_reduce_callback(begin_kernel);
  tools::set_end_parallel_reduce_callback(end_kernel);
  tools::set_begin_parallel_scan_callback(begin_kernel);
  tools::set_end_parallel_scan_callback(end_kernel);
  tools::set_push_region_callback(push_region);
  tools::set_pop_region_callback(pop_region);
}

KernelProfile::~KernelProfile() {
  tools::set_callbacks(before_);
  g_recording.active = false;
}

std::vector<KernelTime> KernelProfile::take() {
  g_recording.next = 0;
  return std::exchange(g_recording.times, {});
}

}  // namespace quern
