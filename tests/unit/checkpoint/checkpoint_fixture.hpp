// SPDX-License-Identifier: Apache-2.0
// A small checkpoint with every awkward float.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/checkpoint_state.hpp"
#include "checkpoint/train_attributes.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

namespace quern::test {

namespace fs = std::filesystem;

/// Owns the values that its state points to: two layers and Adam's two state arrays.
class SampleRun {
 public:
  /// `variant` changes every value, so that two runs differ everywhere.
  explicit SampleRun(std::int64_t step = 123, int variant = 0) {
    const float special[] = {0.0f,
                             -0.0f,
                             std::bit_cast<float>(0x7fc00123u),
                             std::bit_cast<float>(0xff812345u),
                             std::numeric_limits<float>::infinity(),
                             -std::numeric_limits<float>::infinity(),
                             std::numeric_limits<float>::denorm_min(),
                             -std::numeric_limits<float>::denorm_min(),
                             std::numeric_limits<float>::max()};
    for (std::size_t i = 0; i < weight_.size(); ++i) {
      weight_[i] = i < std::size(special) && variant == 0
                       ? special[i]
                       : 0.1f * static_cast<float>(i) + static_cast<float>(variant);
      first_moment_[i] = weight_[i] * 0.5f + 1;
      second_moment_[i] = -weight_[i];
    }
    for (std::size_t i = 0; i < bias_.size(); ++i) bias_[i] = static_cast<float>(variant) - 7;
    state_.model = {{"fc1.weight", {4, 6}, weight_}, {"fc1.bias", {4}, bias_}};
    state_.optimizer = {
        {"exp_avg", {{"fc1.weight", {4, 6}, first_moment_}, {"fc1.bias", {4}, bias_}}},
        {"exp_avg_sq", {{"fc1.weight", {4, 6}, second_moment_}, {"fc1.bias", {4}, bias_}}}};
    state_.progress = {step, 2, 96, 0.1 + variant, 61, 96};
    state_.origin = {0xffffffffffffffffu,
                     32,
                     3,
                     "name = \"grüße\"\n[train]\nepochs = 3\n",
                     "0123456789ab",
                     "0.1.0",
                     std::string(64, 'd'),
                     "2025-01-31T12:00:00Z"};
  }
  SampleRun(const SampleRun&) = delete;
  SampleRun& operator=(const SampleRun&) = delete;

  CheckpointState& state() { return state_; }
  std::vector<float>& weight() { return weight_; }

 private:
  std::vector<float> weight_ = std::vector<float>(24);
  std::vector<float> bias_ = std::vector<float>(4);
  std::vector<float> first_moment_ = std::vector<float>(24);
  std::vector<float> second_moment_ = std::vector<float>(24);
  CheckpointState state_;
};

inline void expect_same_tensor(const NamedTensor& a, const NamedTensor& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.shape, b.shape);
  ASSERT_EQ(a.values.size(), b.values.size()) << a.name;
  EXPECT_TRUE(std::ranges::equal(std::as_bytes(a.values), std::as_bytes(b.values))) << a.name;
}

/// Equal names, order, shapes, bits and attributes.
inline void expect_same_state(const CheckpointState& a, const CheckpointState& b) {
  ASSERT_EQ(a.model.size(), b.model.size());
  for (std::size_t i = 0; i < a.model.size(); ++i) expect_same_tensor(a.model[i], b.model[i]);
  ASSERT_EQ(a.optimizer.size(), b.optimizer.size());
  for (std::size_t state_array = 0; state_array < a.optimizer.size(); ++state_array) {
    EXPECT_EQ(a.optimizer[state_array].name, b.optimizer[state_array].name);
    ASSERT_EQ(a.optimizer[state_array].tensors.size(), b.optimizer[state_array].tensors.size());
    for (std::size_t i = 0; i < a.optimizer[state_array].tensors.size(); ++i) {
      expect_same_tensor(a.optimizer[state_array].tensors[i], b.optimizer[state_array].tensors[i]);
    }
  }
  EXPECT_EQ(train_attributes_sha256(train_attributes(a)),
            train_attributes_sha256(train_attributes(b)));
}

inline std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void put_bytes(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Names in a folder, sorted.
inline std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace quern::test
