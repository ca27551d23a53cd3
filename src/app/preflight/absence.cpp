// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/absence.hpp"

#include <algorithm>
#include <set>

#include "app/preflight/report.hpp"
#include "base/count_text.hpp"

namespace quern {

std::string absence_text(const std::vector<int>& missing, const std::vector<std::string>& hosts,
                         const std::string& during) {
  constexpr std::size_t kNamed = 8;
  std::string named;
  for (std::size_t i = 0; i < std::min(missing.size(), kNamed); ++i) {
    named += (i == 0 ? "rank " : ", rank ") + std::to_string(missing[i]) + " on " +
             hosts[static_cast<std::size_t>(missing[i])];
  }
  if (missing.size() > kNamed)
    named += ", and " + std::to_string(missing.size() - kNamed) + " more";
  return "no answer from " + std::to_string(missing.size()) + " of " +
         count_text(std::ssize(hosts), "rank") + " " + during + " (--timeout): " + named +
         "; a node, its network or its file system hangs";
}

std::string absence_verdict(const std::vector<int>& missing,
                            const std::vector<std::string>& hosts) {
  const std::set<std::string> all(hosts.begin(), hosts.end());
  std::set<std::string> failing;
  for (const int rank : missing) failing.insert(hosts[static_cast<std::size_t>(rank)]);
  // Of many it may be the network of those that answer, or a file system that is slow for all.
  constexpr std::size_t kFew = 8;
  if (failing.size() > std::max<std::size_t>(1, all.size() / kFew) ||
      2 * failing.size() > all.size())
    return "";
  return verdict_on({failing.begin(), failing.end()}, all.size() - failing.size());
}

}  // namespace quern
