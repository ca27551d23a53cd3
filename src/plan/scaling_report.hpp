// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "plan/scaling_planner.hpp"

namespace quern {

/// What a plan is made of, for people.
struct PlanSources {
  std::string site;      ///< "lumi-c"; empty: machines like this one
  std::string computed;  ///< where the work of a rank was measured
  std::string network;   ///< where the figures of the network come from; empty for one node
  std::string estimate;  ///< why all of it is an estimate that nobody has confirmed; empty: is none
};

/// `steps`: of the fewest nodes first; the last is the one that the text is about.
std::string scaling_text(const ScalingPlanner& planner, const PlanSources& sources,
                         const std::vector<PlannedStep>& steps);
/// A JSON document (benchmarks/README.md).
std::string scaling_json(const ScalingPlanner& planner, const PlanSources& sources,
                         const std::vector<PlannedStep>& steps);

}  // namespace quern
