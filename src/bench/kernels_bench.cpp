// SPDX-License-Identifier: Apache-2.0
#include "bench/benches.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "bench/kernel_profile.hpp"
#include "bench/label_filter.hpp"
#include "bench/layer_info.hpp"
#include "bench/machine_meter.hpp"
#include "bench/report.hpp"
#include "bench/rounds.hpp"
#include "bench/timing.hpp"
#include "bench/workload.hpp"
#include "comm/agree.hpp"

namespace quern {

namespace {

// A kernel's seconds per step, one value a round.
struct Measured {
  KernelTime kernel;
  double calls = 0;
  std::vector<double> seconds;
};

struct Measurements {
  RoundPlan plan;
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
      it->calls = static_cast<double>(time.calls) / plan.steps;
      it->seconds.push_back(time.seconds / plan.steps);
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
  Measurements result;
  result.plan =
      plan_rounds(options.rounds, options.steps, warm_step_s(kWarmup, time_steps), kRound);
  run_rounds(
      result.plan, [&] { meter.measure(workload.tiles()); },
      [&](int steps) { workload.run_steps(exec, steps); },
      [&](int steps) {
        result.step_s.push_back(time_steps(steps));
        KernelProfile profile;
        result.profiled_step_s.push_back(time_steps(steps));
        result.add_round(profile.take());
      });
  return result;
}

// What the region of a layer adds to a row.
void describe_layer(const NamedLayerInfo& layer, int samples, KernelRow& row) {
  row.layer = layer.name;
  row.shape = layer_kernel_shape(layer.info, samples);
  row.cost = layer_kernel_cost(row.kernel, layer.info, samples);
}

void describe_rest(const BenchWorkload& workload, int samples, KernelRow& row) {
  const Network& network = workload.model.network();
  const StepInfo info{network.input_shape(), network.output_shape(), network.table().reduced_size(),
                      workload.samples.count};
  row.shape = step_kernel_shape(row.kernel, info, samples);
  row.cost = step_kernel_cost(row.kernel, info, samples);
}

KernelRow make_row(const BenchWorkload& workload, const Measured& measured, int samples) {
  KernelRow row;
  row.kernel = measured.kernel.kernel;
  row.calls = measured.calls;
  row.time_s = spread_of(measured.seconds);
  const auto layer = layer_of_region(workload.model.network(), measured.kernel.region);
  if (layer) {
    describe_layer(*layer, samples, row);
  } else {
    describe_rest(workload, samples, row);
  }
  row.cost.on_tiles = row.cost.flop > 0 && workload.tiles().has_value();
  // Several calls of a product kernel share one product; other kernels do their work again.
  if (row.cost.flop <= 0) {
    row.cost.bytes *= row.calls;
    row.cost.gathered *= row.calls;
  }
  return row;
}

KernelsBenchInfo describe(const BenchWorkload& workload, const Measurements& measured,
                          const LabelFilter& filter) {
  KernelsBenchInfo info;
  info.workload = workload.recipe.name;
  info.global_batch = workload.step.full_batch().samples();
  info.samples = workload.step.full_batch().num_samples;
  info.steps = measured.plan.steps;
  info.settling = measured.plan.settling;
  info.rounds = measured.plan.rounds;
  info.step_s = spread_of(measured.step_s);
  info.profiled_step_s = spread_of(measured.profiled_step_s);
  info.kernels_s = spread_of(measured.kernels_s);
  const std::vector<std::string> known = kernels_with_declared_cost();
  for (const Measured& kernel : measured.kernels) {
    const KernelRow row = make_row(workload, kernel, info.samples);
    if (std::find(known.begin(), known.end(), row.kernel) == known.end())
      log::warn("no cost is declared for the kernel '" + row.kernel + "': its rate is not shown");
    if (filter.finds_kernel(row.layer, row.kernel)) info.rows.push_back(row);
  }
  return info;
}

}  // namespace

ExitCode bench_kernels(Communicator& comm, const KernelsOptions& options) {
  const LabelFilter filter = agree(comm, [&] { return LabelFilter(options.filter); });
  check_json_file(comm, options.json);
  MachineMeter meter(comm);
  std::vector<KernelsBenchInfo> all;
  for (const std::string& recipe : recipes_or_default(comm, options.recipes)) {
    BenchWorkload workload(comm, recipe, options.overrides);
    all.push_back(describe(workload, measure(comm, workload, meter, options), filter));
  }
  const auto is_empty = [](const KernelsBenchInfo& info) { return info.rows.empty(); };
  if (!options.filter.empty() && std::ranges::all_of(all, is_empty)) {
    log::warn("--filter: '" + options.filter +
              "' finds no kernel (expected a part of \"layer label\", as the table shows them)");
  }
  const MachineInfo machine = meter.info();
  log::print(machine_text(machine));
  if (comm.size() > 1) log::print("kernels: those of rank 0, rates against its part of the peaks");
  for (const KernelsBenchInfo& info : all) {
    log::print("\n" + kernels_bench_text(per_rank(machine), info));
  }
  write_json_file(comm, options.json, kernels_bench_json(machine, all));
  return ExitCode::done;
}

}  // namespace quern
