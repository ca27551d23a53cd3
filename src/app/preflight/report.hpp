// SPDX-License-Identifier: Apache-2.0
// What `quern preflight` thinks of a launch, and says.
#pragma once

#include <string>
#include <vector>

#include "app/preflight/info.hpp"

namespace quern {

/// What is wrong with a launch, and the flag to change. Errors first. Pure: `findings` is not read.
std::vector<Finding> judge(const Preflight& info);

/// A table (rank, host, device, processors, threads), what was measured, and the findings. Of many
/// ranks only the first ones are shown.
std::string preflight_text(const Preflight& info);

/// All of it, as one JSON object.
std::string preflight_json(const Preflight& info);

/// "4 checkpoints of"
std::string checkpoints_of(const FileInfo& files);

/// Findings that forbid to go on.
int num_errors(const Preflight& info);

/// The nodes that all of these are about, where there are others: the same launch without them is
/// good. None where it is the launch that has to change.
std::vector<std::string> failing_hosts(const Preflight& info);

/// "preflight: failed on A,B; good on 3 other nodes": job templates read the nodes from it
/// (jobs/lib/job/nodes.sh).
std::string verdict_on(const std::vector<std::string>& failing, std::size_t num_others);

}  // namespace quern
