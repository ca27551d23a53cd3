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

TEST(UnknownKeys, AQuotedDotDoesNotMakeAPath) {
  EXPECT_THAT(error_of("\"optimizer.lr\" = 3\n" + kSmallRecipe),
              StartsWith("r.toml:1: optimizer.lr: unknown key"));
}

TEST(UnknownValues, MayBeThoseOfOtherProgramsWhateverElseIsNear) {
  for (const auto& [theirs, ours] :
       {std::pair("mae", "l1"), std::pair("l1_loss", "l1"), std::pair("smooth_l1", "huber"),
        std::pair("huber_loss", "huber"), std::pair("mse_loss", "mse"), std::pair("mze", "mse")}) {
    EXPECT_THAT(error_of(small_recipe("\"cross_entropy\"", std::string("\"") + theirs + "\"")),
                HasSubstr(std::string("did you mean \"") + ours + "\"?"));
  }
}

}  // namespace
}  // namespace quern
