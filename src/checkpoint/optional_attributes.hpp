// SPDX-License-Identifier: Apache-2.0
// Attributes that a checkpoint may lack, because an earlier program wrote it or the weights come
// from elsewhere: what the training data were, for those who use the weights on others, the best
// evaluation, the settings that were changed on the way, and what the run started from.
#pragma once

#include "checkpoint/checkpoint_state.hpp"
#include "io/h5_file.hpp"

namespace quern {

/// CheckpointState::class_names, feature_names, input, best, changes and started_from, where they
/// say something. The seal covers them, train_sha256 does not: earlier programs read the file as
/// well.
void write_optional_attributes(H5File& file, const CheckpointState& state);

/// Overwrites these members of `state`; names in UTF-8. Error where the best evaluation or a change
/// is none.
void read_optional_attributes(const H5File& file, CheckpointState& state);

}  // namespace quern
