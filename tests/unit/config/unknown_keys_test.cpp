// SPDX-License-Identifier: Apache-2.0
// What a recipe with an unknown key or name is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "small_recipe.hpp"

namespace quern {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(UnknownKeys, GetLineAndNearestName) {
  EXPECT_EQ(error_of(small_recipe("channels", "chanels")),
            "r.toml:10: network.layers[0].chanels: unknown key (did you mean 'channels'?)");
  EXPECT_EQ(error_of(kSmallRecipe + "momentun = 0.9\n"),
            "r.toml:23: optimizer.momentun: unknown key (did you mean 'momentum'?)");
  EXPECT_EQ(error_of(kSmallRecipe + "[trian]\nepochs = 2\n"),
            "r.toml:23: trian: unknown key (did you mean 'train'?)");
  EXPECT_EQ(error_of(kSmallRecipe + "[optimizer.schedule]\nwarmup = 1\nwarmup_step = 1\n"),
            "r.toml:24: optimizer.schedule.warmup: unknown key (did you mean "
            "'optimizer.schedule.warmup_steps'?)\n"
            "r.toml:25: optimizer.schedule.warmup_step: unknown key (did you mean "
            "'warmup_steps'?)");
}

TEST(UnknownKeys, WithoutANearNameListTheKnown) {
  EXPECT_EQ(error_of(small_recipe("global_batch = 32", "global_batch = 32\nworkers = 4")),
            "r.toml:6: data.workers: unknown key (known: source, train, test, samples, "
            "global_batch, batch_per_rank, shuffle, memory, window, target, normalize, "
            "normalize_targets, augment)");
}

TEST(UnknownKeys, AreLookedForInOtherTables) {
  EXPECT_EQ(error_of("epochs = 3\n" + kSmallRecipe),
            "r.toml:1: epochs: unknown key (did you mean 'train.epochs'?)");
}

TEST(UnknownKeys, MayBeThoseOfOtherPrograms) {
  EXPECT_EQ(error_of(small_recipe("lr =", "learning_rate =")),
            "r.toml:22: optimizer.learning_rate: unknown key (did you mean 'optimizer.lr'?)");
  EXPECT_EQ(error_of(small_recipe("global_batch", "Batch_Size")),
            "r.toml:5: data.Batch_Size: unknown key (did you mean 'data.global_batch' or "
            "'data.batch_per_rank'?)");
  EXPECT_EQ(error_of(kSmallRecipe + "[model]\nlayers = 2\n"),
            "r.toml:23: model: unknown key (did you mean 'network'?)");
  EXPECT_EQ(error_of(small_recipe("channels", "out_channels")),
            "r.toml:10: network.layers[0].out_channels: unknown key (did you mean 'channels'?)");
  EXPECT_THAT(error_of(small_recipe("type = \"conv2d\"", "type = \"convolution\"")),
              HasSubstr("\"bottleneck\" (did you mean \"conv2d\"?)"));
  EXPECT_THAT(error_of(kSmallRecipe + "[train]\nepochs = 2\nprecision = \"float16\"\n"),
              HasSubstr("(did you mean \"bf16\"?)"));
}

TEST(UnknownKeys, OfALayerListThoseOfItsType) {
  EXPECT_EQ(error_of(small_recipe("size = 2", "size = 2, colour = 3")),
            "r.toml:12: network.layers[2].colour: unknown key (known: type, name, input, size, "
            "stride, padding)");
  EXPECT_EQ(error_of(small_recipe("{type = \"relu\"}", "{slope = 3, type = \"relu\"}")),
            "r.toml:11: network.layers[1].slope: unknown key (known: type, name, input)");
  EXPECT_EQ(error_of(small_recipe("size = 2", "kernel_size = 2")),
            "r.toml:12: network.layers[2].kernel_size: unknown key (did you mean 'size'?)");
  EXPECT_EQ(error_of(small_recipe("kernel = 3", "kernel_size = 3")),
            "r.toml:10: network.layers[0].kernel_size: unknown key (did you mean 'kernel'?)");
}

TEST(UnknownKeys, OfALayerOfAnUnknownTypeListNothing) {
  EXPECT_EQ(
      error_of(small_recipe("{type = \"relu\"}", "{type = \"embedding\", num_embeddings = 3}")),
      "r.toml:11: network.layers[1].type: \"embedding\" is unknown: Quern has none, "
      "docs/from-pytorch.md tells what there is instead\n"
      "r.toml:11: network.layers[1].num_embeddings: unknown key");
}

TEST(UnknownKeys, ThatQuernHasNothingForSayWhatThereIs) {
  EXPECT_EQ(error_of(small_recipe("kernel = 3", "kernel = 3, dilation = 2")),
            "r.toml:10: network.layers[0].dilation: unknown key (Quern has none, "
            "docs/from-pytorch.md tells what there is instead)");
  EXPECT_EQ(error_of(small_recipe("kernel = 3", "kernel = 3, activation = \"relu\"")),
            "r.toml:10: network.layers[0].activation: unknown key (a layer of its own, as {type = "
            "\"relu\"})");
  EXPECT_EQ(error_of(small_recipe("features = 10", "features = 10, in_features = 3")),
            "r.toml:14: network.layers[4].in_features: unknown key (a layer takes what the layer "
            "before it puts out: leave it out)");
  EXPECT_EQ(error_of(kSmallRecipe + "[optimizer.schedule]\ntype = \"cosine\"\nT_max = 3\n"),
            "r.toml:25: optimizer.schedule.T_max: unknown key (the schedule ends with "
            "train.epochs: leave it out)");
  EXPECT_EQ(error_of(kSmallRecipe + "[optimizer.schedule]\ntype = \"cosine\"\neta_min = 0\n"),
            "r.toml:25: optimizer.schedule.eta_min: unknown key (did you mean "
            "'optimizer.schedule.min_lr'?)");
}

TEST(UnknownKeys, OfRanksNameTheLauncher) {
  const std::string launcher = "(the launcher sets the ranks: mpirun -n 4 quern train ...)";
  for (const char* name : {"ranks", "data", "num_ranks", "world_size", "devices", "nproc",
                           "num_nodes", "nproc_per_node", "n_gpus", "data_parallel_size"})
    EXPECT_EQ(error_of(kSmallRecipe + "[parallel]\n" + name + " = 4\n"),
              std::string("r.toml:24: parallel.") + name + ": unknown key " + launcher)
        << name;
  EXPECT_EQ(error_of("ranks = 4\n" + kSmallRecipe), "r.toml:1: ranks: unknown key " + launcher);
  EXPECT_THAT(error_of(kSmallRecipe + "data = 4\n"),
              HasSubstr("optimizer.data: unknown key (known: "));
}

TEST(UnknownKeys, AQuotedDotDoesNotMakeAPath) {
  EXPECT_THAT(error_of("\"optimizer.lr\" = 3\n" + kSmallRecipe),
              StartsWith("r.toml:1: optimizer.lr: unknown key"));
}

TEST(UnknownValues, ThatQuernHasNothingForSayWhatThereIs) {
  EXPECT_EQ(error_of(small_recipe("\"relu\"", "\"log_softmax\"")),
            "r.toml:11: network.layers[1].type: \"log_softmax\" is unknown: loss.type = "
            "\"cross_entropy\" contains it: leave the layer out");
  for (const char* type : {"LSTM", "attention", "conv_transpose", "ConvTranspose2d"})
    EXPECT_THAT(error_of(small_recipe("\"relu\"", std::string("\"") + type + "\"")),
                HasSubstr("is unknown: Quern has none, docs/from-pytorch.md"))
        << type;
  for (const auto& [theirs, ours] : {std::pair("Concatenate", "concat"),
                                     {"cat", "concat"},
                                     {"UpSampling2D", "upsample"},
                                     {"interpolate", "upsample"}})
    EXPECT_THAT(error_of(small_recipe("\"relu\"", std::string("\"") + theirs + "\"")),
                HasSubstr(std::string("(did you mean \"") + ours + "\"?)"))
        << theirs;
  EXPECT_THAT(error_of(small_recipe("\"relu\"", "\"InstanceNorm2d\"")),
              HasSubstr("is unknown: Quern has none; \"group_norm\" with as many groups as"));
  EXPECT_THAT(error_of(small_recipe("\"relu\"", "\"GroupNorm\"")),
              HasSubstr("(did you mean \"group_norm\"?)"));
  EXPECT_EQ(error_of(small_recipe("\"sgd\"", "\"RMSprop\"")),
            "r.toml:21: optimizer.type: \"RMSprop\" is unknown: Quern has none; \"adam\" with "
            "betas = [0.0, 0.99] is nearest");
  EXPECT_THAT(error_of(kSmallRecipe + "[optimizer.schedule]\ntype = \"OneCycleLR\"\n"),
              HasSubstr("Quern has none; \"cosine\" with warmup"));
}

TEST(UnknownValues, OfOneListShowItOnce) {
  const std::string error = error_of(small_recipe(
      "{type = \"relu\"}", "{type = \"rellu\"},\n{type = \"geluu\"},\n{type = \"x\"}"));
  EXPECT_THAT(error, StartsWith("r.toml:11: network.layers[1].type: \"rellu\" is unknown, expected "
                                "\"linear\", "));
  EXPECT_THAT(error, HasSubstr("\"bottleneck\" (did you mean \"relu\"?)\n"));
  EXPECT_THAT(error, HasSubstr("\nr.toml:12: network.layers[2].type: \"geluu\" is unknown (did you "
                               "mean \"gelu\"?)\n"));
  EXPECT_TRUE(error.ends_with("\nr.toml:13: network.layers[3].type: \"x\" is unknown")) << error;
}

TEST(UnknownValues, MayBeThoseOfOtherProgramsWhateverElseIsNear) {
  for (const auto& [theirs, ours] :
       {std::pair("mae", "l1"), std::pair("l1_loss", "l1"), std::pair("smooth_l1", "huber"),
        std::pair("huber_loss", "huber"), std::pair("BCEWithLogitsLoss", "binary_cross_entropy"),
        std::pair("CrossEntropyLoss", "cross_entropy"), std::pair("MSELoss", "mse"),
        std::pair("softmax", "cross_entropy"), std::pair("mse_loss", "mse"),
        std::pair("mze", "mse")}) {
    EXPECT_THAT(error_of(small_recipe("\"cross_entropy\"", std::string("\"") + theirs + "\"")),
                HasSubstr(std::string("did you mean \"") + ours + "\"?"));
  }
}

TEST(UnknownValues, OfSchedulesByTheirNamesInPyTorch) {
  for (const auto& [theirs, ours] :
       {std::pair("CosineAnnealingLR", "cosine"), std::pair("StepLR", "step"),
        std::pair("MultiStepLR", "multi_step"), std::pair("ExponentialLR", "exponential")})
    EXPECT_THAT(error_of(kSmallRecipe + "[optimizer.schedule]\ntype = \"" + theirs + "\"\n"),
                HasSubstr(std::string("(did you mean \"") + ours + "\"?)"));
}

TEST(Syntax, WithoutQuotesIsToldToHaveSome) {
  EXPECT_THAT(error_of(small_recipe("\"sgd\"", "adam")), HasSubstr("(strings need quotes)"));
  EXPECT_THAT(error_of(small_recipe("\"sgd\"", "fp32")), HasSubstr("(strings need quotes; true"));
  EXPECT_THAT(error_of(small_recipe("\"sgd\"", "True")), HasSubstr("in small letters)"));
}

}  // namespace
}  // namespace quern
