// SPDX-License-Identifier: Apache-2.0
#include "config/overrides.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "small_recipe.hpp"

namespace quern {
namespace {

using ::testing::HasSubstr;

Recipe with(const std::vector<std::string>& overrides) {
  return parse_recipe(kSmallRecipe, "r.toml", overrides);
}

std::string error_with(const std::vector<std::string>& overrides) {
  return error_of(kSmallRecipe, overrides);
}

TEST(Overrides, TakeTheirPlaceAboveTheRecipeAndInOrder) {
  EXPECT_EQ(with({"optimizer.lr=0.5"}).optimizer.lr, 0.5);
  EXPECT_EQ(with({"optimizer.lr=0.5", "optimizer.lr = 2"}).optimizer.lr, 2);
  EXPECT_EQ(with({"train.epochs=7"}).train.epochs, 7);
  EXPECT_EQ(with({"seed=5"}).seed, 5u);
  EXPECT_FALSE(with({"data.shuffle=false"}).data.shuffle);
}

TEST(Overrides, AValueThatIsNotTomlIsAString) {
  EXPECT_EQ(with({"data.train=/a/b c"}).data.train, "/a/b c");
  EXPECT_EQ(with({"data.train=\"quoted\""}).data.train, "quoted");
  EXPECT_EQ(with({"data.test="}).data.test, "");
  EXPECT_EQ(with({"data.train=a=b"}).data.train, "a=b");
  EXPECT_EQ(with({"train.determinism=fast"}).train.determinism, Determinism::fast);
  EXPECT_EQ(with({"name=it's \"so\" \\"}).name, "it's \"so\" \\");
}

TEST(Overrides, ReachLayersByNumberAndByName) {
  EXPECT_EQ(with({"network.layers.0.channels=8"}).network.layers[0].channels, 8);
  EXPECT_EQ(with({"network.layers[0].channels=8"}).network.layers[0].channels, 8);
  EXPECT_EQ(with({"network.layers.conv1.channels=8"}).network.layers[0].channels, 8);
  EXPECT_EQ(with({"network.layers.fc1.name=out", "network.layers.out.features=3"})
                .network.layers[4]
                .features,
            3);
  EXPECT_EQ(with({"network.layers.relu1={type=\"tanh\"}"}).network.layers[1].name, "tanh1");
}

TEST(Overrides, MakeTheTablesTheyNeed) {
  EXPECT_EQ(with({"optimizer.schedule.type=cosine"}).optimizer.schedule.type, ScheduleType::cosine);
  EXPECT_EQ(with({"network.init=normal", "network.init.std=0.5"}).network.init,
            (InitSpec{InitType::normal, 0.5}));
}

TEST(Overrides, OneWayToStateTheBatchReplacesTheOther) {
  const Recipe per_rank = with({"data.batch_per_rank=8"});
  EXPECT_EQ(per_rank.data.batch_per_rank, 8);
  EXPECT_EQ(per_rank.data.global_batch, 0);
  EXPECT_EQ(error_with({"data.batch_per_rank=8", "data.global_batch=8"}),
            "--set: data.batch_per_rank: contradicts data.global_batch, expected only one of the "
            "two");
}

TEST(Overrides, ProblemsAreReportedAsTheirs) {
  EXPECT_EQ(error_with({"optimizer.lr=fast"}),
            "--set: optimizer.lr: found the string 'fast', expected a number > 0");
  EXPECT_EQ(error_with({"train.epochs=0"}),
            "--set: train.epochs: 0 is out of range, expected an integer >= 1");
  EXPECT_EQ(
      error_with({"seed=9223372036854775808"}),
      "--set: seed: 9223372036854775808 is out of range, expected an integer >= 0 and at most "
      "9223372036854775807");
  EXPECT_EQ(error_with({"seed=-9223372036854775809"}),
            "--set: seed: -9223372036854775809 is out of range, expected an integer >= 0");
  EXPECT_EQ(error_with({"seed=007"}),
            "--set: seed: found the string '007', expected an integer >= 0");
  EXPECT_EQ(error_with({"optimizer.momentun=0.9"}),
            "--set: optimizer.momentun: unknown key (did you mean 'momentum'?)");
  EXPECT_EQ(error_with({"optimiser.lr=0.9"}),
            "--set: optimiser: unknown key (did you mean 'optimizer'?)");
  EXPECT_EQ(error_with({"network.layers.conv1.chanels=3"}),
            "--set: network.layers[0].chanels: unknown key (did you mean 'channels'?)");
  EXPECT_EQ(error_with({"optimizer.schedule.gamma=0.5"}),
            "--set: optimizer.schedule.gamma: applies only to optimizer.schedule.type = \"step\", "
            "\"multi_step\", \"exponential\" or \"plateau\"; here it is \"constant\" (known: "
            "type, warmup_steps, warmup_epochs)");
}

TEST(Overrides, PathsThatLeadNowhere) {
  EXPECT_EQ(error_with({"network.layers.conv2.channels=3"}),
            "--set: network.layers: unknown layer 'conv2' (did you mean 'conv1'?)");
  EXPECT_EQ(error_with({"network.layers.5.channels=3"}),
            "--set: network.layers: there is no entry 5, expected a number below 5");
  EXPECT_THAT(error_with({"network.layers.99999999999999999999.channels=3"}),
              HasSubstr("--set: network.layers: unknown layer"));
  EXPECT_EQ(error_with({"optimizer.lr.x=3"}),
            "--set: optimizer.lr: is a float, it holds no key 'x'");
  EXPECT_EQ(error_with({"optimizer.lr.x.y=3"}),
            "--set: optimizer.lr: is a float, it holds no key 'x'");
}

TEST(Overrides, NotAnAssignment) {
  EXPECT_EQ(error_with({"train.epochs"}),
            "--set: 'train.epochs' has no '=', expected key.path=value");
  EXPECT_EQ(error_with({"=3"}), "--set: '' is no key path, expected one such as optimizer.lr");
  EXPECT_EQ(error_with({"train..epochs=3"}),
            "--set: 'train..epochs' is no key path, expected one such as optimizer.lr");
  EXPECT_EQ(error_with({""}), "--set: '' has no '=', expected key.path=value");
}

TEST(Overrides, HostileOnes) {
  std::string deep = "a";
  for (int i = 0; i < 50000; ++i) deep += ".a";
  EXPECT_THAT(error_with({deep + "=1"}), HasSubstr("is no key path"));
  EXPECT_THAT(error_with({"train.epochs={" + deep + "=1}"}), HasSubstr("found the string '"));
  EXPECT_THAT(error_with({"train.epochs=1\nseed = 3"}), HasSubstr("found the string '"));
  EXPECT_THAT(error_with({"name=\xff\xfe"}),
              HasSubstr("--set: name: the value is not valid UTF-8"));
  EXPECT_THAT(error_with({"name=a\x1b[31m"}), HasSubstr("control character"));
  EXPECT_THAT(error_with({std::string("name=a\0b", 8)}), HasSubstr("control character"));
  EXPECT_THAT(error_of("data = [{name = \"global_batch\"}]", {"data.global_batch=3"}),
              HasSubstr("data: found an array, expected a table"));
}

}  // namespace
}  // namespace quern
