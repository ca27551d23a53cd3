// SPDX-License-Identifier: Apache-2.0
#include "config/recipe_difference.hpp"

#include <gtest/gtest.h>

#include "small_recipe.hpp"

namespace quern {
namespace {

Recipe with(const std::vector<std::string>& overrides) {
  return parse_recipe(kSmallRecipe, "r.toml", overrides);
}

/// The keys that differ, in order: "seed optimizer.lr".
std::string keys_of(const std::vector<RecipeDifference>& found) {
  std::string keys;
  for (const RecipeDifference& difference : found) {
    keys += (keys.empty() ? "" : " ") + difference.key;
  }
  return keys;
}

std::string keys_of(const Recipe& ours, const Recipe& theirs) {
  return keys_of(differences(ours, ours.global_batch(1), theirs, theirs.global_batch(1)));
}

/// The keys that keep a run with these overrides from going on from the small recipe's checkpoint.
std::string difference_of(const std::vector<std::string>& overrides) {
  return keys_of(with(overrides), with({}));
}

RecipeDifference only_difference(const Recipe& ours, const Recipe& theirs) {
  const auto found = differences(ours, 32, theirs, 32);
  EXPECT_EQ(found.size(), 1u) << keys_of(found);
  return found.empty() ? RecipeDifference{} : found.front();
}

TEST(RecipeDifference, WhatMattersIsNamed) {
  EXPECT_EQ(difference_of({"seed=1"}), "seed");
  EXPECT_EQ(difference_of({"data.global_batch=33"}), "data.global_batch");
  EXPECT_EQ(difference_of({"data.shuffle=false"}), "data.shuffle");
  EXPECT_EQ(difference_of({"data.target=input", "loss.type=mse"}), "data.target loss.type");
  EXPECT_EQ(difference_of({"network.input=[2, 28, 28]"}), "network.input");
  EXPECT_EQ(difference_of({"network.init=normal"}), "network.init.type");
  EXPECT_EQ(difference_of({"network.layers.conv1.bias=false"}), "network.layers[0].bias");
  EXPECT_EQ(difference_of({"optimizer.lr=0.2"}), "optimizer.lr");
  EXPECT_EQ(difference_of({"optimizer.momentum=0.5"}), "optimizer.momentum");
  EXPECT_EQ(difference_of({"optimizer.type=adam"}), "optimizer.type");
  EXPECT_EQ(difference_of({"optimizer.clip_norm=1"}), "optimizer.clip_norm");
  EXPECT_EQ(difference_of({"optimizer.schedule=step"}), "optimizer.schedule.type");
  EXPECT_EQ(difference_of({"optimizer.schedule.warmup_steps=3"}),
            "optimizer.schedule.warmup_steps");
  EXPECT_EQ(difference_of({"optimizer.schedule.warmup_epochs=3"}),
            "optimizer.schedule.warmup_epochs");
  EXPECT_EQ(difference_of({"network.layers.fc1.bias=false"}), "network.layers[4].bias");
  EXPECT_EQ(difference_of({"loss.label_smoothing=0.1"}), "loss.label_smoothing");
  EXPECT_EQ(difference_of({"loss.class_weights=balanced"}), "loss.class_weights.type");
  const auto with_weights = [](const char* weights) {
    return with({std::string("loss.class_weights=") + weights});
  };
  EXPECT_EQ(keys_of(with_weights("{type=\"given\", values=[1, 2]}"),
                    with_weights("{type=\"given\", values=[1, 3]}")),
            "loss.class_weights.values");
  // What is known of the data only later.
  EXPECT_EQ(keys_of(with_weights("balanced"), with_weights("{type=\"given\", values=[1, 3]}")), "");
  const auto with_huber = [](const char* delta) {
    return with({"data.target=input", std::string("loss={type=\"huber\", delta=") + delta + "}"});
  };
  EXPECT_EQ(keys_of(with_huber("1.0"), with_huber("2.0")), "loss.delta");
  EXPECT_EQ(difference_of({"train.determinism=fast"}), "train.determinism");
  EXPECT_EQ(difference_of({"train.determinism=fast", "train.precision=tf32"}),
            "train.determinism train.precision");
  EXPECT_EQ(difference_of({"train.micro_block=8"}), "train.micro_block");
  EXPECT_EQ(
      difference_of({"data={source=\"random\", samples=5, global_batch=32, target=\"values\"}",
                     "loss.type=mse"}),
      "data.source data.target loss.type");
}

TEST(RecipeDifference, LayersAreNamedByNumberAndKey) {
  EXPECT_EQ(difference_of({"network.layers.fc1.features=11"}), "network.layers[4].features");
  EXPECT_EQ(difference_of({"network.layers.conv1.name=stem"}), "network.layers[0].name");
  EXPECT_EQ(difference_of({"network.layers.1.type=tanh"}), "network.layers[1].type");
  EXPECT_EQ(difference_of({"network.layers.relu1.input=input"}), "network.layers[1].input");
  EXPECT_EQ(difference_of({"network.layers.2.input=conv1"}), "network.layers[2].input");
  EXPECT_EQ(difference_of({"network.layers.2.stride=1"}), "network.layers[2].stride");
}

TEST(RecipeDifference, AKeyThatOneDoesNotStateIsSaidToBeSo) {
  const Recipe ours = with({"data.memory=\"16 MiB\""});
  const RecipeDifference difference = only_difference(ours, with({}));
  EXPECT_EQ(difference.key, "data.memory");
  EXPECT_EQ(difference.ours, "\"16 MiB\"");
  EXPECT_EQ(difference.theirs, "(not stated)");
}

TEST(RecipeDifference, ValuesOfBothAreShown) {
  const Recipe ours = with({"network.layers=[{type=\"conv2d\", channels=4, kernel=3}]"});
  const RecipeDifference layers = only_difference(ours, with({}));
  EXPECT_EQ(layers.key, "network.layers");
  EXPECT_EQ(layers.ours, "1 layer");
  EXPECT_EQ(layers.theirs, "5 layers");
  const RecipeDifference rate = only_difference(with({"optimizer.lr=0.5"}), with({}));
  EXPECT_EQ(rate.ours, "0.5");
  EXPECT_EQ(rate.theirs, "0.1");
  const RecipeDifference input =
      only_difference(with({"network.layers.relu1.input=input"}), with({}));
  EXPECT_EQ(input.ours, "\"input\"");
  EXPECT_EQ(input.theirs, "(not stated)");
}

TEST(RecipeDifference, AllThatDifferAreNamedInOrder) {
  EXPECT_EQ(difference_of({"optimizer.lr=0.2", "seed=1", "network.layers.fc1.features=11",
                           "network.layers.conv1.bias=false", "network.layers.conv1.kernel=5"}),
            "seed network.layers[0].kernel network.layers[0].bias network.layers[4].features "
            "optimizer.lr");
}

TEST(RecipeDifference, WhatFollowsFromAnotherChoiceIsNotNamed) {
  EXPECT_EQ(difference_of({"optimizer={type=\"adam\", lr=0.1, eps=1e-3}"}), "optimizer.type");
  EXPECT_EQ(difference_of({"network.init={type=\"normal\", std=0.5}"}), "network.init.type");
  EXPECT_EQ(difference_of({"network.layers=[{type=\"linear\", features=10}]"}),
            "network.layers[0].type network.layers");
}

// Else the run's recipe and its checkpoints would tell of weights that it never began with.
TEST(RecipeDifference, WhatTheWeightsBeganWithIsNamed) {
  const auto from = [](const std::string& more) {
    return with({"network.init={type=\"checkpoint\", " + more + "}"});
  };
  const Recipe old = from("file=\"a.h5\"");
  EXPECT_EQ(keys_of(old, old), "");
  EXPECT_EQ(keys_of(from("file=\"a.h5\", only=[], rename=[]"), old), "");
  EXPECT_EQ(keys_of(from("file=\"b.h5\""), old), "network.init.file");
  EXPECT_EQ(keys_of(from("file=\"a.h5\", only=[\"conv1\"]"), old), "network.init.only");
  EXPECT_EQ(keys_of(from("file=\"a.h5\", rename=[\"fc=fc1\"]"), old), "network.init.rename");
  EXPECT_EQ(keys_of(with({}), old), "network.init.type");
}

TEST(RecipeDifference, AnInputThatIsTheLayerBeforeCountsAsNotStated) {
  EXPECT_EQ(difference_of({"network.layers.conv1.input=input"}), "");
  EXPECT_EQ(difference_of({"network.layers.relu1.input=conv1", "network.layers.2.input=relu1"}),
            "");
  const Recipe stated = with({"network.layers.relu1.input=conv1"});
  EXPECT_EQ(keys_of(with({}), stated), "");
}

// What kernels compute with.
TEST(RecipeDifference, NormalizationIsComparedAsFloats) {
  const auto with_mean = [](const char* mean) {
    return with({std::string("data.normalize={type=\"given\", mean=[") + mean + "], std=[1]}"});
  };
  EXPECT_EQ(keys_of(with_mean("0.17125635743141174"), with_mean("0.17125636339187622")), "");
  EXPECT_EQ(keys_of(with_mean("0.17125635743141174"), with_mean("0.1712564")),
            "data.normalize.mean");
}

// As the optimizer's state allows.
TEST(RecipeDifference, SettingsOfTheOptimizerMayBeAskedFor) {
  const auto may_be_asked_for = [](const std::vector<std::string>& overrides,
                                   const std::vector<std::string>& old = {}) {
    return only_difference(with(overrides), with(old)).may_be_asked_for;
  };
  for (const char* setting :
       {"optimizer.lr=0.2", "optimizer.weight_decay=1", "optimizer.decay=weights",
        "optimizer.clip_norm=1", "optimizer.schedule=step", "optimizer.schedule.warmup_steps=3"})
    EXPECT_TRUE(may_be_asked_for({setting})) << setting;
  for (const char* setting : {"optimizer.type=adam", "seed=1", "data.shuffle=false",
                              "network.layers.fc1.features=11", "loss.label_smoothing=0.1"})
    EXPECT_FALSE(may_be_asked_for({setting})) << setting;
  EXPECT_FALSE(may_be_asked_for({"optimizer.momentum=0.5"}));
  EXPECT_FALSE(may_be_asked_for({}, {"optimizer.momentum=0.5"}));
  EXPECT_TRUE(may_be_asked_for({"optimizer.momentum=0.9"}, {"optimizer.momentum=0.5"}));
  EXPECT_TRUE(may_be_asked_for({"optimizer.schedule=cosine", "train.epochs=3"},
                               {"optimizer.schedule=cosine"}));
}

TEST(RecipeDifference, WhatMayChangeIsNotNamed) {
  EXPECT_EQ(difference_of({}), "");
  EXPECT_EQ(difference_of({"name=other", "data.train=x", "data.test=y", "train.epochs=100",
                           "train.log_every_steps=1", "train.per_rank_loss=true",
                           "parallel.backend=serial", "checkpoint.every_epochs=0",
                           "checkpoint.every_steps=5", "checkpoint.every_seconds=1",
                           "checkpoint.keep=9", "checkpoint.keep_best=true", "train.patience=3",
                           "train.monitor=\"accuracy\""}),
            "");
}

TEST(RecipeDifference, GlobalBatchesCountNotHowTheyAreStated) {
  const Recipe per_rank = with({"data.batch_per_rank=8"});
  EXPECT_EQ(keys_of(differences(per_rank, per_rank.global_batch(4), with({}), 32)), "");
  EXPECT_EQ(keys_of(differences(per_rank, per_rank.global_batch(3), with({}), 32)),
            "data.global_batch");
  EXPECT_EQ(keys_of(differences(per_rank, 24, per_rank, 32)), "data.global_batch");
}

TEST(RecipeDifference, MicroBlockInForceCounts) {
  EXPECT_EQ(difference_of({"train.micro_block=16"}), "");  // the default of a batch of 32
}

TEST(RecipeDifference, EpochsAreTheLengthOfACosineAndOfAPolynomial) {
  for (const std::string type : {"cosine", "polynomial"}) {
    const Recipe ours = with({"optimizer.schedule=" + type, "train.epochs=5"});
    const Recipe theirs = with({"optimizer.schedule=" + type, "train.epochs=4"});
    EXPECT_EQ(keys_of(differences(ours, 32, theirs, 32)), "train.epochs");
    EXPECT_EQ(keys_of(differences(ours, 32, with({"train.epochs=4"}), 32)),
              "optimizer.schedule.type");
  }
}

}  // namespace
}  // namespace quern
