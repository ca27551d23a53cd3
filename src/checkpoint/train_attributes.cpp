// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/train_attributes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

#include "base/assert.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "checkpoint/canonical_bytes.hpp"

namespace quern {

namespace {

/// Calls visit(name, member, is_progress) for every attribute, in order: the only list of them.
template <class State, class Visitor>
void for_each_attribute(State& state, const Visitor& visit) {
  auto& progress = state.progress;
  visit("step", progress.step, true);
  visit("epoch", progress.epoch, true);
  visit("cursor", progress.cursor, true);
  visit("epoch_loss_sum", progress.epoch_loss_sum, true);
  visit("epoch_correct", progress.epoch_correct, true);
  visit("epoch_samples", progress.epoch_samples, true);
  auto& origin = state.origin;
  visit("seed", origin.seed, false);
  visit("global_batch", origin.global_batch, false);
  visit("ranks", origin.num_ranks, false);
  visit("recipe", origin.recipe, false);
  visit("git_commit", origin.git_commit, false);
  visit("version", origin.version, false);
  visit("data_sha256", origin.data_sha256, false);
  visit("created", origin.created, false);
}

void hash_value(Sha256& hash, const AttributeValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    hash.update("s");
    update_int64(hash, static_cast<std::int64_t>(text->size()));
    hash.update(*text);
  } else if (const auto* real = std::get_if<double>(&value)) {
    hash.update("d");
    update_int64(hash, std::bit_cast<std::int64_t>(*real));
  } else if (const auto* natural = std::get_if<std::uint64_t>(&value)) {
    hash.update("u");
    update_int64(hash, std::bit_cast<std::int64_t>(*natural));
  } else {
    hash.update("i");
    update_int64(hash, std::get<std::int64_t>(value));
  }
}

}  // namespace

std::vector<TrainAttribute> train_attributes(const CheckpointState& state) {
  std::vector<TrainAttribute> attributes;
  for_each_attribute(state, [&](const char* name, const auto& value, bool is_progress) {
    attributes.push_back({name, AttributeValue(value), is_progress});
  });
  return attributes;
}

void set_train_attributes(const std::vector<TrainAttribute>& attributes, CheckpointState& state) {
  auto next = attributes.begin();
  for_each_attribute(state, [&](const char* name, auto& member, bool) {
    expect(next != attributes.end() && next->name == name, "the attributes follow the table");
    member = std::get<std::decay_t<decltype(member)>>(next->value);
    ++next;
  });
}

bool same_value(const AttributeValue& a, const AttributeValue& b) {
  const auto* x = std::get_if<double>(&a);
  const auto* y = std::get_if<double>(&b);
  if (x && y) return std::bit_cast<std::uint64_t>(*x) == std::bit_cast<std::uint64_t>(*y);
  return a == b;
}

std::string value_text(const AttributeValue& value) {
  return std::visit([](const auto& held) { return fmt::format("{}", held); }, value);
}

std::vector<std::pair<std::string, std::string>> exported_texts(const CheckpointState& state) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const TrainAttribute& attribute : train_attributes(state))
    texts.emplace_back(attribute.name, value_text(attribute.value));
  if (!state.feature_names.empty())
    texts.emplace_back("feature_names", join_lines(state.feature_names));
  if (!state.class_names.empty()) texts.emplace_back("class_names", join_lines(state.class_names));
  if (!state.input.empty()) texts.emplace_back("input", state.input);
  return texts;
}

std::string train_attributes_sha256(const std::vector<TrainAttribute>& attributes) {
  Sha256 hash;
  for (const TrainAttribute& attribute : attributes) {
    hash.update(attribute.name).update(std::string(1, '\0'));
    hash_value(hash, attribute.value);
  }
  return hash.hex_digest();
}

}  // namespace quern
