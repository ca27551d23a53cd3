// SPDX-License-Identifier: Apache-2.0
#include "train/data_check.hpp"

#include <string>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "inference/class_names.hpp"
#include "inference/feature_names.hpp"
#include "network/network.hpp"
#include "samples/sample_sums.hpp"
#include "strategy/batch_rule.hpp"
#include "strategy/recipe_grid.hpp"
#include "strategy/sample_fit.hpp"
#include "strategy/sample_stream.hpp"
#include "train/recipe_check.hpp"

namespace quern {

namespace {

SampleTraits traits_of(const ShardContent& content) {
  return {content.shape, content.has_labels(), content.classes,
          content.has_targets() ? content.target_shape.units() : 0};
}

}  // namespace

std::string training_data_name(const DataSpec& data) {
  return data.source == DataSource::shards ? "'" + data.train + "'" : "the training data";
}

std::string test_data_name(const DataSpec& data) {
  return data.source == DataSource::shards ? "'" + data.test + "'" : "the test data";
}

void check_batches(const BatchRule& batches, int num_ranks) {
  if (num_ranks > batches.num_samples) {
    throw InputError(std::to_string(num_ranks) + " ranks for " +
                     std::to_string(batches.num_samples) +
                     " training samples: expected at least one sample per rank");
  }
  check_batch_for_ranks(batches.full_batch, num_ranks);
}

BatchRule checked_batches(const Recipe& recipe, int num_ranks, std::int64_t num_samples) {
  const int data_ranks = grid_shape_of(recipe, num_ranks).data;
  const BatchRule batches = training_batches(recipe, data_ranks, num_samples);
  check_batches(batches, data_ranks);
  return batches;
}

void check_data(const Recipe& given, int num_ranks, const ShardSet& train, const ShardSet* test) {
  const Recipe recipe = with_strategy(given, num_ranks);
  const Network network(recipe.network);
  check_fits(network, recipe.data.target, traits_of(train.content()),
             training_data_name(recipe.data));
  if (test) {
    check_fits(network, recipe.data.target, traits_of(test->content()),
               test_data_name(recipe.data));
    check_class_names(train.content().class_names, test->content().class_names, "the test data");
    check_feature_names(train.content().feature_names, test->content().feature_names,
                        "the test data");
  }
  const BatchRule batches = checked_batches(recipe, num_ranks, train.count());
  for (const int batch : {batches.full_batch, batches.last_batch})
    check_least_samples(network, batch, batches.block_samples);
  window_plan(recipe.data, batches, train.content().memory_bytes());
}

void check_probabilities(Communicator& comm, const Samples& samples, TargetType target,
                         const std::string& data) {
  if (target == TargetType::input && samples.has_images()) return;  // bytes divided by 255
  const ConstFloatView& wanted = target == TargetType::input ? samples.values : samples.targets;
  const std::int64_t units =
      target == TargetType::input ? samples.shape.units() : samples.target_units();
  const SummedArray<float> array(samples, wanted, {.channels = 1, .units = units});
  const double outside = sum_all(comm, array, [](float value, std::int64_t) {
                           return value >= 0 && value <= 1 ? 0.0 : 1.0;
                         }).front();
  if (outside == 0) return;
  throw AgreedError(comm,
                    data + ": " + std::to_string(static_cast<std::int64_t>(outside)) + " of the " +
                        std::to_string(samples.count * units) +
                        " target values are below 0 or above 1 (expected probabilities, with "
                        "loss.type = \"binary_cross_entropy\"; divide masks of 0 and 255 by 255)",
                    ExitCode::bad_input);
}

}  // namespace quern
