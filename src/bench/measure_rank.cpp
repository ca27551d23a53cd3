// SPDX-License-Identifier: Apache-2.0
#include "bench/measure_rank.hpp"

#include <algorithm>
#include <utility>

#include "bench/absent_ranks.hpp"
#include "bench/machine_meter.hpp"
#include "bench/rounds.hpp"
#include "bench/workload.hpp"
#include "comm/agree.hpp"
#include "comm/serial/communicator.hpp"
#include "parallel/device_stream.hpp"
#include "strategy/recipe_grid.hpp"
#include "train/load_recipe.hpp"

namespace quern {

namespace {

double step_s(Communicator& comm, BenchWorkload& workload) {
  constexpr int kRounds = 5;
  constexpr int kWarmUp = 3;
  constexpr double kRound = 0.2;  // seconds
  const ExecSpace exec = make_instance();
  const auto time_steps = [&](int steps) {
    return time_together(comm, [&] { workload.run_steps(exec, steps); }) / steps;
  };
  const RoundPlan plan = plan_rounds(kRounds, 0, warm_step_s(kWarmUp, time_steps), kRound);
  std::vector<double> seconds;
  for (int round = 0; round < plan.rounds; ++round) seconds.push_back(time_steps(plan.steps));
  return spread_of(seconds).median;
}

/// The first rank of a stage; the parameters stay what they are, whatever the absent ranks leave in
/// the arrays.
double stage_step_s(Communicator& comm, Recipe recipe, int stage) {
  const GridShape shape{1, recipe.parallel.pipeline, recipe.parallel.tensor};
  recipe.optimizer.lr = 0;
  AbsentRanks world(stage * shape.tensor, shape.size());
  BenchWorkload workload(recipe,
                         {world, shape, std::make_shared<AbsentRanks>(stage, shape.pipeline),
                          std::make_shared<AbsentRanks>(0, shape.tensor)});
  return step_s(comm, workload);
}

}  // namespace

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

RankWork measure_rank(Communicator& comm, const std::string& file,
                      const std::vector<std::string>& overrides, int ranks, int micro_block,
                      const std::vector<int>& batches) {
  std::vector<std::vector<MeasuredLine::Point>> points;
  bool is_split = false;
  for (const int batch : batches) {
    std::vector<std::string> settings = overrides;
    settings.push_back("data.global_batch=" + std::to_string(batch));
    settings.push_back("train.micro_block=" + std::to_string(std::min(micro_block, batch)));
    const Recipe recipe = agree(comm, [given = load_recipe(comm, file, settings), ranks] {
      return with_strategy(given, ranks);
    });
    const int stages = recipe.parallel.pipeline;
    is_split = stages > 1 || recipe.parallel.tensor > 1;
    points.resize(static_cast<std::size_t>(stages));
    for (int stage = 0; stage < stages; ++stage) {
      double seconds = 0;
      if (is_split) {
        seconds = stage_step_s(comm, recipe, stage);
      } else {
        SerialCommunicator alone;
        BenchWorkload workload(recipe, ProcessGrid(alone));
        seconds = step_s(comm, workload);
      }
      points[static_cast<std::size_t>(stage)].push_back({static_cast<double>(batch), seconds});
    }
  }
  if (!is_split) return MeasuredLine(std::move(points.front()));
  std::vector<MeasuredLine> lines;
  for (auto& of_stage : points) lines.emplace_back(std::move(of_stage));
  return RankWork(std::move(lines));
}

}  // namespace quern
