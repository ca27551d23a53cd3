// SPDX-License-Identifier: Apache-2.0
// Where a tensor lies in the file: "fc1.weight" of the model at /model/fc1/weight, and its state
// "exp_avg" of the optimizer at /optimizer/exp_avg/fc1/weight.
#pragma once

#include <optional>
#include <string>

namespace quern {

/// Throws Error when a part of the name is empty or no HDF5 name.
std::string model_dataset_path(const std::string& tensor);
std::string optimizer_dataset_path(const std::string& state_array, const std::string& tensor);

struct DatasetOwner {
  std::string state_array;  ///< empty: the model
  std::string tensor;
};

/// The inverse; nothing for a path that is neither.
std::optional<DatasetOwner> owner_of_dataset(const std::string& path);

}  // namespace quern
