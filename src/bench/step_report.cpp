// SPDX-License-Identifier: Apache-2.0
#include "bench/report.hpp"

#include <fmt/format.h>

#include "bench/json.hpp"

namespace quern {

std::string step_bench_text(const MachineFacts& machine, const StepBenchFacts& facts) {
  return fmt::format(
      "{}\n{}: {:.0f} samples/s, {} a step of {} samples (median of {} of {}, {} to {}), "
      "{:.2f} s per epoch of {}\n{:.1f} Gflop/s, {:.1f} % of the FMA peak",
      machine_text(machine), facts.workload, facts.samples_per_s(), time_text(facts.step_s.median),
      facts.global_batch, count_text(facts.rounds, "round"), count_text(facts.steps, "step"),
      time_text(facts.step_s.smallest), time_text(facts.step_s.largest),
      static_cast<double>(facts.epoch_samples) / facts.samples_per_s(), facts.epoch_samples,
      facts.flops() * 1e-9, 100 * facts.flops() / machine.fma_flops.median);
}

std::string step_bench_json(const MachineFacts& machine, const StepBenchFacts& facts) {
  Json json = bench_document("step", machine, facts.rounds);
  json["workload"] = facts.workload;
  json["global_batch"] = facts.global_batch;
  json["steps"] = facts.steps;
  add_time(json, "step", facts.step_s);
  json["samples_per_s"] = facts.samples_per_s();
  json["epoch_samples"] = facts.epoch_samples;
  json["seconds_per_epoch"] = static_cast<double>(facts.epoch_samples) / facts.samples_per_s();
  json["gflops"] = facts.flops() * 1e-9;
  json["peak_gflops"] = machine.fma_flops.median * 1e-9;
  json["fraction_of_peak"] = facts.flops() / machine.fma_flops.median;
  return json.dump(2);
}

}  // namespace quern
