// SPDX-License-Identifier: Apache-2.0
#include "app/results_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quern {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

EvaluationInfo of_two_classes() {
  EvaluationInfo info;
  info.samples = 6;
  info.correct = 4;
  info.class_samples = {4, 2};
  info.class_correct = {3, 1};
  return info;
}

TEST(EvaluationReport, ClassesHaveTheirNames) {
  EvaluationInfo info = of_two_classes();
  info.class_names = {"cat", "d\x1bog"};
  const std::string report = evaluation_report(info);
  EXPECT_THAT(report, HasSubstr("class    0  accuracy  75.00 % (3 of 4)  cat\n"));
  EXPECT_THAT(report, HasSubstr("class    1  accuracy  50.00 % (1 of 2)  d"));
  EXPECT_THAT(report, Not(HasSubstr("\x1b"))) << "a terminal would act upon it";
  EXPECT_THAT(evaluation_json(info), HasSubstr("\"class_names\":[\"cat\","));
}

// A network may have more outputs than there were classes.
TEST(EvaluationReport, ClassesWithoutNamesHaveNumbers) {
  EvaluationInfo info = of_two_classes();
  EXPECT_THAT(evaluation_json(info), Not(HasSubstr("class_names")));
  info.class_names = {"cat"};
  const std::string report = evaluation_report(info);
  EXPECT_TRUE(report.ends_with("class    1  accuracy  50.00 % (1 of 2)")) << report;
}

}  // namespace
}  // namespace quern
