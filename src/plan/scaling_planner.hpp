// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/step_demand.hpp"
#include "spec/recipe.hpp"

namespace quern {

/// A step of a recipe on so many nodes.
struct PlannedStep {
  int nodes = 1;
  StepDemand demand;
  StepPrediction time;
  double efficiency = 1;          ///< samples per second and node, beside the fewest nodes
  std::int64_t memory_bytes = 0;  ///< of a rank, without the data
};

/// The fewest nodes whose ranks a recipe can be split over: one, unless a node has fewer ranks than
/// the grid. `recipe`: after with_strategy(). InputError where ranks of several nodes would share
/// layers.
int fewest_nodes(const Recipe& recipe, int ranks_per_node);

/// A recipe on nodes of one kind, whose ranks share a batch by its samples, the network by its
/// stages, or its layers.
class ScalingPlanner {
 public:
  /// `recipe`: after with_strategy(). `rank`: of its step on one rank alone. InputError as of
  /// fewest_nodes().
  ScalingPlanner(const Recipe& recipe, RankWork rank, const ClusterFigures& cluster);

  /// InputError where there are more ranks than samples, or they make no grid.
  PlannedStep plan(int nodes) const { return plan_with(recipe_, nodes); }

  const Recipe& recipe() const { return recipe_; }
  const StepDemands& demands() const { return demands_; }
  const ClusterFigures& cluster() const { return cluster_; }

  /// What would make the step quicker for its samples, one sentence each; empty where nothing that
  /// is known would.
  std::vector<std::string> advice(const PlannedStep& step) const;

  /// What the plan takes for granted and nobody has measured here, besides the figures of a site.
  std::vector<std::string> assumptions() const;

 private:
  PlannedStep plan_with(const Recipe& recipe, int nodes) const;
  std::string larger_batch_text(const PlannedStep& step) const;
  std::string fewer_nodes_text(const PlannedStep& step) const;
  void advise_on_split(const PlannedStep& step, std::vector<std::string>& all) const;
  Recipe with_batch(int global_batch) const;

  Recipe recipe_;
  int fewest_nodes_;
  StepDemands demands_;
  RankWork rank_;
  ClusterFigures cluster_;
};

}  // namespace quern
