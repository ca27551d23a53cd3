// SPDX-License-Identifier: Apache-2.0
#include "app/results_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

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
  info.class_predicted = {4, 2};
  return info;
}

TEST(EvaluationReport, ClassesHaveTheirNames) {
  EvaluationInfo info = of_two_classes();
  info.class_names = {"cat", "d\x1bog"};
  const std::string report = evaluation_report(info);
  EXPECT_THAT(
      report,
      HasSubstr("class    0  recall  75.00 %  precision  75.00 %  F1  75.00 %  (3 of 4)  cat\n"));
  EXPECT_THAT(report, HasSubstr("  F1  50.00 %  (1 of 2)  d"));
  EXPECT_THAT(report, Not(HasSubstr("\x1b"))) << "a terminal would act upon it";
  EXPECT_THAT(evaluation_json(info), HasSubstr("\"class_names\":[\"cat\","));
}

// As in metrics.jsonl: JSON has no such numbers.
TEST(EvaluationReport, NumbersThatAreNotFiniteAreWords) {
  EvaluationInfo info = of_two_classes();
  EXPECT_THAT(evaluation_json(info), HasSubstr("\"loss\":0.0,"));
  info.loss = std::numeric_limits<double>::quiet_NaN();
  info.rmse = std::numeric_limits<double>::infinity();
  info.r2 = -std::numeric_limits<double>::infinity();
  const std::string json = evaluation_json(info);
  EXPECT_THAT(json, HasSubstr("\"loss\":\"nan\","));
  EXPECT_THAT(json, HasSubstr("\"rmse\":\"inf\",\"r2\":\"-inf\","));
}

// A network may have more outputs than there were classes.
TEST(EvaluationReport, ClassesWithoutNamesHaveNumbers) {
  EvaluationInfo info = of_two_classes();
  EXPECT_THAT(evaluation_json(info), Not(HasSubstr("class_names")));
  info.class_names = {"cat"};
  const std::string report = evaluation_report(info);
  EXPECT_TRUE(report.ends_with("  F1  50.00 %  (1 of 2)\nmacro F1 62.50 %")) << report;
}

// As scikit-learn: a class counts that has samples or is predicted.
TEST(EvaluationReport, ScoresOfClassesThatAreMissing) {
  EvaluationInfo info;
  info.samples = 8;
  info.correct = 3;
  info.class_samples = {6, 2, 0, 0};
  info.class_correct = {3, 0, 0, 0};
  info.class_predicted = {4, 0, 4, 0};
  const std::string report = evaluation_report(info);
  EXPECT_THAT(report, HasSubstr("class    0  recall  50.00 %  precision  75.00 %  F1  60.00 %"));
  EXPECT_THAT(report, HasSubstr("class    1  recall   0.00 %  precision   none    F1   0.00 %"));
  EXPECT_THAT(report, HasSubstr("class    2  recall   none    precision   0.00 %  F1   0.00 %"));
  EXPECT_THAT(report, Not(HasSubstr("class    3")));
  EXPECT_THAT(report, HasSubstr("\nmacro F1 20.00 %"));
  const std::string json = evaluation_json(info);
  EXPECT_THAT(json, HasSubstr("\"class_recall\":[0.5,0.0,null,null],"));
  EXPECT_THAT(json, HasSubstr("\"class_precision\":[0.75,null,0.0,null],"));
  EXPECT_THAT(json, HasSubstr("\"class_f1\":[0.6,0.0,0.0,null],\"macro_f1\":0.19999999999999998"));
}

}  // namespace
}  // namespace quern
