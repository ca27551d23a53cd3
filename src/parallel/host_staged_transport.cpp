// SPDX-License-Identifier: Apache-2.0
#include "parallel/host_staged_transport.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/error.hpp"

namespace quern {

namespace {

#if defined(KOKKOS_ENABLE_CUDA)
// Puts the copy on the stream and waits for it, and so for everything before it.
void copy(float* to, const float* from, std::size_t count, DeviceStream stream) {
  const auto queue = static_cast<cudaStream_t>(stream.handle);
  cudaError_t code = cudaMemcpyAsync(to, from, count * sizeof(float), cudaMemcpyDefault, queue);
  if (code == cudaSuccess) code = cudaStreamSynchronize(queue);
  if (code != cudaSuccess) {
    throw Error(std::string("a copy between host and device failed: ") + cudaGetErrorString(code));
  }
}
#elif defined(KOKKOS_ENABLE_HIP)
void copy(float* to, const float* from, std::size_t count, DeviceStream stream) {
  const auto queue = static_cast<hipStream_t>(stream.handle);
  hipError_t code = hipMemcpyAsync(to, from, count * sizeof(float), hipMemcpyDefault, queue);
  if (code == hipSuccess) code = hipStreamSynchronize(queue);
  if (code != hipSuccess) {
    throw Error(std::string("a copy between host and device failed: ") + hipGetErrorString(code));
  }
}
#else
void copy(float*, const float*, std::size_t, DeviceStream) {
  throw Error("kernel memory is host memory here, expected no copies");
}
#endif

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
      staging = Staging(Kokkos::view_alloc("quern::parallel::staging", Kokkos::WithoutInitializing),
                        device.size());
    }
    copy(staging.data(), device.data(), device.size(), stream);
    return {staging.data(), device.size()};
  }
}

void HostStagedTransport::put(std::span<float> device, std::span<const float> host,
                              DeviceStream stream) {
  if constexpr (!kHostExecution) copy(device.data(), host.data(), host.size(), stream);
}

void HostStagedTransport::all_reduce_sum(std::span<float> values, DeviceStream stream) {
  const std::span<float> host = fetch(send_, values, stream);
  comm_.all_reduce_sum(host);
  put(values, host, stream);
}

void HostStagedTransport::all_gather(std::span<float> all, DeviceStream stream) {
  const std::size_t each = all.size() / counts_.size();
  expect(each * counts_.size() == all.size(), "as many floats for each rank");
  const std::span<float> host = fetch(send_, all, stream);
  std::fill(counts_.begin(), counts_.end(), static_cast<std::int64_t>(each));
  comm_.all_gather_v(host.subspan(static_cast<std::size_t>(rank()) * each, each), host, counts_);
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

}  // namespace quern
