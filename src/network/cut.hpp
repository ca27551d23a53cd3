// SPDX-License-Identifier: Apache-2.0
// Where a network is cut into stages, each of which reads what the one before puts out.
#pragma once

#include <string>
#include <vector>

#include "network/build_graph.hpp"

namespace quern {

/// The layers in front of which a network can be cut, rising: a single value crosses there, what
/// the layer before puts out. Between the blocks of a residual network, but not inside them.
std::vector<int> possible_cuts(const NetworkSpec& spec);

/// The layers of each of `stages` stages. `first_layers`: where each but the first begins, by the
/// name of a layer or of a block ("layer3" for "layer3.0.conv1"). Empty: such that the largest
/// stage has as few multiply-adds of a training step as can be, and of several such cuts where the
/// fewest values cross. InputError, with the numbers, where there are fewer places than that takes,
/// and for names that are no such places or not in order.
std::vector<LayerRange> cut_network(const NetworkSpec& spec, int stages,
                                    const std::vector<std::string>& first_layers = {});

}  // namespace quern
