// SPDX-License-Identifier: Apache-2.0
#include "app/bench/kernels_bench.hpp"

#include <algorithm>
#include <memory>

#include "app/bench/kernel_profile.hpp"
#include "app/bench/kernels_report.hpp"
#include "app/bench/label_filter.hpp"
#include "app/bench/machine_meter.hpp"
#include "app/bench/options.hpp"
#include "app/bench/text.hpp"
#include "app/bench/timing.hpp"
#include "app/bench/workload.hpp"
#include "base/log.hpp"
#include "comm/agree.hpp"
#include "runtime/ranks.hpp"

namespace quern {

namespace {

struct KernelsOptions : BenchOptions {
  std::vector<std::string> recipes;
  std::vector<std::string> overrides;
  std::string filter;
  int steps = 0;
};

// A kernel's seconds per step, one value a round.
struct Measured {
  KernelTime kernel;
  double calls = 0;
  std::vector<double> seconds;
};

struct Measurements {
  std::int64_t steps = 0;
  std::vector<double> step_s;           // without profiling
  std::vector<double> profiled_step_s;  // with it
  std::vector<double> kernels_s;        // all kernels of a step
  std::vector<Measured> kernels;

  void add_round(const std::vector<KernelTime>& times) {
    double all = 0;
    for (const KernelTime& time : times) {
      auto it = std::find_if(kernels.begin(), kernels.end(), [&](const Measured& m) {
        return m.kernel.region == time.region && m.kernel.kernel == time.kernel;
      });
      if (it == kernels.end()) it = kernels.insert(it, Measured{time, 0, {}});
      it->calls = static_cast<double>(time.calls) / static_cast<double>(steps);
      it->seconds.push_back(time.seconds / static_cast<double>(steps));
      all += it->seconds.back();
    }
    kernels_s.push_back(all);
  }
};

// All ranks run alike; each profiles its own kernels.
Measurements measure(Communicator& comm, BenchWorkload& workload, MachineMeter& meter,
                     const KernelsOptions& options) {
  constexpr double kRound = 0.2;  // seconds, with and without profiling each
  constexpr int kWarmup = 20;
  const ExecSpace exec;
  const auto time_steps = [&](int steps) {
    return time_together(comm, [&] { workload.run_steps(exec, steps); }) / steps;
  };
  const double first = time_steps(kWarmup);
  const int steps = options.steps > 0 ? options.steps : calls_that_fill(kRound, first, 5, 5000);
  Measurements result;
  result.steps = steps;
  for (int round = 0; round < options.rounds; ++round) {
    meter.measure();
    result.step_s.push_back(time_steps(steps));
    KernelProfile profile;
    result.profiled_step_s.push_back(time_steps(steps));
    result.add_round(profile.take());
  }
  return result;
}

// What the region of a layer adds to a row.
void describe_layer(const BenchWorkload& workload, const Layer& layer, int samples,
                    KernelRow& row) {
  LayerFacts facts{layer.input_shape(), layer.output_shape(), layer.macs(), 0};
  for (const ParameterEntry& entry : workload.model.network().table().entries()) {
    if (entry.name.rfind(layer.name() + ".", 0) == 0) facts.weights += entry.count;
  }
  row.layer = layer.name();
  row.shape = layer_kernel_shape(facts, samples);
  row.cost = layer_kernel_cost(row.kernel, facts, samples);
}

void describe_rest(const BenchWorkload& workload, int samples, KernelRow& row) {
  const Network& network = workload.model.network();
  const StepFacts facts{network.input_shape(), network.output_shape(),
                        network.table().block_size()};
  row.shape = step_kernel_shape(row.kernel, facts, samples);
  row.cost = step_kernel_cost(row.kernel, facts, samples);
}

KernelRow make_row(const BenchWorkload& workload, const Measured& measured, int samples) {
  KernelRow row;
  row.kernel = measured.kernel.kernel;
  row.calls = measured.calls;
  row.time_s = spread_of(measured.seconds);
  const auto layers = workload.model.network().layers();
  const auto layer = std::find_if(layers.begin(), layers.end(), [&](const Layer* l) {
    return measured.kernel.region == region_of_layer(l->name());
  });
  if (layer != layers.end()) {
    describe_layer(workload, **layer, samples, row);
  } else {
    describe_rest(workload, samples, row);
  }
  // Several calls of a product kernel share one product; other kernels do their work again.
  if (row.cost.flop <= 0) row.cost.bytes *= row.calls;
  return row;
}

KernelsBenchFacts describe(const BenchWorkload& workload, const Measurements& measured,
                           const LabelFilter& filter, int rounds) {
  KernelsBenchFacts facts;
  facts.workload = workload.recipe.name;
  facts.global_batch = workload.step.full_batch().samples();
  facts.samples = workload.step.full_batch().num_samples;
  facts.steps = measured.steps;
  facts.rounds = rounds;
  facts.step_s = spread_of(measured.step_s);
  facts.profiled_step_s = spread_of(measured.profiled_step_s);
  facts.kernels_s = spread_of(measured.kernels_s);
  for (const Measured& kernel : measured.kernels) {
    const KernelRow row = make_row(workload, kernel, facts.samples);
    if (filter.finds(row.layer + " " + row.kernel)) facts.rows.push_back(row);
  }
  return facts;
}

ExitCode bench_kernels(Communicator& comm, const KernelsOptions& options) {
  const LabelFilter filter = agree(comm, [&] { return LabelFilter(options.filter); });
  check_json_file(comm, options.json);
  MachineMeter meter(comm);
  std::vector<KernelsBenchFacts> all;
  for (const std::string& recipe : recipes_or_default(comm, options.recipes)) {
    BenchWorkload workload(comm, recipe, options.overrides);
    all.push_back(
        describe(workload, measure(comm, workload, meter, options), filter, options.rounds));
  }
  const MachineFacts machine = meter.facts();
  log::print(machine_text(machine));
  if (comm.size() > 1) log::print("kernels: those of rank 0, rates against its part of the peaks");
  for (const KernelsBenchFacts& facts : all) {
    log::print("\n" + kernels_bench_text(per_rank(machine), facts));
  }
  write_json_file(comm, options.json, kernels_bench_json(machine, all));
  return ExitCode::done;
}

}  // namespace

Command add_kernels_bench(CommandLine bench) {
  const auto options = std::make_shared<KernelsOptions>();
  CommandLine command = bench.add_command(
      "kernels",
      "Every kernel of a training step: time, Gflop/s, bytes/s, and how near it is to the limit of "
      "the machine");
  command.add_option("recipes", options->recipes,
                     "Recipe files (default: mlp-mnist, lenet-fashion, autoencoder-mnist)");
  add_overrides(command, options->overrides);
  command.add_option("--filter", options->filter,
                     "Show the kernels whose \"layer label\" this regular expression finds");
  command.add_option("--steps", options->steps, "Steps of a round (default: about 0.2 s worth)")
      .in_range(1, 1000000);
  add_bench_options(command, *options);
  return {command, [options] {
            return run_on_ranks([&](Communicator& comm) { return bench_kernels(comm, *options); });
          }};
}

}  // namespace quern
