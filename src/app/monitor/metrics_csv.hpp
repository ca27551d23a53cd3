// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/monitor/run_log.hpp"

namespace quern {

/// metrics.jsonl as a table with a head line: one line per record, empty where a record has no such
/// figure; of the ranks' times the means, and the longest waiting.
std::string metrics_csv(const RunLog& run);

}  // namespace quern
