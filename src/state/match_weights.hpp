// SPDX-License-Identifier: Apache-2.0
// Weights from elsewhere against the parameters of a network: names and shapes, one by one.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint_state.hpp"

namespace quern {

/// A tensor that a network has.
struct NamedShape {
  std::string name;
  std::vector<std::int64_t> shape;
};

/// How names in the file become names of the network, and which count. A name begins with a part
/// ("layer1", "fc1.weight") where it is that part, or that part and a dot come first.
struct WeightRules {
  /// "OLD=NEW", one after the other: a name that begins with OLD begins with NEW; OLD may also end
  /// with a dot ("module.=" takes the prefix away), or be empty ("=net." is put in front of all).
  std::vector<std::string> rename = {};
  /// Of the network only tensors whose names begin with one of these parts, whatever else the file
  /// holds; empty: all, and then the file must hold nothing else.
  std::vector<std::string> only = {};
  /// Tensors of the file, by their new names, that do not count.
  std::vector<std::string> skip = {};
  /// What the user calls the rules: "--rename", "network.init.rename".
  std::string rename_word = "--rename";
  std::string only_word = "--only";
  std::string skip_word = "--skip";  ///< "": there is no such rule
};

/// The tensors of `found` that the network takes, under its names and in its order. InputError that
/// names `file` and every problem, with the nearest name: a tensor that is missing, has another
/// shape or is not known, a rule that applies to nothing. Where a name has no nearest one, all
/// names are listed, once.
std::vector<NamedTensor> match_weights(const std::string& file,
                                       const std::vector<NamedTensor>& found,
                                       const std::vector<NamedShape>& network,
                                       const WeightRules& rules);

}  // namespace quern
