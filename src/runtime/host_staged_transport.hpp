// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "comm/device_transport.hpp"
#include "tensor/types.hpp"

namespace quern {

/// Device memory through host memory and the Communicator: for devices without NCCL, and for
/// several ranks on one device. The host waits for the stream in every exchange, so nothing of it
/// can be captured. Where kernels run on the host, their memory is handed on as it is.
class HostStagedTransport : public DeviceTransport {
 public:
  /// `comm` must outlive it.
  explicit HostStagedTransport(Communicator& comm);

  int rank() const override { return comm_.rank(); }
  int size() const override { return comm_.size(); }
  const char* name() const override { return "MPI through host memory"; }
  bool is_capturable() const override { return false; }
  bool moves_segments_alone() const override { return kHostExecution; }

  void all_reduce_sum(std::span<float> values, DeviceStream stream) override;
  void all_gather(std::span<float> all, DeviceStream stream) override;
  void all_gather_v(std::span<float> all, std::span<const std::int64_t> counts,
                    DeviceStream stream) override;
  void all_to_all_v(std::span<const float> send, std::span<const Segment> send_to,
                    std::span<float> receive, std::span<const Segment> receive_from,
                    DeviceStream stream) override;

  void send_and_receive(std::span<const float> send, std::span<const RankSegment> to,
                        std::span<float> receive, std::span<const RankSegment> from,
                        DeviceStream stream) override;

 private:
  using Staging = Kokkos::View<float*, Kokkos::SharedHostPinnedSpace>;
  static std::span<float> fetch(Staging& staging, std::span<const float> device, DeviceStream);
  static void put(std::span<float> device, std::span<const float> host, DeviceStream);

  Communicator& comm_;
  std::vector<std::int64_t> counts_;
  Staging send_;
  Staging receive_;
};

}  // namespace quern
