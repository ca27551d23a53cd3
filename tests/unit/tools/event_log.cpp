// SPDX-License-Identifier: Apache-2.0
#include "unit/tools/event_log.hpp"

#include <utility>

namespace quern::test {

namespace {

namespace tools = Kokkos::Tools::Experimental;

std::vector<Event> g_events;

void on_kernel(const char* label, std::uint32_t device, std::uint64_t*) {
  g_events.push_back({Event::Kind::kernel, label, "", device});
}

void on_fence(const char* label, std::uint32_t device, std::uint64_t*) {
  g_events.push_back({Event::Kind::fence, label, "", device});
}

void on_allocation(Kokkos::Tools::SpaceHandle, const char* label, const void*, std::uint64_t) {
  g_events.push_back({Event::Kind::allocation, label, "", 0});
}

void on_copy(Kokkos::Tools::SpaceHandle, const char* target, const void*,
             Kokkos::Tools::SpaceHandle, const char* source, const void*, std::uint64_t) {
  g_events.push_back({Event::Kind::copy, target, source, 0});
}

}  // namespace

EventLog::EventLog() {
  g_events.clear();
  tools::set_begin_parallel_for_callback(on_kernel);
  tools::set_begin_parallel_reduce_callback(on_kernel);
  tools::set_begin_parallel_scan_callback(on_kernel);
  tools::set_begin_fence_callback(on_fence);
  tools::set_allocate_data_callback(on_allocation);
  tools::set_begin_deep_copy_callback(on_copy);
}

EventLog::~EventLog() {
  tools::set_begin_parallel_for_callback(nullptr);
  tools::set_begin_parallel_reduce_callback(nullptr);
  tools::set_begin_parallel_scan_callback(nullptr);
  tools::set_begin_fence_callback(nullptr);
  tools::set_allocate_data_callback(nullptr);
  tools::set_begin_deep_copy_callback(nullptr);
}

std::vector<Event> EventLog::take() {
  return std::exchange(g_events, {});
}

std::string to_string(const Event& event) {
  switch (event.kind) {
    case Event::Kind::kernel:
      return "kernel '" + event.label + "'";
    case Event::Kind::allocation:
      return "allocation '" + event.label + "'";
    case Event::Kind::fence:
      return "fence '" + event.label + "'";
    case Event::Kind::copy:
      return "copy '" + event.label + "' from '" + event.source + "'";
  }
  return "?";
}

std::uint32_t device_of(const ExecSpace& exec) {
  return tools::device_id(exec);
}

}  // namespace quern::test
