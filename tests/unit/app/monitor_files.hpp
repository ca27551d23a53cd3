// SPDX-License-Identifier: Apache-2.0
// Run folders as a training leaves them.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace quern::test {

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

constexpr const char* kRecipe = R"(
name = "toy"
[data]
train = "train"
global_batch = 10
[network]
input = [1, 4, 4]
layers = [{type = "flatten"}, {type = "linear", features = 3}]
[loss]
type = "cross_entropy"
[optimizer]
type = "sgd"
lr = 0.1
[train]
epochs = 4
)";

// 1970-01-01T00:16:40Z is second 1000.
constexpr const char* kStart =
    R"({"event":"start","time":"1970-01-01T00:16:40Z","step":0,"epoch":0,"total_steps":40,"ranks":2})"
    "\n";

constexpr const char* kMetrics =
    R"({"kind":"step","epoch":1,"step":5,"loss":2.0,"accuracy":0.25,"lr":0.1,"samples_per_s":100.5,"samples":10,"ranks":2,"time_s":1.0})"
    "\n"
    R"({"kind":"step","epoch":1,"step":10,"loss":"nan","lr":0.1,"samples_per_s":100,"samples":10,"ranks":2,"time_s":2.0})"
    "\n"
    R"({"kind":"epoch","epoch":1,"step":10,"loss":1.5,"accuracy":0.5,"lr":0.1,"samples_per_s":12345.6,"samples":100,"ranks":2,"time_s":2.0,"rank_times_s":{"data":[0.25,0.75],"waiting":[0.75,0.25]}})"
    "\n"
    R"({"kind":"eval","epoch":1,"step":10,"loss":1.25,"accuracy":0.625,"rmse":7.5,"r2":0.875,"samples":50,"ranks":2,"time_s":2.5})"
    "\n";

/// An epoch of more ranks than metrics.jsonl lists.
constexpr const char* kManyRanks =
    R"({"kind":"epoch","epoch":2,"step":20,"loss":1.5,"ranks":4000,"time_s":2.0,"rank_summary_s":{)"
    R"("forward":{"min":6.0,"median":8.0,"mean":7.5,"max":9.5,"rank_of_min":7,"rank_of_max":3999},)"
    R"("waiting":{"min":0.5,"median":2.0,"mean":2.5,"max":4.0,"rank_of_min":3999,"rank_of_max":7},)"
    R"("work":{"min":6.0,"median":8.0,"mean":7.5,"max":9.5,"rank_of_min":7,"rank_of_max":3999}}})"
    "\n";

/// Without a file whose text is "".
inline void write_run(const std::filesystem::path& folder, const std::string& metrics = kMetrics,
                      const std::string& events = kStart) {
  write_text(folder / "recipe.toml", kRecipe);
  if (!metrics.empty()) write_text(folder / "metrics.jsonl", metrics);
  if (!events.empty()) write_text(folder / "events.jsonl", events);
}

}  // namespace quern::test
