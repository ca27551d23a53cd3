// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "bench/scaling_model.hpp"
#include "spec/recipe.hpp"

namespace quern {

class Model;

/// What a recipe asks of ranks that share its batch by samples alone. The recipes handed over may
/// differ from the first in their batch.
class StepDemands {
 public:
  /// InputError as of Model.
  explicit StepDemands(const Recipe& recipe);
  ~StepDemands();
  StepDemands(const StepDemands&) = delete;
  StepDemands& operator=(const StepDemands&) = delete;

  /// Of a full batch. InputError where there are more ranks than samples.
  StepDemand of(const Recipe& recipe, int ranks) const;

  /// Bytes that the rank with most samples takes, when it is one of several nodes: activations,
  /// parameters, gradients, what it receives of the others', the optimizer's state. Without data.
  std::int64_t memory_bytes(const Recipe& recipe, int ranks) const;

  /// Multiply-adds of training with one sample, twice.
  double training_flop() const;
  std::int64_t num_parameters() const;

 private:
  std::unique_ptr<const Model> model_;
};

}  // namespace quern
