// SPDX-License-Identifier: Apache-2.0
#include "app/results_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace quern {

using Json = nlohmann::ordered_json;

std::string evaluation_report(const EvaluationFacts& facts) {
  std::string text = fmt::format("{} on {}: loss {:.6f}", facts.checkpoint, facts.data, facts.loss);
  if (facts.correct) {
    text += fmt::format(
        "  accuracy {:.2f} % ({} of {})",
        100.0 * static_cast<double>(*facts.correct) / static_cast<double>(facts.samples),
        *facts.correct, facts.samples);
  } else {
    text += fmt::format("  ({} samples)", facts.samples);
  }
  return text;
}

std::string evaluation_json(const EvaluationFacts& facts) {
  Json json;
  json["checkpoint"] = facts.checkpoint;
  json["data"] = facts.data;
  json["step"] = facts.step;
  json["samples"] = facts.samples;
  json["loss"] = facts.loss;
  if (facts.correct) {
    json["correct"] = *facts.correct;
    json["accuracy"] = static_cast<double>(*facts.correct) / static_cast<double>(facts.samples);
  }
  json["ranks"] = facts.ranks;
  return json.dump();
}

std::string step_bench_report(const StepBenchFacts& facts) {
  return fmt::format(
      "{}: {:.0f} samples/s, {:.1f} us a step of {} samples (median of {} rounds of {} steps, "
      "{:.1f} to "
      "{:.1f}), {:.2f} s per epoch of {}\n{:.1f} Gflop/s, {:.1f} % of the measured FMA peak of "
      "{:.1f} "
      "Gflop/s ({} rank{} x {} thread{}, {})",
      facts.workload, facts.samples_per_s(), facts.step_s * 1e6, facts.global_batch, facts.rounds,
      facts.steps, facts.fastest_step_s * 1e6, facts.slowest_step_s * 1e6,
      static_cast<double>(facts.epoch_samples) / facts.samples_per_s(), facts.epoch_samples,
      facts.gflops(), 100 * facts.gflops() / facts.peak_gflops, facts.peak_gflops, facts.ranks,
      facts.ranks == 1 ? "" : "s", facts.threads, facts.threads == 1 ? "" : "s", facts.device);
}

std::string step_bench_json(const StepBenchFacts& facts) {
  Json json;
  json["workload"] = facts.workload;
  json["device"] = facts.device;
  json["ranks"] = facts.ranks;
  json["threads"] = facts.threads;
  json["global_batch"] = facts.global_batch;
  json["steps"] = facts.steps;
  json["rounds"] = facts.rounds;
  json["step_us"] = facts.step_s * 1e6;
  json["fastest_step_us"] = facts.fastest_step_s * 1e6;
  json["slowest_step_us"] = facts.slowest_step_s * 1e6;
  json["samples_per_s"] = facts.samples_per_s();
  json["seconds_per_epoch"] = static_cast<double>(facts.epoch_samples) / facts.samples_per_s();
  json["gflops"] = facts.gflops();
  json["peak_gflops"] = facts.peak_gflops;
  json["fraction_of_peak"] = facts.gflops() / facts.peak_gflops;
  return json.dump(2);
}

}  // namespace quern
