// SPDX-License-Identifier: Apache-2.0
#include "config/rules.hpp"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/count_text.hpp"
#include "config/recipe_keys.hpp"
#include "config/toml_text.hpp"
#include "spec/words.hpp"

namespace quern {

namespace {

struct Checker {
  const Recipe& recipe;
  const TableReader<Recipe>& reader;
  Problems& problems;

  bool is_stated(const std::string& key) const { return reader.place_of_key(key).has_value(); }

  /// False when a value is known to be bad, so that what follows from it would only confuse.
  bool are_sound(std::initializer_list<const char*> keys) const {
    for (const std::string key : keys) {
      if (problems.concerns(key)) return false;
    }
    return true;
  }

  std::string text_of(const std::string& key) const {
    return find_key(recipe_keys(), key).write(recipe);
  }

  void report(const std::string& key, const std::string& text) const {
    const Place table = reader.place_of_key(key.substr(0, key.rfind('.'))).value_or(Place{});
    problems.add(reader.place_of_key(key).value_or(table), key, text);
  }
};

// It names a folder.
void check_name(const Checker& check) {
  const std::string& name = check.recipe.name;
  if (!check.are_sound({"name"})) return;
  if (name == "." || name == ".." || name.find('/') != std::string::npos) {
    check.report("name", "\"" + name +
                             "\" would lead out of runs/, where the run's folder has this "
                             "name (expected one without '/'; --run-dir chooses another place)");
  }
}

void check_batch(const Checker& check) {
  if (!check.are_sound({"data.global_batch", "data.batch_per_rank"})) return;
  const bool has_global = check.is_stated("data.global_batch");
  const bool has_per_rank = check.is_stated("data.batch_per_rank");
  if (has_global && has_per_rank) {
    check.report("data.batch_per_rank",
                 "contradicts data.global_batch, expected only one of the two");
  }
  if (!has_global && !has_per_rank) {
    check.report("data.global_batch", "missing, expected this or data.batch_per_rank");
  }
}

void check_target(const Checker& check) {
  if (!check.are_sound({"data.source", "data.target", "loss.type"})) return;
  if (check.recipe.loss.type == LossType::custom) return;  // any, as the program likes
  const DataSpec& data = check.recipe.data;
  const bool is_cross_entropy = check.recipe.loss.type == LossType::cross_entropy;
  const std::string target = check.text_of("data.target");
  const std::string loss = check.text_of("loss.type");
  if (is_cross_entropy && data.target != TargetType::label) {
    check.report("data.target",
                 target + " contradicts loss.type = \"cross_entropy\", expected " + "\"label\"");
  } else if (!is_cross_entropy && data.target == TargetType::label) {
    const bool is_stated = check.is_stated("data.target");
    check.report(is_stated ? "data.target" : "loss.type",
                 is_stated ? target + " contradicts loss.type = " + loss +
                                 ", expected \"input\" or \"values\""
                           : loss + " compares numbers, expected with it data.target = \"input\" " +
                                 std::string("or \"values\" (the default is \"label\")"));
  }
}

// The targets are probabilities.
void check_binary(const Checker& check) {
  if (!check.are_sound({"loss.type", "data.target"}) ||
      check.recipe.loss.type != LossType::binary_cross_entropy)
    return;
  const DataSpec& data = check.recipe.data;
  const bool is_input = data.target == TargetType::input;
  const char* key = is_input ? "data.normalize" : "data.normalize_targets";
  const NormalizeSpec& normalize = is_input ? data.normalize : data.normalize_targets;
  if (normalize.type == NormalizeType::none) return;
  check.report(key,
               std::string("contradicts loss.type = \"binary_cross_entropy\", whose targets are "
                           "from 0 to 1, expected \"none\""));
}

void check_window(const Checker& check) {
  if (!check.are_sound({"data.window", "data.shuffle"})) return;
  if (check.recipe.data.window == 0 || check.recipe.data.shuffle) return;
  check.report("data.window", check.text_of("data.window") +
                                  " contradicts data.shuffle = false, expected none, or true");
}

void check_normalize(const Checker& check) {
  const NormalizeSpec& normalize = check.recipe.data.normalize;
  if (normalize.type != NormalizeType::given || !check.are_sound({"network.input"})) return;
  const auto channels = static_cast<std::size_t>(check.recipe.network.input.channels);
  for (const auto& [key, values] : {std::pair("data.normalize.mean", &normalize.mean),
                                    std::pair("data.normalize.std", &normalize.std)}) {
    if (!check.are_sound({key}) || !check.is_stated(key) || values->size() == 1 ||
        values->size() == channels) {
      continue;
    }
    check.report(key, std::to_string(values->size()) + " numbers for the " +
                          std::to_string(channels) + " channels of network.input, expected one " +
                          "for each, or one for all");
  }
}

void check_augment(const Checker& check) {
  if (!check.are_sound({"data.target", "data.augment", "data.augment.crop", "data.augment.flip",
                        "network.input"})) {
    return;
  }
  const DataSpec& data = check.recipe.data;
  const Shape& input = check.recipe.network.input;
  if (!data.augment.is_active()) return;
  const std::string key = data.augment.crop > 0 ? "data.augment.crop" : "data.augment.flip";
  const int most = std::min(input.height, input.width) / 2;
  if (input.is_flat()) {
    check.report(key, check.text_of(key) + " needs images, expected network.input = [channels, " +
                          "height, width] instead of " + to_string(input));
  } else if (data.augment.crop > most) {
    check.report(key, check.text_of(key) + " is too large for images of " +
                          std::to_string(input.height) + " x " + std::to_string(input.width) +
                          " pixels, expected at most half of the smaller side, " +
                          std::to_string(most));
  } else if (data.target == TargetType::input) {
    check.report(key, check.text_of(key) +
                          " contradicts data.target = \"input\": what comes out "
                          "would be compared with the altered image (expected 0 and false)");
  }
}

// Without evaluations there is no best one.
void check_monitor(const Checker& check) {
  if (!check.are_sound({"data.test", "data.target", "loss.type", "train.evaluate_every",
                        "train.patience", "train.monitor", "checkpoint.keep_best",
                        "optimizer.schedule", "optimizer.schedule.type",
                        "optimizer.schedule.patience"}))
    return;
  const Recipe& recipe = check.recipe;
  const bool has_test_set = !recipe.data.test.empty() || recipe.data.source == DataSource::program;
  const auto need_test_set = [&](const char* key) {
    check.report(key, check.text_of(key) + " needs evaluations, expected data.test");
  };
  const ScheduleSpec& schedule = recipe.optimizer.schedule;
  if (needs_evaluations(schedule) && !has_test_set) need_test_set("optimizer.schedule.type");
  if (recipe.train.patience > 0 && !has_test_set) need_test_set("train.patience");
  if (recipe.checkpoint.keep_best && !has_test_set) need_test_set("checkpoint.keep_best");
  const auto need_multiple = [&](const char* key, int patience) {
    if (patience % recipe.train.evaluate_every == 0) return;
    check.report(key, check.text_of(key) + " is no multiple of train.evaluate_every = " +
                          std::to_string(recipe.train.evaluate_every) +
                          ", expected one: it counts epochs, and an evaluation has to tell that "
                          "none is better");
  };
  need_multiple("train.patience", recipe.train.patience);
  if (schedule.type == ScheduleType::plateau)
    need_multiple("optimizer.schedule.patience", schedule.patience);
  if (check.are_sound({"loss.type"}) && recipe.train.monitor == Monitor::accuracy &&
      !may_have_accuracy(recipe.loss.type)) {
    std::vector<std::string> fit;
    for (const auto& [word, type] : words_of<LossType>())
      if (type != LossType::custom && may_have_accuracy(type)) fit.push_back(word);
    check.report("train.monitor", "\"accuracy\" needs a loss that has one (" + join(fit, ", ") +
                                      "), expected \"loss\"");
  }
}

void check_optimizer(const Checker& check) {
  const OptimizerSpec& optimizer = check.recipe.optimizer;
  const bool is_momentum_known =
      check.are_sound({"optimizer.type", "optimizer.momentum", "optimizer.nesterov"});
  if (is_momentum_known && optimizer.nesterov && optimizer.momentum == 0) {
    check.report("optimizer.nesterov", "true without momentum, expected optimizer.momentum > 0");
  }
  const ScheduleSpec& schedule = optimizer.schedule;
  if (check.are_sound({"optimizer.schedule", "optimizer.schedule.warmup_steps",
                       "optimizer.schedule.warmup_epochs"}) &&
      schedule.warmup_steps > 0 && schedule.warmup_epochs > 0) {
    check.report("optimizer.schedule.warmup_epochs",
                 check.text_of("optimizer.schedule.warmup_epochs") +
                     " contradicts optimizer.schedule.warmup_steps = " +
                     check.text_of("optimizer.schedule.warmup_steps") +
                     ", expected only one of the two");
  }
  if (check.are_sound({"optimizer.schedule", "optimizer.schedule.milestones"}) &&
      std::ranges::adjacent_find(schedule.milestones, std::greater_equal<>()) !=
          schedule.milestones.end()) {
    check.report("optimizer.schedule.milestones", check.text_of("optimizer.schedule.milestones") +
                                                      ", expected epochs in increasing order");
  }
  const bool are_rates_known =
      check.are_sound({"optimizer.lr", "optimizer.schedule", "optimizer.schedule.type",
                       "optimizer.schedule.min_lr"});
  if (are_rates_known && check.is_stated("optimizer.lr") &&
      optimizer.schedule.min_lr > optimizer.lr) {
    check.report("optimizer.schedule.min_lr",
                 check.text_of("optimizer.schedule.min_lr") + " is above optimizer.lr = " +
                     check.text_of("optimizer.lr") + ", expected at most that");
  }
}

void check_lr_factors(const Checker& check) {
  if (!check.are_sound({"network.layers"})) return;
  std::set<float> factors;
  for (const LayerSpec& layer : check.recipe.network.layers) {
    factors.insert(static_cast<float>(layer.lr_factor));
    if (layer.trainable || layer.lr_factor == 1) continue;
    const std::string line = layer.recipe_line > 0
                                 ? " (recipe line " + std::to_string(layer.recipe_line) + ")"
                                 : std::string();
    check.report("network.layers", "layer '" + layer.name + "'" + line +
                                       " has an lr_factor and trainable = false, expected one of "
                                       "them: what is not trained has no rate");
    return;
  }
  if (factors.size() > kMaxLrFactors) {
    check.report("network.layers", "has " + std::to_string(factors.size()) +
                                       " different lr_factors, 1 among them, expected at most " +
                                       std::to_string(kMaxLrFactors));
  }
}

// Statistics over the global batch need all of its activations at once.
void check_micro_batches(const Checker& check) {
  if (!check.are_sound({"parallel.micro_batches", "network.layers"})) return;
  if (check.recipe.parallel.micro_batches == 1) return;
  for (const LayerSpec& layer : check.recipe.network.layers) {
    if (layer.type != LayerType::batch_norm || layer.statistics != Statistics::global) continue;
    check.report("parallel.micro_batches", check.text_of("parallel.micro_batches") +
                                               " contradicts statistics = \"global\" of "
                                               "layer '" +
                                               layer.name +
                                               "', which needs all activations of a batch at once, "
                                               "expected 1, or statistics = \"block\" or "
                                               "\"running\"");
    return;
  }
}

void check_tensor(const Checker& check) {
  if (!check.are_sound({"parallel.tensor", "parallel.tensor_slices", "train.determinism"})) return;
  // With strategy = "tensor" the number of ranks says how many share a layer.
  const bool is_strategy = check.recipe.parallel.strategy == SplitStrategy::tensor;
  if (!is_strategy && tensor_slices(check.recipe) == 0) return;
  const std::string problem = tensor_slices_problem(check.recipe);
  if (!problem.empty()) check.report("parallel.tensor_slices", problem);
}

// Blocks move where a rank's part of a batch is computed at once, and where the bits allow it.
void check_balance(const Checker& check) {
  const bool is_known =
      check.are_sound({"parallel.balance", "parallel.micro_batches", "parallel.pipeline",
                       "parallel.tensor", "parallel.strategy", "train.determinism"});
  const ParallelSpec& parallel = check.recipe.parallel;
  if (!is_known || !parallel.balance) return;
  const auto contradict = [&](const char* key, const char* expected) {
    check.report("parallel.balance", std::string("true contradicts ") + key + " = " +
                                         check.text_of(key) + " (expected " + expected + ")");
  };
  if (check.recipe.train.determinism == Determinism::fast)
    contradict("train.determinism", "\"rank-invariant\"");
  if (parallel.micro_batches > 1) contradict("parallel.micro_batches", "1");
  if (parallel.pipeline > 1) contradict("parallel.pipeline", "1");
  if (parallel.tensor > 1) contradict("parallel.tensor", "1");
  if (parallel.strategy == SplitStrategy::pipeline || parallel.strategy == SplitStrategy::tensor)
    contradict("parallel.strategy", "\"data\"");
}

void check_strategy(const Checker& check) {
  if (!check.are_sound({"parallel.strategy", "parallel.pipeline", "parallel.tensor",
                        "parallel.shard_optimizer"}))
    return;
  const ParallelSpec& parallel = check.recipe.parallel;
  const auto contradict = [&](const char* key, const char* expected) {
    check.report(key, check.text_of(key) + " contradicts parallel.strategy = " +
                          check.text_of("parallel.strategy") + " (expected " + expected + ")");
  };
  const bool keeps_network = parallel.strategy == SplitStrategy::single ||
                             parallel.strategy == SplitStrategy::data ||
                             parallel.strategy == SplitStrategy::sharded;
  if (keeps_network && parallel.pipeline > 1) contradict("parallel.pipeline", "1");
  if (keeps_network && parallel.tensor > 1) contradict("parallel.tensor", "1");
  if (parallel.strategy == SplitStrategy::data && parallel.shard_optimizer)
    contradict("parallel.shard_optimizer", "false, or parallel.strategy = \"sharded\"");
}

void check_pipeline(const Checker& check) {
  if (!check.are_sound({"parallel.pipeline", "parallel.cut"})) return;
  const ParallelSpec& parallel = check.recipe.parallel;
  const std::size_t cuts = static_cast<std::size_t>(parallel.pipeline) - 1;
  // With strategy = "pipeline" the number of ranks says how many stages there are.
  const bool is_known = parallel.strategy != SplitStrategy::pipeline || parallel.pipeline > 1;
  if (is_known && !parallel.cut.empty() && parallel.cut.size() != cuts) {
    check.report("parallel.cut", check.text_of("parallel.cut") + " names " +
                                     count_text(std::ssize(parallel.cut), "layer") + ", expected " +
                                     std::to_string(cuts) +
                                     ": the first of each of parallel.pipeline = " +
                                     std::to_string(parallel.pipeline) + " stages but the first");
  }
}

}  // namespace

void check_rules(const Recipe& recipe, const TableReader<Recipe>& reader, Problems& problems) {
  const Checker check{recipe, reader, problems};
  check_name(check);
  check_batch(check);
  check_target(check);
  check_binary(check);
  check_window(check);
  check_normalize(check);
  check_augment(check);
  check_monitor(check);
  check_optimizer(check);
  check_lr_factors(check);
  check_micro_batches(check);
  check_tensor(check);
  check_strategy(check);
  check_balance(check);
  check_pipeline(check);
}

}  // namespace quern
