// SPDX-License-Identifier: Apache-2.0
#include "bench/benches.hpp"

#include "base/log.hpp"
#include "bench/machine_meter.hpp"
#include "bench/report.hpp"
#include "bench/timing.hpp"
#include "bench/workload.hpp"
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

  const double first = time_steps(options.warmup);
  StepBenchInfo info;
  info.steps = options.steps > 0 ? options.steps : calls_that_fill(kRound, first, 5, 5000);
  std::vector<double> seconds;
  for (int round = 0; round < options.rounds; ++round) {
    meter.measure();
    seconds.push_back(time_steps(static_cast<int>(info.steps)));
  }
  info.workload = workload.recipe.name;
  info.global_batch = workload.step.full_batch().samples();
  info.rounds = options.rounds;
  info.step_s = spread_of(seconds);
  info.flop_per_sample = 2.0 * static_cast<double>(workload.model.network().training_macs());
  log::print(step_bench_text(meter.info(), info));
  write_json_file(comm, options.json, step_bench_json(meter.info(), info));
  return ExitCode::done;
}

}  // namespace quern
