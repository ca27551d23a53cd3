// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/step_demand.hpp"
#include "spec/recipe.hpp"

namespace quern {

/// A step of a recipe on so many nodes.
struct PlannedStep {
  int nodes = 1;
  StepDemand demand;
  StepPrediction time;
  double efficiency = 1;          ///< samples per second and node, beside one node
  std::int64_t memory_bytes = 0;  ///< of a rank, without the data
};

/// InputError for a recipe that cuts the network into stages or slices: there is no plan for it.
void check_shares_samples(const Recipe& recipe);

/// A recipe whose ranks share a batch by its samples, on nodes of one kind.
class ScalingPlanner {
 public:
  /// `rank`: seconds of its step on one rank alone, by the samples. check_shares_samples(recipe).
  ScalingPlanner(const Recipe& recipe, MeasuredLine rank, const ClusterFigures& cluster);

  /// InputError where there are more ranks than samples.
  PlannedStep plan(int nodes) const { return plan_with(recipe_, nodes); }

  const Recipe& recipe() const { return recipe_; }
  const StepDemands& demands() const { return demands_; }
  const ClusterFigures& cluster() const { return cluster_; }

  /// What would make the step quicker for its samples, one sentence each; empty where nothing that
  /// is known would.
  std::vector<std::string> advice(const PlannedStep& step) const;

 private:
  PlannedStep plan_with(const Recipe& recipe, int nodes) const;
  Recipe with_batch(int global_batch) const;

  Recipe recipe_;
  StepDemands demands_;
  MeasuredLine rank_;
  ClusterFigures cluster_;
};

}  // namespace quern
