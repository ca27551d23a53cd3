// SPDX-License-Identifier: Apache-2.0
#include "app/image_pairs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "base/error.hpp"

namespace quern {
namespace {

using testing::HasSubstr;

std::vector<std::string> numbered(const std::string& form, int first, int last) {
  std::vector<std::string> names;
  for (int i = first; i <= last; ++i) names.push_back(fmt::format(fmt::runtime(form), i));
  return names;
}

std::string refusal(const std::vector<std::string>& images,
                    const std::vector<std::string>& answers) {
  try {
    check_pairs(images, answers);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(ImagePairs, NamesMayDifferByABeginningAndAnEndOfAllOfThem) {
  for (const auto& [images, answers] :
       {std::pair("image_{}.png", "mask_{}.png"), std::pair("image{}.png", "mask{}.png"),
        std::pair("a/image-{}.jpg", "b/mask-{}.png"), std::pair("frame{}.png", "label{}.png"),
        std::pair("{}.png", "{}_mask.png"), std::pair("x{}y.png", "{}.png"),
        std::pair("{:03}.png", "{:03}.png"), std::pair("img_{:04}.png", "{:04}_mask.png"),
        std::pair("2024_{:02}_a.png", "2024_{:02}_b.png")})
    EXPECT_EQ(refusal(numbered(images, 1, 9), numbered(answers, 1, 9)), "") << answers;
  EXPECT_EQ(refusal({"cat.png", "dog.png"}, {"cat_mask.png", "dog_mask.png"}), "");
  EXPECT_EQ(refusal({"photo.png"}, {"mask.png"}), "") << "one of each";
  EXPECT_EQ(refusal({}, {}), "");
}

TEST(ImagePairs, TheFirstPairOfTwoNumbersIsNamed) {
  std::vector<std::string> answers = numbered("{:03}_mask.png", 0, 5);
  answers.erase(answers.begin() + 3);
  const std::string expected = "'img_003.png' would be paired with '004_mask.png'";
  EXPECT_THAT(refusal(numbered("img_{:03}.png", 0, 5), answers), HasSubstr(expected));
  answers.push_back("999_mask.png");
  EXPECT_THAT(refusal(numbered("img_{:03}.png", 0, 5), answers), HasSubstr(expected));
  EXPECT_THAT(refusal(numbered("{}.png", 0, 5), numbered("{}.png", 1, 6)),
              HasSubstr("'0.png' would be paired with '1.png'"));
  EXPECT_THAT(refusal({"car.png", "cat.png"}, {"car_mask.png", "dog_mask.png"}),
              HasSubstr("'cat.png' would be paired with 'dog_mask.png'"));
}

TEST(ImagePairs, TheSameNamesInAnotherOrderNeedZeros) {
  EXPECT_THAT(refusal({"1.png", "10.png", "2.png"}, {"10_m.png", "1_m.png", "2_m.png"}),
              HasSubstr("leading zeros"));
}

}  // namespace
}  // namespace quern
