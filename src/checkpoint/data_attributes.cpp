// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/data_attributes.hpp"

#include "base/text.hpp"

namespace quern {

namespace {

constexpr const char* kGroup = "/train";
constexpr const char* kNames = "class_names";
constexpr const char* kInput = "input";

}  // namespace

void write_data_attributes(H5File& file, const CheckpointState& state) {
  if (!state.class_names.empty()) file.write_string(kGroup, kNames, join_lines(state.class_names));
  if (!state.input.empty()) file.write_string(kGroup, kInput, state.input);
}

void read_data_attributes(const H5File& file, CheckpointState& state) {
  state.class_names.clear();
  state.input.clear();
  // Earlier programs took names of shards as they were, in any encoding.
  if (file.has_attribute(kGroup, kNames))
    state.class_names = split_lines(as_utf8(file.read_string(kGroup, kNames)));
  if (file.has_attribute(kGroup, kInput)) state.input = file.read_string(kGroup, kInput);
}

}  // namespace quern
