// SPDX-License-Identifier: Apache-2.0
// What a step takes where the network is split: the pieces of a batch through the stages of a
// pipeline, and the exchanges of ranks that share layers. docs/scaling.md has the formulas.
#pragma once

#include "plan/scaling_model.hpp"

namespace quern {

/// Sets compute_s, idle_s, crossing_s and layers_s, and adds what is sent to rank_bytes and
/// node_bytes. Of a network that is split.
void add_split_work(const StepDemand& demand, const RankWork& rank, const ClusterFigures& cluster,
                    StepPrediction& step);

/// Seconds that stages take for `pieces` pieces, one after the other, where each takes as long
/// for a piece as `stage_s` says, forward and backward: the first piece goes through all of them,
/// the others come at the pace of the slowest. Of equal stages this is the time of one divided by
/// 1 - pipeline_bubble().
double pipeline_s(const std::vector<double>& stage_s, int pieces);

}  // namespace quern
