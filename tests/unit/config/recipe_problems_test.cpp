// SPDX-License-Identifier: Apache-2.0
// What a wrong recipe is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <type_traits>
#include <vector>

#include "config/block_keys.hpp"
#include "config/toml_text.hpp"
#include "small_recipe.hpp"
#include "spec/words.hpp"

namespace quern {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(BadNumbers, OfAListAreNotCounted) {
  EXPECT_EQ(
      error_of(small_recipe("global_batch = 32",
                            "global_batch = 32\n[data.normalize]\ntype = \"given\"\n"
                            "mean = [0, 0, 0]\nstd = [1, 0, 1]")),
      "r.toml:8: data.normalize.mean: 3 numbers for the 1 channels of network.input, expected "
      "one for each, or one for all\n"
      "r.toml:9: data.normalize.std[1]: 0.0 is out of range, expected a number > 0 (as a 32-bit "
      "float)");
}

TEST(Normalize, HasANumberForEachChannelOrOneForAll) {
  const auto with = [](const std::string& mean, const std::string& std) {
    return error_of(replaced(
        small_recipe("[1, 28, 28]", "[3, 28, 28]"), "[data]\n",
        "[data]\nnormalize = {type = \"given\", mean = " + mean + ", std = " + std + "}\n"));
  };
  EXPECT_EQ(with("[0.5]", "[0.2]"), "");
  EXPECT_EQ(with("[0.5, 0.4, 0.3]", "[0.2]"), "");
  EXPECT_EQ(with("[0.5]", "[0.2, 0.3]"),
            "r.toml:4: data.normalize.std: 2 numbers for the 3 channels of network.input, expected "
            "one for each, or one for all");
}

TEST(Monitor, IsTheLossWhereThereAreNoLabels) {
  EXPECT_EQ(error_of(kSmallRecipe,
                     {"loss.type=\"mse\"", "data.target=\"values\"", "train.monitor=\"accuracy\""}),
            "--set: train.monitor: \"accuracy\" needs a loss that has one (cross_entropy, "
            "binary_cross_entropy), expected \"loss\"");
}

TEST(Patience, CountsWholeGapsBetweenEvaluations) {
  const auto error_with = [](const char* patience) {
    return error_of(kSmallRecipe, {"data.test=t", "train.evaluate_every=2",
                                   std::string("train.patience=") + patience});
  };
  EXPECT_EQ(error_with("3"),
            "--set: train.patience: 3 is no multiple of train.evaluate_every = 2, expected one: it "
            "counts epochs, and an evaluation has to tell that none is better");
  EXPECT_EQ(error_with("4"), "");
  EXPECT_EQ(error_with("0"), "");
  EXPECT_EQ(error_of(kSmallRecipe,
                     {"data.test=t", "train.evaluate_every=3", "optimizer.schedule=plateau"}),
            "--set: optimizer.schedule.patience: 10 is no multiple of train.evaluate_every = 3, "
            "expected one: it counts epochs, and an evaluation has to tell that none is better");
}

TEST(Name, IsThatOfAFolder) {
  for (const char* name : {"../r", "a/b", "..", "."})
    EXPECT_THAT(error_of(small_recipe("name = \"small\"", std::string("name = \"") + name + "\"")),
                HasSubstr("name: \"" + std::string(name) + "\" would lead out of runs/"));
}

/// What a key of such a type expects.
template <class Enum>
std::string choices_of() {
  std::vector<std::string> words;
  for (const auto& [word, value] : words_of<Enum>()) words.push_back(word);
  if (std::is_same_v<Enum, LayerType>)
    for (const auto& [word, value] : block_types()) words.push_back(word);
  return list_choices(words);
}

TEST(Choices, AreListedInQuotes) {
  EXPECT_EQ(choices_of<Monitor>(), "\"loss\" or \"accuracy\"");
  EXPECT_EQ(list_choices({"a", "b", "c"}), "\"a\", \"b\" or \"c\"");
}

TEST(MissingKeys, AreAllNamed) {
  EXPECT_EQ(error_of(""),
            "r.toml: name: missing, expected string\n"
            "r.toml: data.train: missing, expected string\n"
            "r.toml: network.input: missing, expected [channels, height, width] or [features]\n"
            "r.toml: network.layers: missing, expected array of tables\n"
            "r.toml: loss.type: missing, expected " +
                choices_of<LossType>() +
                "\n"
                "r.toml: optimizer.type: missing, expected " +
                choices_of<OptimizerType>() +
                "\n"
                "r.toml: optimizer.lr: missing, expected number > 0\n"
                "r.toml: data.global_batch: missing, expected this or data.batch_per_rank");
}

TEST(MissingKeys, PointToTheirTable) {
  EXPECT_EQ(error_of(small_recipe("lr = 0.1\n", "")),
            "r.toml:20: optimizer.lr: missing, expected number > 0");
  EXPECT_EQ(error_of(small_recipe("lr = 0.1\n", "[optimizer.schedule]\n")),
            "r.toml:20: optimizer.lr: missing, expected number > 0");
  EXPECT_EQ(error_of(small_recipe(", kernel = 3", "")),
            "r.toml:10: network.layers[0].kernel: missing, expected integer from 1 to 4096");
  EXPECT_EQ(error_of(small_recipe("type = \"relu\"", "")),
            "r.toml:11: network.layers[1].type: missing, expected " + choices_of<LayerType>());
  EXPECT_EQ(error_of(small_recipe("\"relu\"", "\"add\"")),
            "r.toml:11: network.layers[1].inputs: missing, expected array of strings");
  EXPECT_EQ(error_of(small_recipe("\"relu\"", "\"concat\"")),
            "r.toml:11: network.layers[1].inputs: missing, expected array of strings");
  EXPECT_EQ(error_of(small_recipe("\"relu\"", "\"upsample\"")),
            "r.toml:11: network.layers[1].factor: missing, expected integer from 2 to 4096");
}

struct BadValue {
  std::string before, after, message;
};
void PrintTo(const BadValue& value, std::ostream* out) {
  *out << value.before << " -> " << value.after;
}

class BadValues : public testing::TestWithParam<BadValue> {};

TEST_P(BadValues, AreRefusedWithWhatWasExpected) {
  EXPECT_EQ(error_of(small_recipe(GetParam().before, GetParam().after)), GetParam().message);
}

TEST(RecipeProblems, TooManyRates) {
  const auto with_rates = [](int count) {
    std::string layers;
    for (int i = 1; i <= count; ++i)
      layers += std::string(i > 1 ? ", " : "") +
                "{type = \"linear\", features = 10, lr_factor = " + std::to_string(i) + ".0}";
    return small_recipe("{type = \"linear\", features = 10}", layers);
  };
  EXPECT_EQ(error_of(with_rates(128)), "");
  EXPECT_EQ(
      error_of(with_rates(129)),
      "r.toml:9: network.layers: has 129 different lr_factors, 1 among them, expected at most "
      "128");
}

INSTANTIATE_TEST_SUITE_P(
    Types, BadValues,
    testing::Values(
        BadValue{"\"small\"", "3", "r.toml:1: name: found an integer, expected a string"},
        BadValue{"32", "3.0",
                 "r.toml:5: data.global_batch: found a float, expected an integer from 1 to "
                 "16777216"},
        BadValue{"32", "1979-05-27",
                 "r.toml:5: data.global_batch: found a date, expected an integer from 1 to "
                 "16777216"},
        BadValue{"0.1", "\"0.1\"",
                 "r.toml:22: optimizer.lr: found a string, expected a number > 0"},
        BadValue{"0.1", "07:32:00", "r.toml:22: optimizer.lr: found a time, expected a number > 0"},
        BadValue{"0.1", "0.1\nnesterov = 1",
                 "r.toml:23: optimizer.nesterov: found an integer, expected true or false"},
        BadValue{"[1, 28, 28]", "[28, 28]",
                 "r.toml:8: network.input: found an array of 2 entries, expected [channels, "
                 "height, width] or [features]"},
        BadValue{"[1, 28, 28]", "784",
                 "r.toml:8: network.input: found an integer, expected [channels, height, width] "
                 "or [features]"},
        BadValue{"[1, 28, 28]", "[1, \"28\", 28]",
                 "r.toml:8: network.input[1]: found a string, expected an integer from 1 to "
                 "16777216"},
        BadValue{"\"sgd\"", "\"adam\"\nbetas = [0.9, true]",
                 "r.toml:22: optimizer.betas[1]: found a boolean, expected a number in [0, 1)"},
        BadValue{"\"sgd\"", "\"adam\"\nbetas = 0.9",
                 "r.toml:22: optimizer.betas: found a float, expected an array of two numbers in "
                 "[0, 1)"},
        BadValue{"\"relu\"", "\"add\", inputs = \"conv1\"",
                 "r.toml:11: network.layers[1].inputs: found a string, expected an array of names "
                 "of layers"},
        BadValue{"\"relu\"", "\"concat\", inputs = \"conv1\"",
                 "r.toml:11: network.layers[1].inputs: found a string, expected an array of names "
                 "of layers"},
        BadValue{"\"relu\"", "\"upsample\", factor = 1",
                 "r.toml:11: network.layers[1].factor: 1 is out of range, expected an "
                 "integer from 2 to 4096"},
        BadValue{"\"relu\"", "\"upsample\", factor = 2.0",
                 "r.toml:11: network.layers[1].factor: found a float, expected an integer from 2 "
                 "to 4096"},
        BadValue{"\"relu\"", "\"add\", inputs = [\"conv1\", 2]",
                 "r.toml:11: network.layers[1].inputs[1]: found an integer, expected a string"},
        BadValue{"{type = \"relu\"}", "\"relu\"",
                 "r.toml:11: network.layers[1]: found a string, expected a table such as {type = "
                 "\"relu\"}"},
        BadValue{"\"sgd\"", "\"sdg\"",
                 "r.toml:21: optimizer.type: \"sdg\" is unknown, expected " +
                     choices_of<OptimizerType>() + " (did you mean \"sgd\"?)"},
        BadValue{"[data]\n", "[train]\nepochs = \"many\"\n[data]\n",
                 "r.toml:4: train.epochs: found a string, expected an integer >= 1"}));

INSTANTIATE_TEST_SUITE_P(
    Ranges, BadValues,
    testing::Values(
        BadValue{"0.1", "0",
                 "r.toml:22: optimizer.lr: 0.0 is out of range, expected a number > 0 (as a 32-bit "
                 "float)"},
        BadValue{"0.1", "-1e-3",
                 "r.toml:22: optimizer.lr: -0.001 is out of range, expected a number > 0 (as a "
                 "32-bit float)"},
        BadValue{"0.1", "nan",
                 "r.toml:22: optimizer.lr: nan is out of range, expected a number > 0 (as a "
                 "32-bit float)"},
        BadValue{"0.1", "inf",
                 "r.toml:22: optimizer.lr: inf is out of range, expected a number > 0 (as a "
                 "32-bit float)"},
        BadValue{"0.1", "1e-60",
                 "r.toml:22: optimizer.lr: 1e-60 is out of range, expected a number > 0 (as a "
                 "32-bit float)"},
        BadValue{"0.1", "1e300",
                 "r.toml:22: optimizer.lr: 1e+300 is out of range, expected a number > 0 (as a "
                 "32-bit float)"},
        BadValue{"\"sgd\"", "\"adam\"\nbetas = [0.9, 0.99999999999]",
                 "r.toml:22: optimizer.betas[1]: 0.99999999999 is out of range, expected a number "
                 "in [0, 1) (as a 32-bit float)"},
        BadValue{"0.1", "0.1\nmomentum = 1",
                 "r.toml:23: optimizer.momentum: 1.0 is out of range, expected a number in [0, 1) "
                 "(as a 32-bit float)"},
        BadValue{"0.1", "0.1\nweight_decay = -1",
                 "r.toml:23: optimizer.weight_decay: -1.0 is out of range, expected a number >= 0 "
                 "(as a 32-bit float)"},
        BadValue{"32", "0",
                 "r.toml:5: data.global_batch: 0 is out of range, expected an integer from 1 to "
                 "16777216"},
        BadValue{"32", "9223372036854775807",
                 "r.toml:5: data.global_batch: 9223372036854775807 is out of range, expected an "
                 "integer from 1 to 16777216"},
        BadValue{"[data]\n", "[train]\nepochs = 0\n[data]\n",
                 "r.toml:4: train.epochs: 0 is out of range, expected an integer >= 1"},
        BadValue{"[data]\n", "[train]\nepochs = 2147483648\n[data]\n",
                 "r.toml:4: train.epochs: 2147483648 is out of range, expected an integer >= 1 and "
                 "at most 2147483647"},
        BadValue{"[data]\n", "[checkpoint]\nkeep = 0\n[data]\n",
                 "r.toml:4: checkpoint.keep: 0 is out of range, expected an integer >= 1"},
        BadValue{"\"small\"", "\"small\"\nseed = -1",
                 "r.toml:2: seed: -1 is out of range, expected an integer >= 0"},
        BadValue{"kernel = 3", "kernel = 0",
                 "r.toml:10: network.layers[0].kernel: 0 is out of range, expected an integer from "
                 "1 to 4096"},
        BadValue{"\"relu\"", "\"dropout\", p = 1.0",
                 "r.toml:11: network.layers[1].p: 1.0 is out of range, expected a number in [0, 1) "
                 "(as a 32-bit float)"},
        BadValue{"[1, 28, 28]", "[1, 0, 28]",
                 "r.toml:8: network.input[1]: 0 is out of range, expected an integer from 1 to "
                 "16777216"},
        BadValue{"[1, 28, 28]", "[65536, 65536, 65536]",
                 "r.toml:8: network.input: has too many units, expected at most 1073741824"},
        BadValue{"\"small\"", "\"\"", "r.toml:1: name: is empty, expected some text"},
        BadValue{"\"shards\"", "\"\"", "r.toml:4: data.train: is empty, expected some text"},
        BadValue{"\"small\"", "\"a\\u0000b\"",
                 "r.toml:1: name: \"a\\x00b\" holds a control character, expected plain text"}));

INSTANTIATE_TEST_SUITE_P(
    Contradictions, BadValues,
    testing::Values(
        BadValue{"32", "32\nbatch_per_rank = 4",
                 "r.toml:6: data.batch_per_rank: contradicts data.global_batch, expected only one "
                 "of the two"},
        BadValue{"global_batch = 32\n", "",
                 "r.toml:3: data.global_batch: missing, expected this or data.batch_per_rank"},
        BadValue{"0.1", "0.1\nnesterov = true",
                 "r.toml:23: optimizer.nesterov: true without momentum, expected "
                 "optimizer.momentum > 0"},
        BadValue{
            "\"sgd\"", "\"adam\"\nmomentum = 0.9",
            "r.toml:22: optimizer.momentum: applies only to optimizer.type = \"sgd\" or \"lars\"; "
            "here it is \"adam\" (known: type, lr, weight_decay, decay, betas, eps, clip_norm, "
            "schedule)"},
        BadValue{"0.1", "0.1\ntrust_coefficient = 0.01",
                 "r.toml:23: optimizer.trust_coefficient: applies only to optimizer.type = "
                 "\"lars\"; here it is \"sgd\" (known: type, lr, momentum, nesterov, weight_decay, "
                 "decay, clip_norm, schedule)"},
        BadValue{"\"sgd\"", "\"lars\"\ntrust_coefficient = 0",
                 "r.toml:22: optimizer.trust_coefficient: 0.0 is out of range, expected a number > "
                 "0 (as a 32-bit float)"},
        BadValue{"\"cross_entropy\"", "\"mse\"",
                 "r.toml:18: loss.type: \"mse\" compares numbers, expected with it data.target = "
                 "\"input\" or \"values\" (the default is \"label\")"},
        BadValue{"\"cross_entropy\"", "\"huber\"",
                 "r.toml:18: loss.type: \"huber\" compares numbers, expected with it data.target = "
                 "\"input\" or \"values\" (the default is \"label\")"},
        BadValue{"\"cross_entropy\"", "\"cross_entropy\"\ndelta = 0.5",
                 "r.toml:19: loss.delta: applies only to loss.type = \"huber\"; here it is "
                 "\"cross_entropy\" (known: type, label_smoothing, class_weights)"},
        BadValue{"[data]\n", "[data]\ntarget = \"input\"\n",
                 "r.toml:4: data.target: \"input\" contradicts loss.type = \"cross_entropy\", "
                 "expected \"label\""},
        BadValue{"[data]\n", "[data]\nnormalize_targets = \"dataset\"\n",
                 "r.toml:4: data.normalize_targets.type: applies only to data.target = "
                 "\"values\"; here it is \"label\", expected no such key"},
        BadValue{"[data]\n", "[data]\nsource = \"random\"\nsamples = 5\n",
                 "r.toml:6: data.train: applies only to data.source = \"shards\"; here it is "
                 "\"random\" (known: source, samples, global_batch, batch_per_rank, shuffle, "
                 "window, target, normalize, augment)"},
        BadValue{"train = \"shards\"\n", "", "r.toml:3: data.train: missing, expected string"},
        BadValue{"[loss]\n", "[network.init]\ntype = \"default\"\nstd = 0.1\n[loss]\n",
                 "r.toml:19: network.init.std: applies only to network.init.type = \"normal\"; "
                 "here it is \"default\" (known: type)"},
        BadValue{"features = 10", "features = 10, kernel = 3",
                 "r.toml:14: network.layers[4].kernel: applies only to type = \"conv2d\"; here it "
                 "is \"linear\" (known: type, name, input, features, bias, trainable, "
                 "lr_factor)"},
        BadValue{"features = 10", "features = 10, lr_factor = 0.0",
                 "r.toml:14: network.layers[4].lr_factor: 0.0 is out of range, expected a number > "
                 "0 (as a 32-bit float)"},
        BadValue{"features = 10", "features = 10, lr_factor = 0.5, trainable = false",
                 "r.toml:9: network.layers: layer 'fc1' (recipe line 14) has an lr_factor and "
                 "trainable = false, "
                 "expected one of them: what is not trained has no rate"},
        BadValue{"0.1", "0.1\nclip_norm = 1e-46",
                 "r.toml:23: optimizer.clip_norm: 1e-46 is 0 as a 32-bit float, expected 0 or a "
                 "larger number"},
        BadValue{"0.1", "0.1\n[train]\npatience = 3",
                 "r.toml:24: train.patience: 3 needs evaluations, expected data.test"},
        BadValue{"0.1", "0.1\n[checkpoint]\nkeep_best = true",
                 "r.toml:24: checkpoint.keep_best: true needs evaluations, expected data.test"},
        BadValue{"0.1", "0.1\n[train]\nevaluate_every = 0",
                 "r.toml:24: train.evaluate_every: 0 is out of range, expected an integer >= 1"},
        BadValue{"0.1", "0.1\n[train]\nmonitor = \"accurracy\"",
                 "r.toml:24: train.monitor: \"accurracy\" is unknown, expected \"loss\" or "
                 "\"accuracy\" (did you mean \"accuracy\"?)"},
        BadValue{"0.1", "0.1\nschedule = {type = \"cosine\", min_lr = 0.2}",
                 "r.toml:23: optimizer.schedule.min_lr: 0.2 is above optimizer.lr = 0.1, expected "
                 "at most that"},
        BadValue{"0.1", "0.1\nschedule = {gamma = 0.2}",
                 "r.toml:23: optimizer.schedule.gamma: applies only to optimizer.schedule.type = "
                 "\"step\", \"multi_step\", \"exponential\" or \"plateau\"; here it is "
                 "\"constant\" (known: type, warmup_steps, warmup_epochs)"},
        BadValue{"0.1", "0.1\nschedule = \"plateau\"",
                 "r.toml:23: optimizer.schedule.type: \"plateau\" needs evaluations, expected "
                 "data.test"},
        BadValue{"0.1", "0.1\nschedule = {type = \"multi_step\"}",
                 "r.toml:23: optimizer.schedule.milestones: missing, expected array of 1 to 16 "
                 "integers >= 1"},
        BadValue{"0.1", "0.1\nschedule = {type = \"multi_step\", milestones = []}",
                 "r.toml:23: optimizer.schedule.milestones: found an array of 0 entries, expected "
                 "an array "
                 "of 1 to 16 integers >= 1"},
        BadValue{"0.1", "0.1\nschedule = {type = \"multi_step\", milestones = [0]}",
                 "r.toml:23: optimizer.schedule.milestones[0]: 0 is out of range, expected an "
                 "integer >= 1"},
        BadValue{"0.1", "0.1\nschedule = {type = \"multi_step\", milestones = [30, 30]}",
                 "r.toml:23: optimizer.schedule.milestones: [30, 30], expected epochs in "
                 "increasing order"},
        BadValue{"0.1", "0.1\nschedule = {warmup_epochs = 2, warmup_steps = 3}",
                 "r.toml:23: optimizer.schedule.warmup_epochs: 2 contradicts "
                 "optimizer.schedule.warmup_steps = 3, expected only one of the two"},
        BadValue{"\"cross_entropy\"", "\"cross_entropy\"\nlabel_smoothing = 1.1",
                 "r.toml:19: loss.label_smoothing: 1.1 is out of range, expected a number from 0 "
                 "to 1 (as a 32-bit float)"},
        BadValue{"size = 2", "size = 2, name = \"conv1\"",
                 "r.toml:12: network.layers[2].name: \"conv1\" is already the name of "
                 "network.layers[0], expected a new name"},
        BadValue{"size = 2", "size = 2, name = \"a/b\"",
                 "r.toml:12: network.layers[2].name: \"a/b\" is no layer name, expected a letter, "
                 "then letters, digits, '_' or '-', in parts between dots, at most 64 in all"},
        BadValue{"size = 2", "size = 2, name = \"a..b\"",
                 "r.toml:12: network.layers[2].name: \"a..b\" is no layer name, expected a letter, "
                 "then letters, digits, '_' or '-', in parts between dots, at most 64 in all"}));

INSTANTIATE_TEST_SUITE_P(
    Inputs, BadValues,
    testing::Values(
        BadValue{"\"relu\"", "\"relu\", input = \"a b\\u0007\"",
                 "r.toml:11: network.layers[1].input: \"a b\\x07\" holds a control character, "
                 "expected plain text"},
        BadValue{"\"relu\"", "\"add\", inputs = [\"conv1\", \"a/b\"]",
                 "r.toml:11: network.layers[1].inputs[1]: \"a/b\" is no layer name, expected a "
                 "letter, then letters, digits, '_' or '-', in parts between dots, at most 64 in "
                 "all"},
        BadValue{"\"relu\"", "\"relu\", input = \"cnov1\"",
                 "r.toml:11: network.layers[1].input: \"cnov1\" is no layer (did you mean "
                 "'conv1'?)"},
        BadValue{"\"relu\"", "\"add\", inputs = [\"input\", \"stem\"]",
                 "r.toml:11: network.layers[1].inputs[1]: \"stem\" is no layer (known: input, "
                 "conv1)"},
        BadValue{"\"relu\"", "\"add\", inputs = [\"conv1\", \"flatten1\"]",
                 "r.toml:11: network.layers[1].inputs[1]: \"flatten1\" comes later, as "
                 "network.layers[3] in line 13, expected a layer before its reader"},
        BadValue{"\"relu\"", "\"relu\", input = \"relu1\"",
                 "r.toml:11: network.layers[1].input: \"relu1\" is this layer itself, expected an "
                 "earlier one"}));

TEST(BadValues, ADeltaOfZero) {
  const std::string huber = small_recipe("\"cross_entropy\"", "\"huber\"\ndelta = 0");
  EXPECT_EQ(
      error_of(replaced(huber, "[data]\n", "[data]\ntarget = \"input\"\n")),
      "r.toml:20: loss.delta: 0.0 is out of range, expected a number > 0 (as a 32-bit float)");
}

TEST(Rates, MayEndWhereTheyBegin) {
  EXPECT_EQ(error_of(small_recipe("0.1", "0.1\nschedule = {type = \"cosine\", min_lr = 0.1}")), "");
}

TEST(Sizes, NeedANumberAndAUnit) {
  const auto error = [](const std::string& size) {
    return error_of(small_recipe("global_batch = 32", "global_batch = 32\nmemory = " + size));
  };
  for (const char* size : {"\"2 GiB\"", "\"1.5MiB\"", "\"100 B\"", "\"64 KB\"", "\"0.5 TiB\""})
    EXPECT_EQ(error(size), "") << size;
  for (const char* size : {"\"\"", "\"GiB\"", "\"2\"", "\"2 gib\"", "\"-2 GiB\"", "\"2 GiB.\"",
                           "\"nan GiB\"", "\"0 B\"", "\"1e30 TiB\"", "\"99999999999 TiB\""}) {
    EXPECT_THAT(error(size), StartsWith("r.toml:6: data.memory: ")) << size;
    EXPECT_THAT(error(size), HasSubstr("is no size, expected a number and one of B, KB, KiB"))
        << size;
  }
  EXPECT_EQ(
      error("1000"),
      "r.toml:6: data.memory: found an integer, expected a string: a number and one of B, KB, "
      "KiB, MB, MiB, GB, GiB, TB, TiB");
}

TEST(Problems, AreListedInTheOrderOfTheFile) {
  std::string text = small_recipe("0.1", "-1");
  text = replaced(text, "channels = 4", "chanels = 4");
  text = replaced(text, "\"small\"", "7");
  EXPECT_EQ(error_of(text),
            "r.toml:1: name: found an integer, expected a string\n"
            "r.toml:10: network.layers[0].chanels: unknown key (did you mean 'channels'?)\n"
            "r.toml:22: optimizer.lr: -1.0 is out of range, expected a number > 0 (as a 32-bit "
            "float)");
}

TEST(Problems, OfAWrongTypeDoNotSpread) {
  EXPECT_EQ(lines_of(error_of(small_recipe("\"sgd\"", "\"adm\"\nbetas = [0.9, 0.9]"))), 0);
  EXPECT_EQ(
      error_of("data = 3\n" + replaced(replaced(kSmallRecipe, "[data]\ntrain = \"shards\"\n", ""),
                                       "global_batch = 32\n", "")),
      "r.toml:1: data: found an integer, expected a table");
}

}  // namespace
}  // namespace quern
