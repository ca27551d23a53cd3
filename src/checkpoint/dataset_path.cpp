// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/dataset_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/error.hpp"

namespace quern {

namespace {

constexpr std::string_view kModel = "/model/";
constexpr std::string_view kOptimizer = "/optimizer/";

bool is_usable(std::string_view name, char separator) {
  if (name.find(separator == '.' ? '/' : '.') != std::string_view::npos) return false;
  if (name.find('\0') != std::string_view::npos) return false;
  while (true) {
    const std::size_t end = name.find(separator);
    if (name.substr(0, end).empty()) return false;
    if (end == std::string_view::npos) return true;
    name.remove_prefix(end + 1);
  }
}

std::string path_below(const std::string& group, const std::string& tensor) {
  if (!is_usable(tensor, '.')) {
    throw InputError(
        fmt::format("a tensor cannot be stored under the name '{}': expected parts joined "
                    "by single dots, without '/'",
                    tensor));
  }
  std::string path = group + tensor;
  std::replace(path.begin() + static_cast<std::ptrdiff_t>(group.size()), path.end(), '.', '/');
  return path;
}

}  // namespace

std::string model_dataset_path(const std::string& tensor) {
  return path_below(std::string(kModel), tensor);
}

std::string optimizer_dataset_path(const std::string& state_array, const std::string& tensor) {
  if (!is_usable(state_array, '/') || state_array.find('/') != std::string::npos) {
    throw Error(fmt::format("optimizer state cannot be stored under the name '{}'", state_array));
  }
  return path_below(fmt::format("{}{}/", kOptimizer, state_array), tensor);
}

void check_tensor_names(std::vector<std::string> names) {
  // As paths, where what begins with a path and '/' follows it at once.
  for (std::string& name : names) name = model_dataset_path(name);
  std::ranges::sort(names, [](const std::string& a, const std::string& b) {
    return std::ranges::lexicographical_compare(
        a, b, {}, [](char c) { return c == '/' ? 0 : 1 + static_cast<unsigned char>(c); },
        [](char c) { return c == '/' ? 0 : 1 + static_cast<unsigned char>(c); });
  });
  for (std::size_t i = 1; i < names.size(); ++i) {
    if (!names[i].starts_with(names[i - 1] + "/")) continue;
    throw InputError(fmt::format(
        "checkpoints cannot hold a tensor '{}' and one of its parts, '{}', expected other names",
        owner_of_dataset(names[i - 1])->tensor, owner_of_dataset(names[i])->tensor));
  }
}

std::optional<DatasetOwner> owner_of_dataset(const std::string& path) {
  DatasetOwner owner;
  if (path.starts_with(kModel)) {
    owner.tensor = path.substr(kModel.size());
  } else if (path.starts_with(kOptimizer)) {
    const std::size_t end = path.find('/', kOptimizer.size());
    if (end == std::string::npos) return std::nullopt;
    owner.state_array = path.substr(kOptimizer.size(), end - kOptimizer.size());
    if (!is_usable(owner.state_array, '/')) return std::nullopt;
    owner.tensor = path.substr(end + 1);
  } else {
    return std::nullopt;
  }
  if (!is_usable(owner.tensor, '/')) return std::nullopt;
  std::replace(owner.tensor.begin(), owner.tensor.end(), '/', '.');
  return owner;
}

}  // namespace quern
