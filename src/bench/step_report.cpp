// SPDX-License-Identifier: Apache-2.0
#include "base/count_text.hpp"
#include "base/unit_text.hpp"
#include "bench/report.hpp"

#include <fmt/format.h>

#include "bench/json.hpp"

namespace quern {

static std::string epoch_text(const StepBenchInfo& info) {
  const std::string time = time_text(info.seconds_per_epoch());
  if (info.knows_epoch) return fmt::format("{} per epoch of {}", time, info.epoch_samples);
  return fmt::format("{} for {} samples, however many the recipe's data has", time,
                     info.epoch_samples);
}

std::string step_bench_text(const MachineInfo& machine, const StepBenchInfo& info) {
  const bool on_tiles = !machine.tile_unit.empty();
  const double peak = (on_tiles ? machine.tile_flops : machine.fma_flops).median;
  return fmt::format(
      "{}\n{}: {:.0f} samples/s, {} a step of {} (median of {} of {} after {} untimed, {} "
      "to {}), {}\n{:.1f} Gflop/s, {:.1f} % of {}",
      machine_text(machine), info.workload, info.samples_per_s(), time_text(info.step_s.median),
      count_text(info.global_batch, "sample"), count_text(info.rounds, "round"),
      count_text(info.steps, "step"), info.settling, time_text(info.step_s.smallest),
      time_text(info.step_s.largest), epoch_text(info), info.flops() * 1e-9,
      100 * info.flops() / peak, on_tiles ? "the peak of tiles" : "the FMA peak");
}

std::string step_bench_json(const MachineInfo& machine, const StepBenchInfo& info) {
  Json json = bench_document("step", machine, info.rounds);
  json["workload"] = info.workload;
  json["recipe"] = info.recipe;
  json["global_batch"] = info.global_batch;
  json["steps"] = info.steps;
  json["untimed_steps"] = info.settling;
  add_time(json, "step", info.step_s);
  json["samples_per_s"] = info.samples_per_s();
  json["epoch_samples"] = info.epoch_samples;
  json["seconds_per_epoch"] = info.seconds_per_epoch();
  json["memory_bytes"] = info.memory_bytes;
  json["sent_bytes"] = info.sent_bytes;
  json["gflops"] = info.flops() * 1e-9;
  json["peak_gflops"] = machine.fma_flops.median * 1e-9;
  json["fraction_of_peak"] = info.flops() / machine.fma_flops.median;
  if (!machine.tile_unit.empty())
    json["fraction_of_tile_peak"] = info.flops() / machine.tile_flops.median;
  return json.dump(2);
}

}  // namespace quern
