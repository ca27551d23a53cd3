// SPDX-License-Identifier: Apache-2.0
#include "runtime/host_staged_transport.hpp"

#include <algorithm>
#include <memory>
#include <numeric>

#include "base/assert.hpp"
#include "device/queue.hpp"

namespace quern {

namespace {

constexpr int kTag = 32000;  // reducers count theirs from 0

}  // namespace

HostStagedTransport::HostStagedTransport(Communicator& comm)
    : comm_(comm), counts_(static_cast<std::size_t>(comm.size())) {}

// The floats in host memory; the buffer grows in the first steps and then stays.
std::span<float> HostStagedTransport::fetch(Staging& staging, std::span<const float> device,
                                            DeviceStream stream) {
  if constexpr (kHostExecution) {
    return {const_cast<float*>(device.data()), device.size()};
  } else {
    if (staging.extent(0) < device.size()) {
      staging = Staging(Kokkos::view_alloc("quern::runtime::staging", Kokkos::WithoutInitializing),
                        device.size());
    }
    copy_floats(staging.data(), device.data(), device.size(), stream.handle);
    return {staging.data(), device.size()};
  }
}

void HostStagedTransport::put(std::span<float> device, std::span<const float> host,
                              DeviceStream stream) {
  if constexpr (!kHostExecution)
    copy_floats(device.data(), host.data(), host.size(), stream.handle);
}

void HostStagedTransport::all_reduce_sum(std::span<float> values, DeviceStream stream) {
  const std::span<float> host = fetch(send_, values, stream);
  comm_.all_reduce_sum(host);
  put(values, host, stream);
}

void HostStagedTransport::all_gather(std::span<float> all, DeviceStream stream) {
  const std::size_t each = all.size() / counts_.size();
  expect(each * counts_.size() == all.size(), "as many floats for each rank");
  std::fill(counts_.begin(), counts_.end(), static_cast<std::int64_t>(each));
  all_gather_v(all, counts_, stream);
}

void HostStagedTransport::all_gather_v(std::span<float> all, std::span<const std::int64_t> counts,
                                       DeviceStream stream) {
  const auto own = counts.begin() + rank();
  const auto begin =
      static_cast<std::size_t>(std::accumulate(counts.begin(), own, std::int64_t{0}));
  const std::span<float> host = fetch(send_, all, stream);
  comm_.all_gather_v(host.subspan(begin, static_cast<std::size_t>(*own)), host, counts);
  put(all, host, stream);
}

void HostStagedTransport::all_to_all_v(std::span<const float> send,
                                       std::span<const Segment> send_to, std::span<float> receive,
                                       std::span<const Segment> receive_from, DeviceStream stream) {
  const std::span<float> sent = fetch(send_, send, stream);
  const std::span<float> received = fetch(receive_, receive, stream);
  comm_.all_to_all_v(sent, send_to, received, receive_from);
  put(receive, received, stream);
}

// Not by all_to_all_v, in which all ranks take part. The messages are made anew each time: devices
// that share no NCCL have other worries.
void HostStagedTransport::send_and_receive(std::span<const float> send,
                                           std::span<const RankSegment> to,
                                           std::span<float> receive,
                                           std::span<const RankSegment> from, DeviceStream stream) {
  const std::span<const float> sent = fetch(send_, send, stream);
  const std::span<float> received = fetch(receive_, receive, stream);
  std::vector<std::unique_ptr<Message>> messages;
  const auto part = [](auto floats, const RankSegment& segment) {
    return floats.subspan(static_cast<std::size_t>(segment.offset),
                          static_cast<std::size_t>(segment.count));
  };
  for (const RankSegment& segment : from)
    messages.push_back(comm_.make_receive(part(received, segment), segment.rank, kTag));
  for (const RankSegment& segment : to)
    messages.push_back(comm_.make_send(part(sent, segment), segment.rank, kTag));
  for (const auto& message : messages) message->start();
  for (const auto& message : messages) message->wait();
  put(receive, received, stream);
}

}  // namespace quern
