// SPDX-License-Identifier: Apache-2.0
#include "bench/benches.hpp"

#include "base/log.hpp"
#include "bench/machine_meter.hpp"
#include "bench/report.hpp"
#include "bench/rounds.hpp"
#include "bench/timing.hpp"
#include "bench/workload.hpp"
#include "config/write_recipe.hpp"
#include "parallel/device_stream.hpp"

namespace quern {

ExitCode bench_step(Communicator& comm, const StepOptions& options) {
  constexpr double kRound = 0.4;  // seconds
  check_json_file(comm, options.json);
  BenchWorkload workload(comm, options.recipe, options.overrides);
  MachineMeter meter(comm);
  const ExecSpace exec = make_instance();
  const auto time_steps = [&](int steps) {
    return time_together(comm, [&] { workload.run_steps(exec, steps); }) / steps;
  };

  const RoundPlan plan =
      plan_rounds(options.rounds, options.steps, warm_step_s(options.warmup, time_steps), kRound);
  std::vector<double> seconds;
  run_rounds(
      plan, [&] { meter.measure(workload.tiles()); },
      [&](int steps) { workload.run_steps(exec, steps); },
      [&](int steps) { seconds.push_back(time_steps(steps)); });
  StepBenchInfo info;
  info.steps = plan.steps;
  info.settling = plan.settling;
  info.workload = workload.recipe.name;
  info.recipe = to_toml(workload.recipe);
  info.global_batch = workload.step.full_batch().samples();
  info.rounds = options.rounds;
  if (workload.recipe.data.source == DataSource::random) {
    info.epoch_samples = workload.recipe.data.samples;
    info.knows_epoch = true;
  }
  info.step_s = spread_of(seconds);
  info.flop_per_sample = 2.0 * static_cast<double>(workload.model.whole().training_macs());
  const StepFigures& figures = workload.step.figures();
  std::int64_t most[] = {figures.memory_bytes(), figures.sent_bytes};
  comm.all_reduce_max(most);
  info.memory_bytes = most[0];
  info.sent_bytes = most[1];
  log::print(step_bench_text(meter.info(), info));
  write_json_file(comm, options.json, step_bench_json(meter.info(), info));
  return ExitCode::done;
}

}  // namespace quern
