// SPDX-License-Identifier: Apache-2.0
// The real NCCL on one GPU: one rank, whose exchanges are copies on the device.
#include <gtest/gtest.h>

#include "comm/nccl_support.hpp"
#include "comm/serial/communicator.hpp"
#include "device/step_graph.hpp"
#include "parallel/device_stream.hpp"
#include "support/views.hpp"

namespace quern::test {

TEST(NcclOnOneDevice, JoinsExchangesAndCanBeRecorded) {
  SerialCommunicator comm;
  const auto transport = connect_by_nccl(comm);
  EXPECT_EQ(transport->name(), nccl_version());
  const ExecSpace exec = make_instance();
  const FloatView values = to_view(std::vector<float>{1, 2, 3});
  const std::span<float> all(values.data(), values.extent(0));
  StepGraph graph;
  for (int i = 0; i < 4; ++i) {
    graph.run(exec, [&] {
      transport->all_reduce_sum(all, stream_of(exec));
      transport->all_gather(all, stream_of(exec));
      transport->all_to_all_v(all, std::vector<Segment>(1), all, std::vector<Segment>(1),
                              stream_of(exec));
    });
    wait_for(exec, transport.get());
  }
  EXPECT_EQ(to_vector(values), (std::vector<float>{1, 2, 3}));
}

}  // namespace quern::test
