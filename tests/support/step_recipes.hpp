// SPDX-License-Identifier: Apache-2.0
// Recipes whose steps launch the kernels there are, for tests that look at all of them.
#pragma once

#include <string>
#include <vector>

#include "support/source_folder.hpp"
#include "support/train_samples.hpp"

namespace quern::test {

/// Those that need no second branch.
inline constexpr const char* kManyLayers =
    "network.layers=[{type=\"gelu\"}, {type=\"conv2d\", channels=3, kernel=3, padding=1}, "
    "{type=\"group_norm\", groups=3}, {type=\"batch_norm\"}, {type=\"relu\"}, "
    "{type=\"max_pool2d\", size=2, stride=1}, "
    "{type=\"tanh\"}, {type=\"avg_pool2d\", size=2}, {type=\"batch_norm\", statistics=\"block\"}, "
    "{type=\"silu\"}, {type=\"flatten\"}, {type=\"linear\", features=9}, {type=\"leaky_relu\"}, "
    "{type=\"layer_norm\"}, {type=\"dropout\", p=0.5}, {type=\"sigmoid\"}, {type=\"linear\", "
    "features=36}]";

inline constexpr const char* kBranches =
    "network.layers=[{type=\"conv2d\", channels=4, kernel=3, padding=1, bias=false}, "
    "{type=\"batch_norm\", statistics=\"block\"}, {type=\"relu\"}, "
    "{type=\"conv2d\", channels=4, kernel=3, padding=1}, {type=\"add\", inputs=[\"relu1\", "
    "\"conv2\"]}, "
    "{type=\"relu\"}, {type=\"max_pool2d\", size=2}, {type=\"upsample\", factor=2}, "
    "{type=\"concat\", inputs=[\"upsample1\", \"relu1\"]}, {type=\"global_avg_pool\"}, "
    "{type=\"linear\", features=36}]";

/// A shipped recipe with a small batch.
inline Recipe shipped_recipe(const std::string& name) {
  const std::string file = source_folder() / "recipes" / (name + ".toml");
  const std::vector<std::string> sets = {"data.global_batch=20"};
  return read_recipe(file, sets);
}

inline Recipe many_layers(const std::vector<std::string>& more) {
  std::vector<std::string> sets = {kManyLayers, "optimizer.clip_norm=0.1"};
  sets.insert(sets.end(), more.begin(), more.end());
  return image_recipe(8, sets);
}

/// LeNet, and between them every type of layer, loss and optimizer
/// (unit/tools/step_recipes_test.cpp), clipping, both orders of sums, a batch in pieces and images
/// at random windows.
inline std::vector<Recipe> step_recipes() {
  return {shipped_recipe("lenet-fashion"),
          many_layers({}),
          many_layers({"loss.type=mse", "data.target=input", "train.determinism=fast",
                       "optimizer={type=\"sgd\", lr=0.1, momentum=0.9}"}),
          many_layers({"optimizer={type=\"adamw\", lr=0.1}",
                       "optimizer.schedule={type=\"cosine\", warmup_steps=1}"}),
          many_layers({"loss.type=l1", "data.target=input", "optimizer={type=\"lars\", lr=0.1}"}),
          many_layers({"loss.type=huber", "data.target=input",
                       "optimizer={type=\"lars\", lr=0.1, momentum=0.9}"}),
          many_layers({"loss.type=binary_cross_entropy", "data.target=input",
                       "optimizer={type=\"lamb\", lr=0.1}"}),
          many_layers({kBranches, "parallel.micro_batches=2", "train.per_rank_loss=true",
                       "data.augment={crop=1, flip=true}"})};
}

}  // namespace quern::test
