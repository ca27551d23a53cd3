// SPDX-License-Identifier: Apache-2.0
// What the JSON documents of all benchmarks share. benchmarks/README.md describes them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bench/machine_info.hpp"

namespace quern {

using Json = nlohmann::ordered_json;

/// The head of a document: {"benchmark": name, "machine": {...}, "rounds": n}.
Json bench_document(const std::string& name, const MachineInfo& machine, int rounds);

/// Adds "<name>_us" (the median), "fastest_<name>_us" and "slowest_<name>_us" to an object.
void add_time(Json& object, const std::string& name, const Spread& seconds);

}  // namespace quern
