// SPDX-License-Identifier: Apache-2.0
#include "bench/measure_rank.hpp"

#include <algorithm>
#include <utility>

#include "bench/machine_meter.hpp"
#include "bench/rounds.hpp"
#include "bench/workload.hpp"
#include "parallel/device_stream.hpp"

namespace quern {

BenchMachine measure_machine(Communicator& comm) {
  constexpr int kRounds = 3;
  MachineMeter meter(comm);
  for (int round = 0; round < kRounds; ++round) meter.measure();
  const MachineInfo info = per_rank(meter.info());
  BenchMachine machine;
  machine.ranks = comm.size();
  machine.rank_flops = info.fma_flops.median;
  machine.rank_bytes_per_s = info.memory.rate.median;
  return machine;
}

MeasuredLine measure_rank(Communicator& comm, const std::string& recipe,
                          const std::vector<std::string>& overrides, int micro_block,
                          const std::vector<int>& batches) {
  constexpr int kRounds = 5;
  constexpr int kWarmUp = 3;
  constexpr double kRound = 0.2;  // seconds
  std::vector<MeasuredLine::Point> points;
  for (const int batch : batches) {
    std::vector<std::string> settings = overrides;
    settings.push_back("data.global_batch=" + std::to_string(batch));
    settings.push_back("train.micro_block=" + std::to_string(std::min(micro_block, batch)));
    BenchWorkload workload(comm, recipe, settings);
    const ExecSpace exec = make_instance();
    const auto time_steps = [&](int steps) {
      return time_together(comm, [&] { workload.run_steps(exec, steps); }) / steps;
    };
    const RoundPlan plan = plan_rounds(kRounds, 0, warm_step_s(kWarmUp, time_steps), kRound);
    std::vector<double> seconds;
    for (int round = 0; round < plan.rounds; ++round) seconds.push_back(time_steps(plan.steps));
    points.push_back({static_cast<double>(batch), spread_of(seconds).median});
  }
  return MeasuredLine(std::move(points));
}

}  // namespace quern
