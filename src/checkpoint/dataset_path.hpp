// SPDX-License-Identifier: Apache-2.0
// Where a tensor lies in the file: "fc1.weight" of the model at /model/fc1/weight, and its state
// "exp_avg" of the optimizer at /optimizer/exp_avg/fc1/weight.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace quern {

/// Throws Error when a part of the name is empty or no HDF5 name.
std::string model_dataset_path(const std::string& tensor);
std::string optimizer_dataset_path(const std::string& state_array, const std::string& tensor);

/// Can tensors of these names lie in one file? InputError when one has no path, or is the beginning
/// of another: "p.w" and "p.w.x".
void check_tensor_names(std::vector<std::string> names);

struct DatasetOwner {
  std::string state_array;  ///< empty: the model
  std::string tensor;
};

/// The inverse; nothing for a path that is neither.
std::optional<DatasetOwner> owner_of_dataset(const std::string& path);

}  // namespace quern
