// SPDX-License-Identifier: Apache-2.0
// Small networks whose layers can be cut into eight slices, and the grids that spread them.
#pragma once

#include <string>
#include <vector>

#include "support/train_samples.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern::test {

inline constexpr const char* kSlicedLeNet =
    "network.layers=[{type=\"conv2d\", channels=20, kernel=3, padding=1}, {type=\"relu\"}, "
    "{type=\"max_pool2d\", size=2}, {type=\"conv2d\", channels=50, kernel=3}, {type=\"relu\"}, "
    "{type=\"flatten\"}, {type=\"linear\", features=500}, {type=\"relu\"}, "
    "{type=\"linear\", features=5}]";
inline constexpr const char* kSlicedMlp =
    "network.layers=[{type=\"flatten\"}, {type=\"linear\", features=203}, {type=\"tanh\"}, "
    "{type=\"dropout\", p=0.2}, {type=\"linear\", features=200}, {type=\"layer_norm\"}, "
    "{type=\"linear\", features=5}]";
inline constexpr const char* kSlicedResNet =
    "network.layers=[{type=\"conv2d\", channels=16, kernel=3, padding=1, bias=false, "
    "name=\"stem\"}, "
    "{type=\"batch_norm\"}, {type=\"relu\", name=\"start\"}, "
    "{type=\"conv2d\", channels=16, kernel=3, padding=1, bias=false}, {type=\"batch_norm\"}, "
    "{type=\"relu\"}, {type=\"conv2d\", channels=16, kernel=3, padding=1, bias=false}, "
    "{type=\"batch_norm\", name=\"end\"}, {type=\"add\", inputs=[\"end\", \"start\"]}, "
    "{type=\"relu\"}, {type=\"global_avg_pool\"}, {type=\"flatten\"}, "
    "{type=\"linear\", features=5}]";
inline constexpr const char* kSgd = "optimizer={type=\"sgd\", lr=0.05, momentum=0.9}";
inline constexpr const char* kAdam = "optimizer={type=\"adamw\", lr=0.01, weight_decay=0.1}";
inline constexpr const char* kLars =
    "optimizer={type=\"lars\", lr=0.5, momentum=0.9, weight_decay=0.01, decay=\"weights\", "
    "trust_coefficient=0.02}";
inline constexpr const char* kLamb =
    "optimizer={type=\"lamb\", lr=0.01, weight_decay=0.1, clip_norm=0.1}";

using Sets = std::vector<std::string>;

/// `more` keys behind those of `sets`.
inline Sets with(Sets sets, const Sets& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

inline Recipe recipe_with(Sets sets) {
  sets.push_back("train.micro_block=2");
  return image_recipe(10, sets);
}

/// With eight slices.
inline Recipe sliced_recipe(const Sets& sets) {
  return recipe_with(with(sets, {"parallel.tensor_slices=8"}));
}

/// Ranks that share a layer, and stages.
struct Grid {
  int tensor;
  int pipeline;
};

/// What so many ranks can form.
inline std::vector<Grid> grids(int num_ranks) {
  std::vector<Grid> grids;
  for (const Grid grid : {Grid{1, 1}, Grid{2, 1}, Grid{4, 1}, Grid{2, 2}})
    if (num_ranks % (grid.tensor * grid.pipeline) == 0) grids.push_back(grid);
  return grids;
}

inline std::string to_string(const Grid& grid) {
  return "tensor " + std::to_string(grid.tensor) + ", pipeline " + std::to_string(grid.pipeline);
}

inline Recipe on(const Grid& grid, Recipe recipe) {
  recipe.parallel.tensor = grid.tensor;
  recipe.parallel.pipeline = grid.pipeline;
  return recipe;
}

/// Chooses the kernels for devices, or a CPU's, for a scope.
class WithKernels {
 public:
  explicit WithKernels(bool for_devices) : before_(runs_device_kernels()) { choose(for_devices); }
  ~WithKernels() { choose(before_); }
  WithKernels(const WithKernels&) = delete;
  WithKernels& operator=(const WithKernels&) = delete;

 private:
  // A device has one kind.
  static void choose([[maybe_unused]] bool for_devices) {
#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP)
    choose_device_kernels(for_devices);
#endif
  }

  bool before_;
};

}  // namespace quern::test
