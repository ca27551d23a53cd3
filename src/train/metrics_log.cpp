// SPDX-License-Identifier: Apache-2.0
#include "train/metrics_log.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace quern {

namespace {

// JSON has no NaN and no infinity.
nlohmann::ordered_json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : (value > 0 ? "inf" : "-inf");
}

}  // namespace

MetricsLog::MetricsLog(const std::filesystem::path& file)
    : path_(file), stream_(file, std::ios::app) {
  if (!stream_) throw InputError("cannot write '" + file.string() + "'");
}

void MetricsLog::write(const MetricsRecord& record) {
  nlohmann::ordered_json line;
  line["kind"] = record.kind;
  line["epoch"] = record.epoch;
  line["step"] = record.step;
  line["loss"] = number(record.loss);
  if (record.accuracy) line["accuracy"] = number(*record.accuracy);
  if (record.learning_rate) line["lr"] = number(*record.learning_rate);
  if (record.samples_per_s) line["samples_per_s"] = number(*record.samples_per_s);
  line["samples"] = record.samples;
  line["ranks"] = record.ranks;
  line["time_s"] = number(record.time_s);
  stream_ << line.dump() << '\n' << std::flush;
  if (!stream_) throw Error("cannot write '" + path_.string() + "' (is the disk full?)");
}

}  // namespace quern
