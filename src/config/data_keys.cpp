// SPDX-License-Identifier: Apache-2.0
#include "config/data_keys.hpp"

#include <string>
#include <utility>

#include "config/table_keys.hpp"

namespace quern {

namespace {

using DataKeys = std::vector<Key<Recipe>>;

void add_data(DataKeys& list) {
  using D = DataSpec;
  TableKeys keys(
      list, "data", [](auto& recipe) -> auto& { return recipe.data; });
  keys.choice<DataSource>(
      "source", &D::source,
      {{"shards", DataSource::shards},
       {"random", DataSource::random},
       {"program", DataSource::program}},
      "HDF5 shards made by `quern shard`, random samples, uniform in [0, 1), for trials (with "
      "random labels), or those of a C++ program of your own");
  keys.string("train", &D::train, "Folder of the training shards")
      .only_with("data.source", {"shards"})
      .required()
      .free_to_change();
  keys.string("test", &D::test, "Folder of the test shards, `\"\"` for no evaluation", true)
      .only_with("data.source", {"shards"})
      .free_to_change();
  keys.integer("samples", &D::samples, at_least(1), "How many samples are generated")
      .only_with("data.source", {"random"})
      .required();
  keys.integer("global_batch", &D::global_batch, from_to(1, kMaxGlobalBatch),
               "Samples per step over all ranks. Exactly one of this and `batch_per_rank`")
      .left_out_when_zero();
  keys.integer("batch_per_rank", &D::batch_per_rank, from_to(1, kMaxGlobalBatch),
               "Samples per step and rank: the global batch grows with the ranks")
      .left_out_when_zero();
  keys.boolean("shuffle", &D::shuffle, "A new order of the samples every epoch");
  keys.bytes("memory", &D::memory,
             "Memory for the training samples, and for those of the test set. A larger set is "
             "streamed out of its shards: the ranks together hold this much of it, more where the "
             "network is split. Not stated: the sets are held in memory")
      .only_with("data.source", {"shards"});
  keys.integer("window", &D::window, at_least(1),
               "The most samples that a window may have; samples are shuffled within a window. An "
               "epoch is cut into as few windows of whole batches as this allows, equally long up "
               "to one batch. Not stated: what half of `memory` holds, less one batch, where the "
               "set is streamed, else the whole set")
      .left_out_when_zero();
  keys.choice<TargetType>(
      "target", &D::target,
      {{"label", TargetType::label}, {"input", TargetType::input}, {"values", TargetType::values}},
      "What the output is compared with: the class, the input itself as `data.normalize` makes it "
      "(auto-encoder), or numbers that come with the sample (`quern shard --targets`)");
}

const std::vector<std::pair<std::string, NormalizeType>>& normalize_types() {
  static const std::vector<std::pair<std::string, NormalizeType>> types = {
      {"none", NormalizeType::none},
      {"dataset", NormalizeType::dataset},
      {"given", NormalizeType::given}};
  return types;
}

/// The numbers of `table`, whose keys are `keys`.
void add_given_numbers(auto& keys, const std::string& table, const std::string& mean) {
  using N = NormalizeSpec;
  keys.numbers("mean", &N::mean, any_number(), mean)
      .only_with(table + ".type", {"given"})
      .required();
  keys.numbers("std", &N::std, above_zero(), "Likewise")
      .only_with(table + ".type", {"given"})
      .required();
}

void add_normalize(DataKeys& list) {
  const std::string table = "data.normalize";
  TableKeys keys(
      list, table, [](auto& recipe) -> auto& { return recipe.data.normalize; });
  keys.choice<NormalizeType>(
      "type", &NormalizeSpec::type, normalize_types(),
      "Inputs become (x - mean) / std, channel by channel (pixels are 0 to 1 "
      "before): by mean and deviation of the training data, or by given "
      "ones. Checkpoints keep the numbers");
  add_given_numbers(keys, table, "One for each channel of the input, or one for all");
}

void add_normalize_targets(DataKeys& list) {
  const std::string table = "data.normalize_targets";
  TableKeys keys(
      list, table, [](auto& recipe) -> auto& { return recipe.data.normalize_targets; });
  keys.choice<NormalizeType>("type", &NormalizeSpec::type, normalize_types(),
                             "The same for the targets: the network learns (target - mean) / std. "
                             "What it predicts, and `rmse`, are in the targets' own units")
      .only_with("data.target", {"values"});
  add_given_numbers(
      keys, table,
      "One for each channel of the output (of a flat one: for each value), or one for all");
}

void add_augment(DataKeys& list) {
  TableKeys keys(
      list, "data.augment", [](auto& recipe) -> auto& { return recipe.data.augment; });
  keys.integer("crop", &AugmentSpec::crop, at_least(0),
               "Training images are windows of their own size, cut at random out of the image "
               "with this many pixels of zeros on every side; at most half of the smaller side");
  keys.boolean("flip", &AugmentSpec::flip,
               "Left and right are exchanged in training images, at random in half of them");
}

}  // namespace

void add_data_keys(std::vector<Key<Recipe>>& list) {
  add_data(list);
  add_normalize(list);
  add_normalize_targets(list);
  add_augment(list);
}

}  // namespace quern
