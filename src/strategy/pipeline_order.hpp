// SPDX-License-Identifier: Apache-2.0
// In which order a stage of a pipeline computes the pieces of a batch.
//
// Two stages, four pieces; F and B are a piece's forward and backward pass. 1F1B (Narayanan et al.:
// "PipeDream", 2019) holds as many pieces as there are stages from here on, GPipe (Huang et al.,
// 2019) all of them; both wait for the pipeline to fill and to run empty.
//
//   1f1b   stage 0  F0 F1 B0 F2 B1 F3 B2 B3        gpipe  stage 0  F0 F1 F2 F3 B0 B1 B2 B3
//          stage 1     F0 B0 F1 B1 F2 B2 F3 B3            stage 1     F0 F1 F2 F3 B0 B1 B2 B3
//
// Backward passes come in the order of the pieces: their sums are merged as a stack (PieceSums).
#pragma once

#include <vector>

#include "spec/recipe.hpp"

namespace quern {

/// Which part of a pipeline: of one stage, the whole network.
struct StagePlace {
  int stage = 0;
  int stages = 1;

  bool is_first() const { return stage == 0; }
  bool is_last() const { return stage + 1 == stages; }
};

struct PipelineWork {
  int piece = 0;
  bool is_backward = false;
  friend bool operator==(const PipelineWork&, const PipelineWork&) = default;
};

/// Pieces whose forward pass is done and whose backward pass is not, at most.
int pieces_in_flight(PipelineSchedule schedule, const StagePlace& place, int pieces);

/// Forward and backward pass of every piece. One stage: F0 B0 F1 B1 and so on.
std::vector<PipelineWork> pipeline_order(PipelineSchedule schedule, const StagePlace& place,
                                         int pieces);

/// Of the time of a step, what a stage waits for others where all take equally long:
/// (stages - 1) / (pieces + stages - 1). (Huang et al. 2019, 2.3.)
double pipeline_bubble(int stages, int pieces);

}  // namespace quern
