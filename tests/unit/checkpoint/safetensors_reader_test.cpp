// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors_reader.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "checkpoint/safetensors.hpp"
#include "checkpoint/safetensors_header.hpp"
#include "checkpoint/weights_file.hpp"
#include "checkpoint/writer.hpp"
#include "checkpoint_fixture.hpp"

namespace quern {
namespace {

using test::bytes_of;
using test::SampleRun;
using test::TempDir;

std::string file_of(const std::string& header, const std::string& data) {
  const auto length = static_cast<std::uint64_t>(header.size());
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + data;
}

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

class ReaderTest : public ::testing::Test {
 protected:
  LoadedCheckpoint read(const std::string& bytes) {
    test::put_bytes(path_, bytes);
    return read_safetensors(path_);
  }
  /// One sentence that names the file and says all of `words`; exit status 2.
  void expect_refusal(const std::string& bytes, const std::vector<std::string>& words) {
    test::put_bytes(path_, bytes);
    try {
      read_safetensors(path_);
      ADD_FAILURE() << "no error was thrown";
    } catch (const InputError& problem) {
      const std::string text = problem.what();
      EXPECT_EQ(text.find("'" + path_.string() + "': "), 0u) << text;
      EXPECT_EQ(text.find('\n'), std::string::npos) << text;
      for (const std::string& word : words) EXPECT_THAT(text, ::testing::HasSubstr(word));
    }
  }

  TempDir folder_;
  std::filesystem::path path_ = folder_ / "w.safetensors";
};

TEST_F(ReaderTest, ReadsWhatIsExported) {
  SampleRun run(5, 1);
  write_safetensors(path_, run.state());
  const LoadedCheckpoint file = read_safetensors(path_);
  ASSERT_EQ(file.state().model.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i)
    test::expect_same_tensor(file.state().model[i], run.state().model[i]);
}

TEST_F(ReaderTest, ReadsTheNamesOfClassesThatWereExported) {
  SampleRun run(5, 1);
  write_safetensors(path_, run.state());
  EXPECT_THAT(read_safetensors(path_).state().class_names, ::testing::IsEmpty());
  run.state().class_names = {"grüße", "a, b", "\"", "caf\xe9"};  // the last in Latin-1
  run.state().input = "images";
  write_safetensors(path_, run.state());
  const LoadedCheckpoint file = read_safetensors(path_);
  EXPECT_EQ(file.state().input, "images");
  EXPECT_THAT(file.state().class_names,
              ::testing::ElementsAre("grüße", "a, b", "\"", "caf\xef\xbf\xbd"));
  EXPECT_EQ(file.state().origin.recipe, run.state().origin.recipe);
}

TEST_F(ReaderTest, TakesNoNamesOfClassesFromOthers) {
  const auto names = [&](const std::string& metadata) {
    return read(file_of("{\"__metadata__\":{" + metadata + "}}", "")).state().class_names;
  };
  EXPECT_THAT(names(R"("class_names":"['cat', 'dog']")"), ::testing::IsEmpty());
  EXPECT_THAT(names(R"("class_names":"cat\ndog","recipe":"of Quern")"),
              ::testing::ElementsAre("cat", "dog"));
}

TEST_F(ReaderTest, KnowsCheckpointsAndSafetensorsByTheirFirstBytes) {
  SampleRun run(5, 1);
  const auto checkpoint = write_checkpoint(folder_ / "run", run.state());
  write_safetensors(path_, run.state());
  for (const auto& file : {checkpoint, folder_ / "run", path_})
    test::expect_same_tensor(read_weights(file).state().model[0], run.state().model[0]);
  test::put_bytes(path_, "PK\x03\x04 of torch.save");
  test::expect_error([&] { read_weights(path_); }, ExitCode::bad_input,
                     {"torch.save", "analysis/quern_weights.py"});
}

TEST_F(ReaderTest, ConvertsShortFloatsAndLeavesBatchCountsOut) {
  const std::string data = raw<std::int64_t>({7}) + raw<std::uint16_t>({0x3c00, 0xc100}) +
                           raw<std::uint16_t>({0x3f80, 0xc020}) + raw<float>({0.5f});
  const LoadedCheckpoint file = read(file_of(
      R"({"d":{"dtype":"F32","shape":[],"data_offsets":[16,20]},)"
      R"("b":{"data_offsets":[8,12],"shape":[2,1],"dtype":"F16"},)"
      R"("__metadata__":{"a":"b","a":"c"},"e":{"dtype":"F32","shape":[3,0],"data_offsets":[20,20]},)"
      R"("c":{"dtype":"BF16","shape":[1,2],"data_offsets":[12,16]},)"
      R"("bn.num_batches_tracked":{"dtype":"I64","shape":[],"data_offsets":[0,8]}}   )",
      data));
  const auto& tensors = file.state().model;
  ASSERT_EQ(tensors.size(), 4u);
  const auto values = [&](std::size_t i) {
    return std::vector<float>(tensors[i].values.begin(), tensors[i].values.end());
  };
  EXPECT_EQ(tensors[0].name, "b");
  EXPECT_EQ(tensors[0].shape, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(values(0), (std::vector{1.0f, -2.5f}));
  EXPECT_EQ(values(1), (std::vector{1.0f, -2.5f}));
  EXPECT_EQ(values(2), std::vector{0.5f});
  EXPECT_TRUE(tensors[2].shape.empty());
  EXPECT_TRUE(tensors[3].values.empty());
}

TEST_F(ReaderTest, RefusesWhatTheFormatDoesNotHave) {
  const std::string four = raw<float>({1.0f});
  const auto entry = [](const std::string& rest) { return "{\"a\":{" + rest + "}}"; };
  const std::string good = R"("dtype":"F32","shape":[1],"data_offsets":[0,4])";
  EXPECT_EQ(read(file_of(entry(good), four)).state().model.size(), 1u);

  struct Bad {
    std::string header;
    std::vector<std::string> words;
  };
  for (const Bad& bad : std::vector<Bad>{
           {"", {"does not begin with '{'"}},
           {"[1]", {"does not begin with '{'"}},
           {"{", {"no JSON"}},
           {entry(good) + "}", {"no JSON"}},
           {"{\"a\xff\":1}", {"no JSON"}},
           {entry(good + ",\"more\":1"), {"'a'", "'more'", "expected dtype, shape"}},
           {entry(good + ",\"shape\":[1]"), {"'a'", "'shape' twice"}},
           {R"({"a":{)" + good + R"(},"a":{)" + good + "}}", {"'a' occurs twice"}},
           {entry(R"("dtype":"F32","shape":[1])"), {"'a' has no 'data_offsets'"}},
           {entry(R"("dtype":"F31","shape":[1],"data_offsets":[0,4])"), {"dtype", "F31"}},
           {entry(R"("dtype":4,"shape":[1],"data_offsets":[0,4])"), {"'a'", "a number"}},
           {entry(R"("dtype":["F32"],"shape":[1],"data_offsets":[0,4])"), {"'a'", "an array"}},
           {entry(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), {"'a'", "-1"}},
           {entry(R"("dtype":"F32","shape":[1.0],"data_offsets":[0,4])"), {"'a'", "a fraction"}},
           {entry(R"("dtype":"F32","shape":[[1]],"data_offsets":[0,4])"), {"'a'", "an array"}},
           {entry(R"("dtype":"F32","shape":["1"],"data_offsets":[0,4])"), {"'a'", "a text"}},
           {entry(R"("dtype":"F32","shape":[1],"data_offsets":[0])"), {"data_offsets", "two"}},
           {entry(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"), {"does not lie in"}},
           {entry(R"("dtype":"F32","shape":[1],"data_offsets":[0,8])"), {"does not lie in"}},
           {entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), {"not the size"}},
           {entry(R"("dtype":"F32","shape":[1099511627776,1099511627776,1099511627776],)"
                  R"("data_offsets":[0,4])"),
            {"not the size"}},
           {entry(R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4])"),
            {"shape", "along an axis"}},
           {entry(R"("dtype":"F32","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],)"
                  R"("data_offsets":[0,4])"),
            {"shape", "at most 16"}},
           {entry(R"("dtype":"F16","shape":[1],"data_offsets":[0,2])"), {"end at byte 2 of 4"}},
           {entry(R"("dtype":"F16","shape":[1],"data_offsets":[2,4])"), {"a gap"}},
           {R"({"a":{"dtype":"F16","shape":[1],"data_offsets":[0,2]},)"
            R"("b":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}})",
            {"overlap"}},
           {entry(R"("dtype":"I32","shape":[1],"data_offsets":[0,4])"),
            {"I32", "F32, F16 or BF16"}},
           {R"({"":{)" + good + "}}", {"an empty name"}},
           {R"({"a\nb":{)" + good + "}}", {"a control character"}},
           {R"({"a":1})", {"a number"}},
           {R"({"a":null})", {"null"}},
           {R"({"a":{"dtype":{"b":{}}}})", {"'a'", "an object"}},
           {R"({"__metadata__":{"a":1}})", {"a number"}},
           {R"({"__metadata__":{"a":{"b":"c"}}})", {"an object"}},
           {std::string(100000, '['), {"does not begin with '{'"}},
           {"{\"a\":" + std::string(100000, '['), {"an array"}},
       }) {
    SCOPED_TRACE(bad.header.substr(0, 200));
    expect_refusal(file_of(bad.header, four), bad.words);
  }
  expect_refusal("", {"too short"});
  expect_refusal(std::string(7, 'x'), {"too short"});
  expect_refusal(std::string(8, '\xff') + "{}", {"a header of 18446744073709551615 bytes"});
  expect_refusal(file_of(entry(good), raw<float>({std::nanf("")})),
                 {"'a' is not finite", "value 0"});
  test::expect_error([&] { read_safetensors(folder_ / "absent"); }, ExitCode::bad_input,
                     {"absent", "no such file"});
  test::expect_error([&] { read_safetensors(folder_.path()); }, ExitCode::bad_input, {"no file"});
}

TEST_F(ReaderTest, EveryTruncationIsFound) {
  SampleRun run(5, 1);
  write_safetensors(path_, run.state());
  const std::string good = bytes_of(path_);
  for (std::size_t length = 0; length < good.size(); ++length) {
    test::put_bytes(path_, good.substr(0, length));
    EXPECT_THROW(read_safetensors(path_), InputError) << length;
  }
  test::put_bytes(path_, good + "x");
  EXPECT_THROW(read_safetensors(path_), InputError);
}

TEST_F(ReaderTest, FlippedBytesAreRefusedOrLeaveSoundTensors) {
  SampleRun run(5, 1);
  write_safetensors(path_, run.state());
  const std::string good = bytes_of(path_);
  std::mt19937 random(3);
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = good;
    for (std::size_t flips = 1 + below(3); flips > 0; --flips)
      bytes[below(bytes.size())] ^= static_cast<char>(1 + below(255));
    test::put_bytes(path_, bytes);
    try {
      std::size_t floats = 0;
      const LoadedCheckpoint file = read_safetensors(path_);
      for (const NamedTensor& tensor : file.state().model) {
        EXPECT_EQ(num_elements(tensor.shape), std::ssize(tensor.values));
        for (const float value : tensor.values) EXPECT_TRUE(std::isfinite(value));
        floats += tensor.values.size();
      }
      EXPECT_LE(floats * sizeof(std::uint16_t), bytes.size());
    } catch (const InputError& problem) {
      EXPECT_EQ(std::string(problem.what()).find('\n'), std::string::npos) << problem.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 1500);
}

}  // namespace
}  // namespace quern
