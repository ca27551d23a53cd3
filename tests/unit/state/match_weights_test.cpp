// SPDX-License-Identifier: Apache-2.0
#include "state/match_weights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/expect_error.hpp"

namespace quern {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::vector<float> kValues(64, 1.0f);

NamedTensor tensor(const std::string& name, std::vector<std::int64_t> shape) {
  return {name, shape, std::span(kValues).first(static_cast<std::size_t>(num_elements(shape)))};
}

const std::vector<NamedShape> kNetwork = {
    {"conv1.weight", {2, 1, 3, 3}}, {"conv1.bias", {2}}, {"layer1.0.bn.weight", {2}},
    {"fc.weight", {3, 2}},          {"fc.bias", {3}},
};

std::vector<NamedTensor> with_prefix(const std::string& prefix) {
  std::vector<NamedTensor> tensors;
  for (auto plan = kNetwork.rbegin(); plan != kNetwork.rend(); ++plan)
    tensors.push_back(tensor(prefix + plan->name, plan->shape));
  return tensors;
}

std::vector<std::string> names(const std::vector<NamedTensor>& found,
                               const WeightRules& rules = {}) {
  std::vector<std::string> names;
  for (const NamedTensor& taken : match_weights("w", found, kNetwork, rules)) {
    names.push_back(taken.name);
  }
  return names;
}

const std::vector<std::string> kAll = {"conv1.weight", "conv1.bias", "layer1.0.bn.weight",
                                       "fc.weight", "fc.bias"};

TEST(MatchWeights, TakesAllInTheNetworksOrder) {
  EXPECT_EQ(names(with_prefix("")), kAll);
}

// A layer normalisation behind an image of one pixel.
TEST(MatchWeights, AShapeOfOnePixelIsFlat) {
  const std::vector<NamedShape> network = {{"n.weight", {3}}};
  const auto taken = match_weights("w", {tensor("n.weight", {3, 1, 1})}, network, {});
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].shape, std::vector<std::int64_t>{3});
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{1, 3, 1}, {3, 1}, {3, 1, 2}, {3, 2, 1}}) {
    const std::vector<NamedTensor> found = {tensor("n.weight", shape)};
    test::expect_error([&] { match_weights("w", found, network, {}); }, ExitCode::bad_input,
                       {"'n.weight' has the shape"});
  }
}

TEST(MatchWeights, RulesApplyOneAfterTheOther) {
  EXPECT_EQ(names(with_prefix("module."), {.rename = {"module.="}}), kAll);
  EXPECT_EQ(names(with_prefix("a.b."), {.rename = {"a=c", "c.b.="}}), kAll);
  auto other = with_prefix("");
  other[0].name = "head.bias";
  other[1].name = "head.weight";
  other.push_back(tensor("heads.weight", {1}));
  EXPECT_EQ(names(other, {.rename = {"head=fc"}, .skip = {"heads"}}), kAll);
}

TEST(MatchWeights, OnlyTakesPartsOfNamesAndNothingElseCounts) {
  auto found = with_prefix("");
  found[0].shape = {7};  // the head of other classes
  found[1].name = "other";
  EXPECT_EQ(names(found, {.only = {"layer1", "conv1.bias"}}),
            (std::vector<std::string>{"conv1.bias", "layer1.0.bn.weight"}));
}

void expect_refusal(const std::vector<NamedTensor>& found, const WeightRules& rules,
                    std::initializer_list<std::string> words) {
  test::expect_error([&] { match_weights("w.safetensors", found, kNetwork, rules); },
                     ExitCode::bad_input, words);
}

TEST(MatchWeights, SaysWhatIsMissingUnknownOrOfAnotherShape) {
  auto found = with_prefix("");
  found[0].name = "fc.bia";
  found[4].shape = {2, 9};
  expect_refusal(found, {},
                 {"'w.safetensors' does not fit the network: ",
                  "the file has no tensor 'fc.bias' [3] (did you mean 'fc.bia'?)",
                  "the network has no tensor 'fc.bia' [3] (did you mean 'fc.bias'?)",
                  "'conv1.weight' has the shape [2, 9], expected [2, 1, 3, 3]"});
  expect_refusal(
      with_prefix("module."), {},
      {"'conv1.weight'", "but 'module.conv1.weight': --rename 'module.=' takes", "and 2"});
  found = with_prefix("");
  found.push_back(tensor("x.fc.bias", {3}));
  expect_refusal(found, {.rename = {"x.="}},
                 {"'fc.bias' and 'x.fc.bias'", "both become 'fc.bias'"});
}

TEST(MatchWeights, WhatTheFileHasBesidesMayBeSkipped) {
  auto found = with_prefix("");
  found.push_back(tensor("idx", {2}));
  expect_refusal(found, {}, {"has no tensor 'idx' [2]", "(--skip idx leaves it out)"});
  found.push_back(tensor("more", {2}));
  expect_refusal(found, {}, {"(--skip idx --skip more leave them out)"});
  const auto message = [&](const WeightRules& rules) -> std::string {
    try {
      match_weights("w.safetensors", found, kNetwork, rules);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message({.skip_word = ""}), Not(HasSubstr("out)")));
  found[0].name = "fc.bia";
  EXPECT_THAT(message({}), Not(HasSubstr("--skip"))) << "a tensor is missing";
}

TEST(MatchWeights, ARuleThatAppliesToNothingIsAMistake) {
  const auto found = with_prefix("");
  expect_refusal(found, {.rename = {"modul.="}}, {"--rename: 'modul.=' applies to nothing"});
  expect_refusal(found, {.rename = {"conv=x"}}, {"--rename: 'conv=x' applies to nothing"});
  expect_refusal(found, {.rename = {"conv1"}}, {"'conv1' is no rule", "OLD=NEW"});
  expect_refusal(found, {.rename = {"="}}, {"'=' is no rule"});
  expect_refusal(
      found, {.only = {"fcc"}, .only_word = "network.init.only"},
      {"network.init.only: no tensor of the network begins with 'fcc' (did you mean 'fc'"});
  expect_refusal(found, {.skip = {"head"}}, {"--skip: no tensor of the file begins with 'head'"});
}

// A bare nn.Sequential.
const std::vector<NamedShape> kNumbered = {
    {"net.0.weight", {2, 1}}, {"net.0.bias", {2}}, {"net.2.weight", {3, 2}}, {"net.2.bias", {3}}};

std::vector<NamedTensor> numbered() {
  std::vector<NamedTensor> tensors;
  for (const NamedShape& plan : kNumbered)
    tensors.push_back(tensor(plan.name.substr(4), plan.shape));
  return tensors;
}

TEST(MatchWeights, AnEmptyOldNameStandsForAllNames) {
  const auto taken = match_weights("w", numbered(), kNumbered, {.rename = {"=net."}});
  ASSERT_EQ(taken.size(), 4u);
  EXPECT_EQ(taken[2].name, "net.2.weight");
  EXPECT_EQ(match_weights("w", with_prefix(""), kNetwork, {.rename = {"=x.", "x.="}}).size(), 5u);
}

std::string refusal(const std::vector<NamedTensor>& found, const std::vector<NamedShape>& network) {
  try {
    match_weights("w", found, network, {});
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(MatchWeights, NamesThatBeginWithNumbersGetAHint) {
  const std::string numbers = "all names of the file begin with a number";
  EXPECT_THAT(
      refusal(numbered(), kNumbered),
      AllOf(HasSubstr(numbers), HasSubstr("--rename '=net.' makes 'net.0.weight' of '0.weight'"),
            Not(HasSubstr("did you mean"))));
  std::vector<NamedShape> other = kNumbered;
  for (NamedShape& plan : other) plan.name = "body" + plan.name.substr(3);
  EXPECT_THAT(refusal(numbered(), other), HasSubstr("--rename '=body.'"));
  EXPECT_THAT(refusal(numbered(), kNetwork), HasSubstr("--rename '=net.'"));
  EXPECT_THAT(refusal(with_prefix("module."), kNetwork), Not(HasSubstr(numbers)));
}

TEST(MatchWeights, NamesAreListedOnce) {
  const auto count = [](const std::string& text, const std::string& part) {
    int found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
      ++found;
    return found;
  };
  const std::string text = refusal(numbered(), kNetwork);
  EXPECT_EQ(count(text, "(names in the "), 2);
  EXPECT_THAT(text, AllOf(HasSubstr("\n  (names in the file: 0.weight, 0.bias, 2.weight, 2.bias)"),
                          HasSubstr("\n  (names in the network: conv1.weight, conv1.bias, ")));
  auto found = with_prefix("");
  found.push_back(tensor("something.else", {1}));
  EXPECT_THAT(refusal(found, kNetwork),
              AllOf(HasSubstr("'something.else' [1] (names in the network: conv1.weight"),
                    Not(HasSubstr("\n"))));
}

}  // namespace
}  // namespace quern
