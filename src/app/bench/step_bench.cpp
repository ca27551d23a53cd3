// SPDX-License-Identifier: Apache-2.0
#include "app/bench/step_bench.hpp"

#include <memory>

#include "app/bench/machine_meter.hpp"
#include "app/bench/options.hpp"
#include "app/bench/step_report.hpp"
#include "app/bench/timing.hpp"
#include "app/bench/workload.hpp"
#include "base/log.hpp"
#include "parallel/device_stream.hpp"
#include "runtime/ranks.hpp"

namespace quern {

namespace {

struct StepOptions : BenchOptions {
  std::string recipe;
  std::vector<std::string> overrides;
  int steps = 0;
  int warmup = 20;
};

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
  StepBenchFacts facts;
  facts.steps = options.steps > 0 ? options.steps : calls_that_fill(kRound, first, 5, 5000);
  std::vector<double> seconds;
  for (int round = 0; round < options.rounds; ++round) {
    meter.measure();
    seconds.push_back(time_steps(static_cast<int>(facts.steps)));
  }
  facts.workload = workload.recipe.name;
  facts.global_batch = workload.step.full_batch().samples();
  facts.rounds = options.rounds;
  facts.step_s = spread_of(seconds);
  facts.flop_per_sample = 2.0 * static_cast<double>(workload.model.network().training_macs());
  log::print(step_bench_text(meter.facts(), facts));
  write_json_file(comm, options.json, step_bench_json(meter.facts(), facts));
  return ExitCode::done;
}

}  // namespace

Command add_step_bench(CommandLine bench) {
  const auto options = std::make_shared<StepOptions>();
  CommandLine command = bench.add_command(
      "step", "Training steps of a recipe on made-up data: samples/s, fraction of the FMA peak");
  command.add_option("recipe", options->recipe, "Recipe file").required();
  add_overrides(command, options->overrides);
  command.add_option("--steps", options->steps, "Steps of a round (default: about 0.4 s worth)")
      .in_range(1, 1000000);
  command.add_option("--warmup", options->warmup, "Steps before the first round")
      .in_range(1, 1000000)
      .show_default();
  add_bench_options(command, *options);
  return {command, [options] {
            return run_on_ranks([&](Communicator& comm) { return bench_step(comm, *options); });
          }};
}

}  // namespace quern
