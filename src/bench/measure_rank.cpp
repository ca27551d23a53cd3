// SPDX-License-Identifier: Apache-2.0
#include "bench/measure_rank.hpp"

#include <sys/resource.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "bench/absent_ranks.hpp"
#include "bench/lone_step.hpp"
#include "bench/machine_meter.hpp"
#include "bench/rounds.hpp"
#include "bench/workload.hpp"
#include "parallel/device_stream.hpp"
#include "train/progress.hpp"

namespace quern {

namespace {

double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// `run`(exec, steps).
template <class Run>
double step_s(Communicator& comm, ProcessorUse& use, Run&& run) {
  constexpr int kRounds = 5;
  constexpr int kWarmUp = 3;
  constexpr double kRound = 0.2;  // seconds
  const ExecSpace exec = make_instance();
  const auto time_steps = [&](int steps) {
    return time_together(comm, [&] { run(exec, steps); }) / steps;
  };
  const RoundPlan plan = plan_rounds(kRounds, 0, warm_step_s(kWarmUp, time_steps), kRound);
  std::vector<double> seconds;
  const double processors = processor_seconds();
  for (int round = 0; round < plan.rounds; ++round) {
    seconds.push_back(time_steps(plan.steps));
    use.seconds += seconds.back() * plan.steps;
  }
  use.processor_seconds += processor_seconds() - processors;
  return spread_of(seconds).median;
}

/// The first rank of a stage; the parameters stay what they are, whatever the absent ranks leave in
/// the arrays.
double stage_step_s(Communicator& comm, ProcessorUse& use, Recipe recipe, int stage) {
  const GridShape shape{1, recipe.parallel.pipeline, recipe.parallel.tensor};
  recipe.optimizer.lr = 0;
  AbsentRanks world(stage * shape.tensor, shape.size());
  BenchWorkload workload(recipe,
                         {world, shape, std::make_shared<AbsentRanks>(stage, shape.pipeline),
                          std::make_shared<AbsentRanks>(0, shape.tensor)});
  return step_s(comm, use,
                [&](const ExecSpace& exec, int steps) { workload.run_steps(exec, steps); });
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
                      const std::vector<int>& batches, ProcessorUse* use) {
  ProcessorUse unwanted;
  ProcessorUse& own_use = use ? *use : unwanted;
  std::vector<std::vector<MeasuredLine::Point>> points;
  bool is_split = false;
  std::optional<Progress> progress;
  std::int64_t measured = 0;
  for (const int batch : batches) {
    const Recipe recipe = recipe_of_batch(comm, file, overrides, ranks, micro_block, batch);
    const int stages = recipe.parallel.pipeline;
    if (!progress) progress.emplace(comm.rank() == 0, 0, std::ssize(batches) * stages);
    is_split = stages > 1 || recipe.parallel.tensor > 1;
    points.resize(static_cast<std::size_t>(stages));
    for (int stage = 0; stage < stages; ++stage) {
      double seconds = 0;
      if (is_split) {
        seconds = stage_step_s(comm, own_use, recipe, stage);
      } else {
        LoneStep alone(recipe);
        seconds = step_s(comm, own_use,
                         [&](const ExecSpace& exec, int steps) { alone.run(exec, steps); });
      }
      points[static_cast<std::size_t>(stage)].push_back({static_cast<double>(batch), seconds});
      progress->step(++measured, [&] {
        return "measured steps of " + std::to_string(batch) + " samples" +
               (stages > 1 ? " in stage " + std::to_string(stage) : "");
      });
    }
  }
  if (progress) progress->finish();
  if (!is_split) return MeasuredLine(std::move(points.front()));
  std::vector<MeasuredLine> lines;
  for (auto& of_stage : points) lines.emplace_back(std::move(of_stage));
  return RankWork(std::move(lines));
}

}  // namespace quern
