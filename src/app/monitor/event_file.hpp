// SPDX-License-Identifier: Apache-2.0
// Event files of TensorBoard: records of TFRecord, each a protobuf message tensorflow.Event
// (tensorflow/core/util/event.proto, framework/summary.proto; version "brain.Event:2").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/monitor/run_log.hpp"

namespace quern {

/// CRC-32C (Castagnoli).
std::uint32_t crc32c(std::string_view content);

/// One record: length, its masked checksum, the bytes, their masked checksum.
std::string tf_record(std::string_view content);

/// An event with scalars, as a record. `wall_time` in seconds since 1970.
std::string scalar_event(double wall_time, std::int64_t step,
                         const std::vector<std::pair<std::string, float>>& scalars);

/// The bytes of an event file with everything that metrics.jsonl says.
std::string event_file(const RunLog& run);

}  // namespace quern
