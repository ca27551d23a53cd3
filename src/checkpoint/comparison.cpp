// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/comparison.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "checkpoint/dataset_path.hpp"
#include "checkpoint/train_attributes.hpp"

namespace quern {

namespace {

using TensorsByPath = std::vector<std::pair<std::string, const NamedTensor*>>;

TensorsByPath tensors_by_path(const CheckpointState& state) {
  TensorsByPath tensors;
  for (const NamedTensor& tensor : state.model) {
    tensors.emplace_back(model_dataset_path(tensor.name), &tensor);
  }
  for (const OptimizerTensors& state_array : state.optimizer) {
    for (const NamedTensor& tensor : state_array.tensors) {
      tensors.emplace_back(optimizer_dataset_path(state_array.name, tensor.name), &tensor);
    }
  }
  return tensors;
}

TensorDifference only_in_one(const std::string& path, const NamedTensor& tensor,
                             const char* which) {
  return {path, shape_text(tensor.shape) + " only in the " + which, std::ssize(tensor.values),
          std::numeric_limits<double>::quiet_NaN(), false};
}

TensorDifference compare_tensors(const std::string& path, const NamedTensor& a,
                                 const NamedTensor& b) {
  if (a.shape != b.shape) {
    return {path, shape_text(a.shape) + " and " + shape_text(b.shape),
            std::max(std::ssize(a.values), std::ssize(b.values)),
            std::numeric_limits<double>::quiet_NaN(), false};
  }
  TensorDifference result{path, shape_text(a.shape)};
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const float x = a.values[i];
    const float y = b.values[i];
    if (std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y)) continue;
    ++result.count;
    const double distance = std::abs(double{x} - double{y});
    // Once NaN, it stays NaN: no comparison with it is true.
    if (std::isnan(distance) || distance > result.max_abs) result.max_abs = distance;
  }
  return result;
}

std::vector<AttributeDifference> compare_attributes(const CheckpointState& first,
                                                    const CheckpointState& second) {
  const std::vector<TrainAttribute> a = train_attributes(first);
  const std::vector<TrainAttribute> b = train_attributes(second);
  std::vector<AttributeDifference> differences;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (same_value(a[i].value, b[i].value)) continue;
    differences.push_back(
        {a[i].name, value_text(a[i].value), value_text(b[i].value), a[i].is_progress});
  }
  // Files have these only where there was one; they are progress like the others.
  const auto compare_plateaus = [&](const char* name, std::int64_t ours, std::int64_t theirs) {
    if (ours != theirs) differences.push_back({name, value_text(ours), value_text(theirs), true});
  };
  compare_plateaus("plateaus", first.progress.plateaus, second.progress.plateaus);
  compare_plateaus("plateau_epoch", first.progress.plateau_epoch, second.progress.plateau_epoch);
  return differences;
}

}  // namespace

bool Comparison::same_training_state() const {
  return std::none_of(tensors.begin(), tensors.end(),
                      [](const TensorDifference& t) { return t.count > 0 || !t.comparable; }) &&
         std::none_of(attributes.begin(), attributes.end(),
                      [](const AttributeDifference& a) { return a.is_progress; });
}

Comparison compare_checkpoints(const CheckpointState& first, const CheckpointState& second) {
  Comparison result;
  const TensorsByPath in_first = tensors_by_path(first);
  const TensorsByPath in_second = tensors_by_path(second);
  std::map<std::string, const NamedTensor*> partners(in_second.begin(), in_second.end());
  for (const auto& [path, tensor] : in_first) {
    const auto partner = partners.find(path);
    result.tensors.push_back(partner == partners.end()
                                 ? only_in_one(path, *tensor, "first")
                                 : compare_tensors(path, *tensor, *partner->second));
    if (partner != partners.end()) partners.erase(partner);
  }
  for (const auto& [path, tensor] : in_second) {
    if (partners.contains(path)) {
      result.tensors.push_back(only_in_one(path, *tensor, "second"));
    }
  }
  result.attributes = compare_attributes(first, second);
  return result;
}

}  // namespace quern
