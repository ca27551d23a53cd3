// SPDX-License-Identifier: Apache-2.0
// May a run with this recipe go on from a checkpoint of that one?
#pragma once

#include <string>
#include <vector>

#include "spec/recipe.hpp"

namespace quern {

struct RecipeDifference {
  std::string key;     ///< "network.layers[2].channels"
  std::string ours;    ///< as TOML, or "(not stated)"
  std::string theirs;  ///< the checkpoint's
  /// May a run that is resumed go on with ours, when it is asked to? The optimizer's state is then
  /// as good as before.
  bool may_be_asked_for = false;
};

/// A value for messages: lists, which may have a number for every pixel, without their ends.
std::string shown_value(const std::string& value);

/// The keys, in the order of docs/recipe-keys.md, that would make the resumed run another one; none
/// when it may go on. Where a choice differs ("optimizer.type"), the keys that belong to it are
/// left out.
///
/// Compared are data (but not its folders), network and what its weights began with, loss,
/// optimizer, seed, determinism and micro-block size. Not compared: name, folders, epochs (except
/// under a schedule that ends with the run), logging, parallel and checkpoint settings.
/// Batches count as global batches at the ranks of each run, reported as data.global_batch;
/// micro_block as the size in force; an input that is the layer before as one that is not stated.
std::vector<RecipeDifference> differences(const Recipe& ours, int our_global_batch,
                                          const Recipe& theirs, int their_global_batch);

}  // namespace quern
