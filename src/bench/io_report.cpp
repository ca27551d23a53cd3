// SPDX-License-Identifier: Apache-2.0
#include "base/count_text.hpp"
#include "bench/report.hpp"

#include <fmt/format.h>

#include "base/unit_text.hpp"
#include "bench/json.hpp"

namespace quern {

namespace {

constexpr const char* kIoRow = "{:<19} {:<18} {:>9} {:>10} {:>20} {:>11} {:>14} {:>11} {:>7}\n";

std::string name_of(const IoRow& row) {
  if (row.operation == "checkpoint_write") return "write checkpoint";
  if (row.operation == "checkpoint_read") return "verify checkpoint";
  if (row.operation == "shards_read") return "load shards";
  const std::string name = row.operation == "shards_streamed" ? "stream shards" : "stream again";
  return name + (row.cold ? ", cold" : "");
}

std::string row_text(const IoRow& row) {
  const auto bytes = static_cast<double>(row.bytes);
  const double samples_per_s = static_cast<double>(row.samples) / row.time_s.median;
  return fmt::format(fmt::runtime(kIoRow), name_of(row), row.what, bytes_text(row.bytes),
                     time_text(row.time_s.median),
                     time_text(row.time_s.smallest) + " - " + time_text(row.time_s.largest),
                     rate_text(bytes / row.time_s.median),
                     row.samples > 0 ? fmt::format("{:.3g} M/s", samples_per_s * 1e-6) : "-",
                     time_text(row.raw_s.median),
                     fmt::format("{:.2f}", row.time_s.median / row.raw_s.median));
}

}  // namespace

std::string io_bench_text(const MachineInfo& machine, const IoBenchInfo& info) {
  std::string text = fmt::format(
      "{}\nin '{}', medians of {}; raw: the same bytes in one file by plain write + fsync + "
      "rename, or plain read.\nReading is from the system's cache; before what is called cold, and "
      "before the plain reading beside it, the system is asked to drop its copies.\n",
      machine_text(machine), info.folder, count_text(info.rounds, "round"));
  text += fmt::format(fmt::runtime(kIoRow), "operation", "of", "bytes", "time", "range", "rate",
                      "samples", "raw", "/ raw");
  for (const IoRow& row : info.rows) text += row_text(row);
  text.pop_back();
  return text;
}

std::string io_bench_json(const MachineInfo& machine, const IoBenchInfo& info) {
  Json json = bench_document("io", machine, info.rounds);
  json["folder"] = info.folder;
  for (const IoRow& row : info.rows) {
    Json object;
    object["operation"] = row.operation;
    object["of"] = row.what;
    object["bytes"] = row.bytes;
    if (row.samples > 0) {
      object["samples"] = row.samples;
      object["samples_per_s"] = static_cast<double>(row.samples) / row.time_s.median;
    }
    object["cold"] = row.cold;
    add_time(object, "time", row.time_s);
    add_time(object, "raw", row.raw_s);
    object["gb_per_s"] = static_cast<double>(row.bytes) / row.time_s.median * 1e-9;
    object["raw_gb_per_s"] = static_cast<double>(row.bytes) / row.raw_s.median * 1e-9;
    object["over_raw"] = row.time_s.median / row.raw_s.median;
    json["rows"].push_back(object);
  }
  return json.dump(2);
}

}  // namespace quern
