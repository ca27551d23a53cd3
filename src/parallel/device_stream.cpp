// SPDX-License-Identifier: Apache-2.0
#include "parallel/device_stream.hpp"

#include <chrono>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "base/stopwatch.hpp"

namespace quern {

#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)

namespace {

#if defined(KOKKOS_ENABLE_CUDA)
using Event = cudaEvent_t;
constexpr auto kSuccess = cudaSuccess;
constexpr auto kNotReady = cudaErrorNotReady;
constexpr auto create_event = [](Event* event) {
  return cudaEventCreateWithFlags(event, cudaEventDisableTiming);
};
constexpr auto destroy_event = cudaEventDestroy;
constexpr auto query_stream = cudaStreamQuery;
constexpr auto forget_error = cudaGetLastError;
constexpr auto error_text = cudaGetErrorString;
constexpr auto native = [](const ExecSpace& exec) { return exec.cuda_stream(); };
constexpr auto record = [](Event event, const ExecSpace& exec) {
  return cudaEventRecord(event, native(exec));
};
constexpr auto await = [](const ExecSpace& exec, Event event) {
  return cudaStreamWaitEvent(native(exec), event, 0);
};
#else
using Event = hipEvent_t;
constexpr auto kSuccess = hipSuccess;
constexpr auto kNotReady = hipErrorNotReady;
constexpr auto create_event = [](Event* event) {
  return hipEventCreateWithFlags(event, hipEventDisableTiming);
};
constexpr auto destroy_event = hipEventDestroy;
constexpr auto query_stream = hipStreamQuery;
constexpr auto forget_error = hipGetLastError;
constexpr auto error_text = hipGetErrorString;
constexpr auto native = [](const ExecSpace& exec) { return exec.hip_stream(); };
constexpr auto record = [](Event event, const ExecSpace& exec) {
  return hipEventRecord(event, native(exec));
};
constexpr auto await = [](const ExecSpace& exec, Event event) {
  return hipStreamWaitEvent(native(exec), event, 0);
};
#endif

template <class Code>
void check(Code code, const char* what) {
  if (code == kSuccess) return;
  throw Error(std::string(what) + " failed on the device: " + error_text(code));
}

}  // namespace

DeviceStream stream_of(const ExecSpace& exec) {
  return {native(exec)};
}

ExecSpace make_instance() {
  return Kokkos::Experimental::partition_space(ExecSpace(), 1).front();
}

bool is_idle(const ExecSpace& exec) {
  const auto code = query_stream(native(exec));
  if (code == kNotReady) {
    // Or "not ready" would be found behind the next launch, as if that had failed.
    (void)forget_error();
    return false;
  }
  check(code, "a step");
  return true;
}

StreamMark::StreamMark() {
  Event event{};
  check(create_event(&event), "making an event");
  event_ = event;
}

StreamMark::~StreamMark() {
  (void)destroy_event(static_cast<Event>(event_));
}

void StreamMark::order(const ExecSpace& earlier, const ExecSpace& later) {
  check(record(static_cast<Event>(event_), earlier), "recording an event");
  check(await(later, static_cast<Event>(event_)), "waiting for an event");
}

#else  // kernels have run when the call that starts them returns, or on the one queue there is

DeviceStream stream_of(const ExecSpace& exec) {
  exec.fence("quern::parallel: the host reads kernel memory");
  return {};
}

ExecSpace make_instance() {
  return ExecSpace();
}

bool is_idle(const ExecSpace& exec) {
  exec.fence("quern::parallel: the host reads kernel memory");
  return true;
}

StreamMark::StreamMark() = default;
StreamMark::~StreamMark() = default;
void StreamMark::order(const ExecSpace&, const ExecSpace&) {}

#endif

void wait_for(const ExecSpace& exec, DeviceTransport& transport) {
  const Stopwatch waiting;
  for (;;) {
    const bool idle = is_idle(exec);
    transport.check();
    if (idle) return;
    if (waiting.seconds() > transport.deadline_s()) {
      throw OtherRankError("waited longer than " +
                           std::to_string(static_cast<int>(transport.deadline_s())) + " s for " +
                           transport.name() +
                           ": another rank is gone or stuck (QUERN_NCCL_TIMEOUT sets the seconds)");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

}  // namespace quern
