// SPDX-License-Identifier: Apache-2.0
#include "cpu/choice.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/expect_error.hpp"

namespace quern::cpu {
namespace {

const std::vector<Level> kAll = {Level::x86_64, Level::avx2, Level::avx512};
const std::vector<Level> kNewer = {Level::avx2, Level::avx512};

TEST(CpuChoice, TakesTheBestThatRuns) {
  EXPECT_EQ(choose(kAll, Level::x86_64, nullptr), Level::x86_64);
  EXPECT_EQ(choose(kAll, Level::avx2, nullptr), Level::avx2);
  EXPECT_EQ(choose(kAll, Level::avx512, ""), Level::avx512);
  EXPECT_EQ(choose({Level::x86_64}, Level::avx512, nullptr), Level::x86_64);
  EXPECT_EQ(choose({Level::neon}, Level::neon, nullptr), Level::neon);
}

TEST(CpuChoice, FollowsAWishThatCanBeMet) {
  EXPECT_EQ(choose(kAll, Level::avx512, "avx2"), Level::avx2);
  EXPECT_EQ(choose(kAll, Level::avx512, "x86-64"), Level::x86_64);
  EXPECT_EQ(choose(kAll, Level::avx2, "avx512"), Level::avx2);
  EXPECT_EQ(choose(kAll, Level::avx2, "sse"), Level::avx2);
  EXPECT_EQ(choose(kNewer, Level::avx2, "x86-64"), Level::avx2);
}

TEST(CpuChoice, AmxIsAWishForTheLevelThatHasIt) {
  EXPECT_EQ(choose(kAll, Level::avx512, "amx"), Level::avx512);
  EXPECT_EQ(choose(kAll, Level::avx2, "amx"), Level::avx2);
  EXPECT_TRUE(wishes_amx(nullptr));
  EXPECT_TRUE(wishes_amx(""));
  EXPECT_TRUE(wishes_amx("amx"));
  EXPECT_FALSE(wishes_amx("avx512"));
}

TEST(CpuChoice, NothingThatRunsIsLeftToTheProgramToSay) {
  EXPECT_EQ(choose(kNewer, Level::x86_64, nullptr), Level::avx2);
}

const auto granted = [] { return Amx::granted; };
const auto none = [] { return Amx::none; };

TEST(CpuChoice, SaysWhyAWishCannotBeMet) {
  check_wish(Level::avx2, kAll, Level::avx512, granted, nullptr);
  check_wish(Level::avx2, kAll, Level::avx512, granted, "");
  check_wish(Level::avx2, kAll, Level::avx512, none, "avx2");
  test::expect_error([] { check_wish(Level::avx2, kAll, Level::avx2, none, "avx512"); },
                     ExitCode::bad_input,
                     {"QUERN_CPU=avx512: this processor does not run avx512 (expected "
                      "one of x86-64, avx2)"});
  test::expect_error([] { check_wish(Level::avx512, kAll, Level::avx512, none, "AVX2"); },
                     ExitCode::bad_input,
                     {"QUERN_CPU=AVX2: there are no such kernels in this installation "
                      "(expected one of x86-64, avx2, avx512)"});
  test::expect_error(
      [] { check_wish(Level::avx2, {Level::avx2}, Level::avx512, granted, "avx512"); },
      ExitCode::bad_input,
      {"QUERN_CPU=avx512: there are no such kernels in this installation (expected avx2)"});
}

TEST(CpuChoice, SaysWhyThereIsNoAmx) {
  check_wish(Level::avx512, kAll, Level::avx512, granted, "amx");
  const auto expect_refused = [](Level taken, const std::vector<Level>& built, Level machine,
                                 Amx amx, const std::string& why) {
    test::expect_error(
        [&] {
          check_wish(
              taken, built, machine, [=] { return amx; }, "amx");
        },
        ExitCode::bad_input, {"QUERN_CPU=amx: " + why});
  };
  expect_refused(Level::avx512, {Level::avx512}, Level::avx512, Amx::none,
                 "this processor does not run amx (expected avx512)");
  expect_refused(Level::avx2, kAll, Level::avx2, Amx::none,
                 "this processor does not run amx (expected one of x86-64, avx2)");
  expect_refused(Level::avx512, kAll, Level::avx512, Amx::refused,
                 "the system does not let this process use it (expected one of x86-64, avx2, "
                 "avx512)");
  expect_refused(Level::avx2, {Level::avx2}, Level::avx512, Amx::granted,
                 "there are no such kernels in this installation (expected avx2)");
  test::expect_error(
      [] { check_wish(Level::avx512, {Level::avx512}, Level::avx512, granted, "x"); },
      ExitCode::bad_input, {"(expected one of avx512, amx)"});
}

TEST(CpuChoice, AsksForAmxOnlyWhereItMatters) {
  int asked = 0;
  const auto ask = [&] {
    ++asked;
    return Amx::granted;
  };
  for (const char* wish : {static_cast<const char*>(nullptr), "", "avx512"})
    check_wish(Level::avx512, kAll, Level::avx512, ask, wish);
  EXPECT_EQ(asked, 0);
  check_wish(Level::avx512, kAll, Level::avx512, ask, "amx");
  EXPECT_EQ(asked, 1);
}

TEST(CpuChoice, TellsWhatMultipliesTiles) {
  EXPECT_EQ(tiles_reason(Amx::granted, nullptr), "AMX");
  EXPECT_EQ(tiles_reason(Amx::granted, "amx"), "AMX");
  EXPECT_EQ(tiles_reason(Amx::granted, "avx512"), "vector registers (QUERN_CPU=avx512)");
  EXPECT_EQ(tiles_reason(Amx::refused, ""), "vector registers (the system refuses AMX)");
  EXPECT_EQ(tiles_reason(Amx::none, "avx2"), "vector registers (no AMX on this processor)");
}

TEST(CpuChoice, TellsItsReason) {
  EXPECT_EQ(reason(Level::avx2, kAll, nullptr),
            "avx2: the best of x86-64, avx2, avx512 that this processor runs");
  EXPECT_EQ(reason(Level::x86_64, kAll, "x86-64"), "x86-64: chosen by QUERN_CPU");
  EXPECT_EQ(reason(Level::avx512, {Level::avx512}, nullptr), "avx512: the only ones of this build");
}

TEST(CpuChoiceDeathTest, ProcessorWithoutTheInstructionsEndsTheProgram) {
  require(compiled_level());
#if defined(__x86_64__)
  EXPECT_EXIT(require(Level::neon), ::testing::ExitedWithCode(2),
              "quern: error: this program was compiled for processors with neon, and this one has");
#endif
}

}  // namespace
}  // namespace quern::cpu
