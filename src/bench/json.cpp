// SPDX-License-Identifier: Apache-2.0
#include "bench/json.hpp"

namespace quern {

namespace {

Json bandwidth_json(const MeasuredBandwidth& bandwidth) {
  Json json;
  json["gb_per_s"] = bandwidth.rate.median * 1e-9;
  json["smallest_gb_per_s"] = bandwidth.rate.smallest * 1e-9;
  json["largest_gb_per_s"] = bandwidth.rate.largest * 1e-9;
  if (bandwidth.cache_bytes > 0) json["cache_bytes"] = bandwidth.cache_bytes;
  json["array_bytes"] = bandwidth.array_bytes;
  return json;
}

}  // namespace

Json bench_document(const std::string& name, const MachineInfo& machine, int rounds) {
  Json json;
  json["benchmark"] = name;
  Json& info = json["machine"];
  info["processor"] = machine.processor;
  info["vectors"] = machine.vectors;
  info["device"] = machine.device;
  info["ranks"] = machine.ranks;
  info["nodes"] = machine.nodes;
  info["threads"] = machine.threads;
  info["fma_peak_gflops"] = machine.fma_flops.median * 1e-9;
  info["smallest_fma_peak_gflops"] = machine.fma_flops.smallest * 1e-9;
  info["largest_fma_peak_gflops"] = machine.fma_flops.largest * 1e-9;
  if (!machine.tile_unit.empty()) {
    info["tile_unit"] = machine.tile_unit;
    info["tile_peak_gflops"] = machine.tile_flops.median * 1e-9;
    info["smallest_tile_peak_gflops"] = machine.tile_flops.smallest * 1e-9;
    info["largest_tile_peak_gflops"] = machine.tile_flops.largest * 1e-9;
  }
  info["l1"] = bandwidth_json(machine.l1);
  info["l2"] = bandwidth_json(machine.l2);
  info["l3"] = bandwidth_json(machine.l3);
  info["memory"] = bandwidth_json(machine.memory);
  json["rounds"] = rounds;
  return json;
}

void add_time(Json& object, const std::string& name, const Spread& seconds) {
  object[name + "_us"] = seconds.median * 1e6;
  object["fastest_" + name + "_us"] = seconds.smallest * 1e6;
  object["slowest_" + name + "_us"] = seconds.largest * 1e6;
}

}  // namespace quern
