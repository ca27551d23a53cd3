// SPDX-License-Identifier: Apache-2.0
#include "strategy/step_kernels.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "support/views.hpp"
#include "tensor/host_values.hpp"

namespace quern::test {

// Whatever comes of a batch: the host waits longer for a device that gets on.
TEST(StepKernels, HostIsToldOfEveryBatchThatHasEnded) {
  const ExecSpace exec;
  const StepScalarsView scalars("test::scalars");
  const MetricSumsView metric_sums("test::metric_sums");
  const HostFlagsView host("test::host_flags");
  set_position(scalars, 0, {});
  reset_metric_sums(exec, metric_sums);
  EXPECT_EQ(batches_ended(host), 0);
  const auto end = [&](float loss) {
    std::vector<float> sums(Loss::kColumns);
    sums[Loss::kLoss] = loss;
    const FloatView view = to_view(sums);
    check_loss_finite(exec, scalars, view);
    end_batch(exec, scalars, 4, view, {}, metric_sums, host);
    exec.fence();
  };
  end(1);
  end(1);
  EXPECT_EQ(batches_ended(host), 2);
  end(std::numeric_limits<float>::infinity());
  EXPECT_EQ(batches_ended(host), 3);
  EXPECT_EQ(read_scalar(scalars).step, 2);
}

// Half of one above an odd count is no float any more from 2^23 on.
TEST(StepKernels, CountsOfLargeBatchesAreExact) {
  const ExecSpace exec;
  const StepScalarsView scalars("test::scalars");
  const MetricSumsView metric_sums("test::metric_sums");
  const HostFlagsView host("test::host_flags");
  set_position(scalars, 0, {});
  for (const int correct : {(1 << 23) + 1, (1 << 24) - 1, 1 << 24, 3}) {
    std::vector<float> sums(Loss::kColumns);
    sums[Loss::kCorrect] = static_cast<float>(correct);
    reset_metric_sums(exec, metric_sums);
    end_batch(exec, scalars, 1 << 24, to_view(sums), {}, metric_sums, host);
    exec.fence();
    EXPECT_EQ(read_scalar(metric_sums).correct, correct);
  }
}

}  // namespace quern::test
