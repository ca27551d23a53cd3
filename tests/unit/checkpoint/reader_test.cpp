// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/reader.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "base/sha256.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/model_hash.hpp"
#include "checkpoint/seal.hpp"
#include "checkpoint/writer.hpp"
#include "checkpoint_fixture.hpp"
#include "io/h5_file.hpp"

namespace quern {
namespace {

using test::expect_error;
using test::SampleRun;
using test::TempDir;

TEST(Reader, RoundTripIsBitExact) {
  const TempDir folder;
  SampleRun run;
  run.state().progress.epoch_loss_sum = std::bit_cast<double>(0x7ff8000000000abcu);
  const LoadedCheckpoint loaded = read_checkpoint(write_checkpoint(folder.path(), run.state()));
  test::expect_same_state(loaded.state(), run.state());
  EXPECT_EQ(model_hash(loaded.state().model), model_hash(run.state().model));
  EXPECT_TRUE(find_damage(loaded.path()).empty());
}

TEST(Reader, OddShapesAndLongTextsSurvive) {
  const TempDir folder;
  const std::vector<float> values(6, 1.5f);
  CheckpointState state;
  state.model = {{"scale", {}, std::span(values).first(1)},
                 {"empty.weight", {0, 7}, {}},
                 {"stage1.conv.weight", {1, 2, 3, 1, 1, 1, 1, 1}, values}};
  state.origin.recipe = std::string(300000, 'r');
  const LoadedCheckpoint loaded = read_checkpoint(write_checkpoint(folder.path(), state));
  test::expect_same_state(loaded.state(), state);
}

TEST(Reader, MovingKeepsTheTensorsAlive) {
  const TempDir folder;
  SampleRun run;
  LoadedCheckpoint first = read_checkpoint(write_checkpoint(folder.path(), run.state()));
  const LoadedCheckpoint second = std::move(first);
  test::expect_same_state(second.state(), run.state());
}

TEST(Reader, AbsentFileIsBadInput) {
  const TempDir folder;
  expect_error([&] { read_checkpoint(folder / "none.h5"); }, ExitCode::bad_input, {"none.h5"});
  expect_error([&] { find_damage(folder.path()); }, ExitCode::bad_input, {"no checkpoint"});
}

/// A checkpoint-like file from `fill`, with a right seal when `sealed`.
std::filesystem::path make_file(const TempDir& folder, const std::function<void(H5File&)>& fill,
                                bool sealed = true) {
  const auto path = folder / "ckpt-0000000001.h5";
  H5File file = H5File::create(path);
  fill(file);
  file.close();
  if (sealed) append_seal(path, {});
  return path;
}

void expect_unusable(const std::filesystem::path& path, const std::string& reason) {
  expect_error([&] { read_checkpoint(path); }, ExitCode::do_not_requeue, {path.string(), reason});
}

void write_head(H5File& file, const std::string& manifest) {
  file.write_string("/", "format", kCheckpointFormat);
  file.write_int64("/", "format_version", kCheckpointVersion);
  file.write_string("/", "manifest", manifest);
  file.write_string("/", "manifest_sha256", sha256(manifest));
}

TEST(Reader, OtherFilesAreNamedForWhatTheyAre) {
  const TempDir folder;
  const auto other = [](H5File& file) { file.write_string("/", "format", "keras"); };
  expect_unusable(make_file(folder, other), "'keras'");
  expect_unusable(make_file(folder, other, false), "no checkpoint");
  expect_unusable(make_file(folder, [](H5File&) {}), "'format' is missing");
  test::put_bytes(folder / "text", "hello");
  expect_unusable(folder / "text", "no seal");
  test::put_bytes(folder / "empty", "");
  expect_unusable(folder / "empty", "no seal");
}

TEST(Reader, NewerVersionSaysSo) {
  const TempDir folder;
  const auto path = make_file(folder, [](H5File& file) {
    file.write_string("/", "format", kCheckpointFormat);
    file.write_int64("/", "format_version", kCheckpointVersion + 1);
  });
  expect_unusable(path, "format_version is 2, this Quern reads 1 (it comes from a newer Quern)");
}

TEST(Reader, ContradictionsOfAWellSealedFileAreFound) {
  const TempDir folder;
  const std::vector<float> values(4, 2.0f);
  const std::vector<std::int64_t> shape = {4};
  const auto entry = [&](const std::string& path, const std::string& extent,
                         const std::string& digest) {
    return R"({"train_sha256":"t","datasets":[{"path":")" + path + R"(","shape":[)" + extent +
           R"(],"type":"float32","sha256":")" + digest + R"("}]})";
  };
  const auto file_with = [&](const std::string& manifest) {
    return make_file(folder, [&](H5File& file) {
      write_head(file, manifest);
      file.write_dataset("/model/w", std::span(values), shape);
    });
  };
  const auto damage_of = [&](const std::string& manifest) {
    std::string all;
    for (const std::string& line : find_damage(file_with(manifest))) all += line + "\n";
    return all;
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(damage_of("{"), HasSubstr("not JSON"));
  EXPECT_THAT(damage_of(entry("/model/w", "5", "x")), HasSubstr("expected shape [5], found [4]"));
  EXPECT_THAT(damage_of(entry("/model/w", "4", "x")), HasSubstr("expected SHA-256 x, found"));
  EXPECT_THAT(damage_of(entry("/model/v", "4", "x")), HasSubstr("/model/v"));
  EXPECT_THAT(damage_of(entry("/model/w", "4", "x")), HasSubstr("/train"));
  EXPECT_THAT(damage_of(entry("/other/w", "4", "x")), HasSubstr("expected a path below"));
}

TEST(Reader, ANameThatTellsOfAnotherStepIsDamage) {
  const TempDir folder;
  const auto written = write_checkpoint(folder.path(), SampleRun(705).state());
  const auto renamed = folder / "ckpt-0000009999.h5";
  std::filesystem::copy_file(written, renamed);
  expect_unusable(renamed, "it is of step 705, expected step 9999 as its name says");
  EXPECT_EQ(find_damage(renamed).size(), 1u);
  for (const std::string name : {"mine.h5", "ckpt-9999.h5", "ckpt-best.h5"}) {
    std::filesystem::copy_file(written, folder / name);
    EXPECT_EQ(read_checkpoint(folder / name).state().progress.step, 705) << name;
    EXPECT_TRUE(find_damage(folder / name).empty()) << name;
  }
}

TEST(LoadNewestGood, TakesTheHighestStep) {
  const TempDir folder;
  for (const std::int64_t step : {9, 100, 20}) {
    write_checkpoint(folder.path(), SampleRun(step).state());
  }
  const auto loaded = load_newest_good(folder.path(), [](const auto&, const auto&) { FAIL(); });
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->state().progress.step, 100);
}

TEST(LoadNewestGood, PassesOverDamagedOnesAndReportsThem) {
  const TempDir folder;
  write_checkpoint(folder.path(), SampleRun(1).state());
  for (const std::int64_t step : {2, 3}) {
    const auto path = write_checkpoint(folder.path(), SampleRun(step).state());
    test::put_bytes(path, test::bytes_of(path).substr(0, 4000));
  }
  std::vector<std::string> reported;
  const auto loaded = load_newest_good(
      folder.path(), [&](const std::filesystem::path& path, const std::string& problem) {
        reported.push_back(path.filename().string());
        EXPECT_THAT(problem, ::testing::HasSubstr(path.string()));
      });
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->state().progress.step, 1);
  EXPECT_EQ(reported, (std::vector<std::string>{"ckpt-0000000003.h5", "ckpt-0000000002.h5"}));
}

TEST(LoadNewestGood, AnOldOneIsNotTheNewestByItsName) {
  const TempDir folder;
  std::filesystem::rename(write_checkpoint(folder.path(), SampleRun(1).state()),
                          folder / "ckpt-0000000009.h5");
  write_checkpoint(folder.path(), SampleRun(2).state());
  int reports = 0;
  const auto loaded = load_newest_good(folder.path(), [&](const auto&, const auto&) { ++reports; });
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->state().progress.step, 2);
  EXPECT_EQ(reports, 1);
}

// What was listed is gone when it is its turn; the run that deleted it has written a newer one.
TEST(LoadNewestGood, LooksAgainWhereARunGoesOn) {
  const TempDir folder;
  const auto first = write_checkpoint(folder.path(), SampleRun(1).state());
  test::put_bytes(folder / "ckpt-0000000002.h5", "junk");
  int reports = 0;
  const auto loaded = load_newest_good(folder.path(), [&](const auto&, const auto&) {
    if (++reports > 1) return;
    std::filesystem::remove(first);
    write_checkpoint(folder.path(), SampleRun(3).state());
  });
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->state().progress.step, 3);
  EXPECT_EQ(reports, 1) << "what is gone is not damaged";
}

TEST(LoadNewestGood, NoneAtAllIsNothingAndAllDamagedIsUnusable) {
  const TempDir folder;
  const auto ignore = [](const auto&, const auto&) {};
  EXPECT_FALSE(load_newest_good(folder / "absent", ignore));
  EXPECT_FALSE(load_newest_good(folder.path(), ignore));
  test::put_bytes(folder / "ckpt-0000000001.h5", "junk");
  expect_error([&] { load_newest_good(folder.path(), ignore); }, ExitCode::do_not_requeue,
               {"none of the 1", folder.path().string()});
}

}  // namespace
}  // namespace quern
