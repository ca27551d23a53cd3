// SPDX-License-Identifier: Apache-2.0
// The processors that this process may run on.
#pragma once

#include <string>
#include <vector>

namespace quern {

/// Numbers of the processors in this process's mask, ascending; empty when the system does not
/// tell.
std::vector<int> allowed_cpus();

/// Restricts this process, and the threads it will start, to these processors. False when the
/// system refuses.
bool restrict_to_cpus(const std::vector<int>& cpus);

/// "0-3,8" for {0, 1, 2, 3, 8}, "-" for none.
std::string cpu_list_text(const std::vector<int>& cpus);

}  // namespace quern
