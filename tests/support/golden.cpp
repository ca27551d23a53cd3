// SPDX-License-Identifier: Apache-2.0
#include "support/golden.hpp"
#include "base/ceil_div.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "io/h5_file.hpp"
#include "support/source_folder.hpp"

namespace quern::test {

namespace {

template <class T>
std::vector<T> read_vector(const H5File& file, const std::string& path) {
  std::vector<T> values(static_cast<std::size_t>(file.dataset_info(path).elements));
  file.read_dataset(path, std::span<T>(values));
  return values;
}

template <class T>
std::vector<T> read_optional(const H5File& file, const std::string& path) {
  return file.has_dataset(path) ? read_vector<T>(file, path) : std::vector<T>();
}

GoldenTensor read_plain(const H5File& file, const std::string& path) {
  GoldenTensor tensor;
  tensor.shape = file.dataset_info(path).shape;
  tensor.values = read_vector<float>(file, path);
  double squares = 0;
  for (const float value : tensor.values) {
    tensor.sum += value;
    squares += double{value} * value;
  }
  tensor.norm = std::sqrt(squares);
  return tensor;
}

GoldenTensor read_sampled(const H5File& file, const std::string& path,
                          const std::vector<std::int64_t>& shape) {
  GoldenTensor tensor;
  tensor.shape = shape;
  tensor.values = read_vector<float>(file, path);
  tensor.stride = file.read_int64(path, "stride");
  tensor.sum = file.read_double(path, "sum");
  tensor.norm = file.read_double(path, "norm");
  const auto stored = static_cast<std::int64_t>(tensor.values.size());
  if (tensor.stride < 1 || stored != ceil_div(tensor.count(), tensor.stride)) {
    throw InputError(file.path().string() + ": '" + path + "' has " + std::to_string(stored) +
                     " elements, which does not fit its stride " + std::to_string(tensor.stride));
  }
  return tensor;
}

GoldenTensors read_initial(const H5File& file) {
  GoldenTensors tensors;
  for (const std::string& name : file.list_members("/initial")) {
    const std::string path = "/initial/" + name;
    tensors[name] = read_sampled(file, path, file.dataset_info(path).shape);
  }
  return tensors;
}

GoldenTensors read_like(const H5File& file, const std::string& group, const GoldenTensors& initial,
                        bool with_statistics) {
  GoldenTensors tensors;
  for (const auto& [name, tensor] : initial) {
    if (name.find(".running_") != std::string::npos && !with_statistics) continue;
    tensors[name] = read_sampled(file, group + "/" + name, tensor.shape);
  }
  return tensors;
}

int read_step_count(const H5File& file, const std::string& text) {
  int steps = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), steps);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw InputError(file.path().string() + ": group '/after_steps/" + text +
                     "' should be named by a number of steps");
  }
  return steps;
}

void read_samples(const H5File& file, Golden& golden) {
  if (file.has_dataset("/order")) {
    golden.order = read_vector<std::int64_t>(file, "/order");
    return;
  }
  golden.inputs = read_plain(file, "/inputs");
  if (file.dataset_info("/targets").type == H5Type::int64) {
    golden.target_labels = read_vector<std::int64_t>(file, "/targets");
  } else {
    golden.target_values = read_plain(file, "/targets");
  }
}

}  // namespace

std::int64_t GoldenTensor::count() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;
  return product;
}

Golden load_golden(const std::string& name) {
  return load_golden_file(source_folder() / "tests/golden" / (name + ".h5"));
}

Golden load_golden_file(const std::string& path) {
  const H5File file = H5File::open_read(path);
  if (file.read_string("/", "format") != "quern-golden" ||
      file.read_int64("/", "format_version") != 1) {
    throw InputError(path + ": expected format 'quern-golden', version 1");
  }
  Golden golden;
  golden.recipe = file.read_string("/", "recipe");
  golden.batch = file.read_int64("/", "batch");
  golden.steps = file.read_int64("/", "steps");
  read_samples(file, golden);
  golden.losses = read_vector<float>(file, "/losses");
  golden.losses_exact = read_vector<float>(file, "/losses_exact");
  golden.gradient_norms = read_optional<float>(file, "/gradient_norms");
  golden.outputs = read_plain(file, "/outputs");
  golden.initial = read_initial(file);
  golden.gradients = read_like(file, "/gradients", golden.initial, false);
  for (const std::string& steps : file.list_members("/after_steps")) {
    golden.after_steps[read_step_count(file, steps)] =
        read_like(file, "/after_steps/" + steps, golden.initial, true);
  }
  return golden;
}

testing::AssertionResult is_close(const GoldenTensor& golden, std::span<const float> actual,
                                  double rtol) {
  const std::int64_t count = golden.count();
  if (static_cast<std::int64_t>(actual.size()) != count) {
    return testing::AssertionFailure() << actual.size() << " elements, expected " << count;
  }
  double largest = 0;
  for (const float value : golden.values) largest = std::max(largest, std::abs(double{value}));
  for (std::size_t i = 0; i < golden.values.size(); ++i) {
    const std::size_t at = i * static_cast<std::size_t>(golden.stride);
    const double difference = std::abs(double{actual[at]} - golden.values[i]);
    if (!(difference <= rtol * largest)) {
      return testing::AssertionFailure()
             << "element " << at << " is " << actual[at] << ", expected " << golden.values[i]
             << " within " << rtol << " of the largest magnitude, " << largest << " (it is off by "
             << difference / largest << ")";
    }
  }
  double sum = 0;
  double squares = 0;
  for (const float value : actual) {
    sum += value;
    squares += double{value} * value;
  }
  const double norm = std::sqrt(squares);
  if (!(std::abs(norm - golden.norm) <= rtol * golden.norm)) {
    return testing::AssertionFailure()
           << "norm is " << norm << ", expected " << golden.norm << " within " << rtol;
  }
  const double reach = golden.norm * std::sqrt(static_cast<double>(count));
  if (!(std::abs(sum - golden.sum) <= rtol * reach)) {
    return testing::AssertionFailure() << "sum is " << sum << ", expected " << golden.sum
                                       << " within " << rtol << " of norm * sqrt(count), " << reach;
  }
  return testing::AssertionSuccess();
}

void expect_close(const GoldenTensor& golden, std::span<const float> actual, double rtol) {
  EXPECT_TRUE(is_close(golden, actual, rtol));
}

}  // namespace quern::test
