// SPDX-License-Identifier: Apache-2.0
// What preflight says of ranks that did not come.
#pragma once

#include <string>
#include <vector>

namespace quern {

/// `missing` of the ranks on `hosts`; `during`: "within 5 s during the all-reduce".
std::string absence_text(const std::vector<int>& missing, const std::vector<std::string>& hosts,
                         const std::string& during);

/// The last line (verdict_on() in report.hpp), where the missing ranks are on few nodes: else it
/// may be the network of whoever listens. "" otherwise.
std::string absence_verdict(const std::vector<int>& missing, const std::vector<std::string>& hosts);

}  // namespace quern
