// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/network.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "base/stopwatch.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "comm/nccl_support.hpp"
#include "parallel/device_stream.hpp"
#include "runtime/device_choice.hpp"
#include "runtime/devices.hpp"

namespace quern {

namespace {

constexpr int kFloats = 1 << 18;
constexpr int kRepeats = 3;
constexpr int kSmall = 20;

bool sum_is_right(std::span<const float> sums, int ranks) {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] != expected_sum(ranks, i)) return false;
  }
  return true;
}

double seconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace

float addend_of(int rank, std::size_t i) {
  return static_cast<float>((rank % 16 + 1) * static_cast<int>(i % 7));
}

float expected_sum(int ranks, std::size_t i) {
  constexpr std::int64_t kOfSixteen = 16 * 17 / 2;
  const std::int64_t rest = ranks % 16;
  const std::int64_t sum = ranks / 16 * kOfSixteen + rest * (rest + 1) / 2;
  return static_cast<float>(sum * static_cast<std::int64_t>(i % 7));
}

NetworkInfo measure_all_reduce(Communicator& comm, const TimedSum& sum) {
  NetworkInfo info;
  info.bytes = std::int64_t{kFloats} * std::int64_t{sizeof(float)};
  std::int64_t wrong = 0;
  const auto seconds_of = [&](std::size_t floats) {
    std::vector<float> values(floats);
    for (std::size_t i = 0; i < floats; ++i) values[i] = addend_of(comm.rank(), i);
    const double seconds = sum(values);
    if (!sum_is_right(values, comm.size())) wrong = 1;
    return seconds;
  };
  seconds_of(kFloats);  // warms up
  double best = seconds_of(kFloats);
  for (int repeat = 1; repeat < kRepeats; ++repeat) best = std::min(best, seconds_of(kFloats));
  for (int repeat = 0; repeat < kSmall; ++repeat) info.latency_s += seconds_of(2) / kSmall;
  comm.all_reduce_max(std::span(&wrong, 1));
  info.all_reduce_is_right = wrong == 0;
  info.bytes_per_s = static_cast<double>(info.bytes) / std::max(best, 1e-9);
  info.bus_bytes_per_s = info.bytes_per_s * 2 * (comm.size() - 1) / comm.size();
  return info;
}

NetworkInfo measure_network(Communicator& comm) {
  return measure_all_reduce(comm, [&](std::span<float> values) {
    comm.barrier();
    const Stopwatch watch;
    comm.all_reduce_sum(values);
    return watch.seconds();
  });
}

double measure_clock_offset(Communicator& comm) {
  double offset = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    comm.barrier();
    const double here = seconds_now();
    const double difference = here - broadcast_value(comm, here);
    // A rank that was late out of the barrier looks ahead: the smallest difference is the best.
    if (repeat == 0 || std::abs(difference) < std::abs(offset)) offset = difference;
  }
  return offset;
}

NetworkInfo measure_device_network(Communicator& comm, DeviceTransport& transport) {
  using HostFloats = Kokkos::View<float*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
  const ExecSpace exec = make_instance();
  return measure_all_reduce(comm, [&](std::span<float> values) {
    const HostFloats host(values.data(), values.size());
    const FloatView device("quern::app::preflight", values.size());
    Kokkos::deep_copy(device, host);
    comm.barrier();
    double seconds = 0;
    agree_on_exchange(comm, &transport, [&] {
      const Stopwatch watch;
      transport.all_reduce_sum({device.data(), device.extent(0)}, stream_of(exec));
      wait_for(exec, &transport);
      seconds = watch.seconds();
    });
    Kokkos::deep_copy(host, device);
    return seconds;
  });
}

std::optional<DeviceNetworkInfo> try_nccl(Communicator& comm) {
  const auto ids = all_gather_strings(comm, device_of_this_rank().id);
  if (kHostExecution || !built_with_nccl() || comm.size() == 1 || !sharing_text(ids).empty())
    return {};
  DeviceNetworkInfo info;
  try {
    const auto transport = connect_by_nccl(comm);
    info.transport = transport->name();
    info.network = measure_device_network(comm, *transport);
  } catch (const AgreedError& error) {
    info.transport = nccl_version();
    info.problem = error.what();
  }
  return info;
}

}  // namespace quern
