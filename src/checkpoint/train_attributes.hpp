// SPDX-License-Identifier: Apache-2.0
// The attributes of /train: one table of names and values for the writer, the reader, the
// manifest's digest and the commands that show and compare checkpoints.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "checkpoint/checkpoint_state.hpp"

namespace quern {

using AttributeValue = std::variant<std::int64_t, std::uint64_t, double, std::string>;

struct TrainAttribute {
  std::string name;
  AttributeValue value;
  /// Part of TrainingProgress; the rest is RunOrigin.
  bool is_progress = false;
};

/// Every attribute in the order of the table.
std::vector<TrainAttribute> train_attributes(const CheckpointState& state);

/// The inverse: values in the table's order and with its types (see train_attributes of an empty
/// state) back into progress and origin.
void set_train_attributes(const std::vector<TrainAttribute>& attributes, CheckpointState& state);

/// Same type and same bits (NaN equals itself, 0 differs from -0).
bool same_value(const AttributeValue& a, const AttributeValue& b);

/// For people: numbers with all their digits, text as it is.
std::string value_text(const AttributeValue& value);

/// What exported files tell about their weights: name and text of every attribute, and of
/// feature_names and class_names (a line for each) and input where they say something.
std::vector<std::pair<std::string, std::string>> exported_texts(const CheckpointState& state);

/// SHA-256 over all attributes; docs/formats.md defines the bytes.
std::string train_attributes_sha256(const std::vector<TrainAttribute>& attributes);

}  // namespace quern
