// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "checkpoint_fixture.hpp"

namespace quern {
namespace {

using test::SampleRun;
using test::TempDir;

TEST(Safetensors, HoldsTheModelWithItsBits) {
  const TempDir folder;
  SampleRun run;
  write_safetensors(folder / "model.safetensors", run.state());

  const std::string bytes = test::bytes_of(folder / "model.safetensors");
  std::uint64_t length = 0;
  ASSERT_GE(bytes.size(), sizeof length);
  std::memcpy(&length, bytes.data(), sizeof length);
  ASSERT_LE(length, bytes.size() - sizeof length);
  EXPECT_EQ(length % 8, 0u);
  const auto header = nlohmann::json::parse(bytes.substr(sizeof length, length));
  const std::string data = bytes.substr(sizeof length + length);

  EXPECT_EQ(header.size(), 1 + run.state().model.size());
  EXPECT_EQ(header["__metadata__"]["step"], "123");
  std::size_t end_of_last = 0;
  for (const NamedTensor& tensor : run.state().model) {
    const auto& entry = header[tensor.name];
    EXPECT_EQ(entry["dtype"], "F32");
    EXPECT_EQ(entry["shape"].get<std::vector<std::int64_t>>(), tensor.shape);
    const auto begin = entry["data_offsets"][0].get<std::size_t>();
    const auto end = entry["data_offsets"][1].get<std::size_t>();
    EXPECT_EQ(begin, end_of_last);
    ASSERT_EQ(end - begin, tensor.values.size_bytes());
    EXPECT_EQ(std::memcmp(data.data() + begin, tensor.values.data(), end - begin), 0);
    end_of_last = end;
  }
  EXPECT_EQ(data.size(), end_of_last);
}

TEST(Safetensors, UnwritablePlaceIsAClearErrorAndLeavesNothing) {
  const TempDir folder;
  SampleRun run;
  test::expect_error([&] { write_safetensors(folder / "absent/m.safetensors", run.state()); },
                     ExitCode::bad_input, {"absent/m.safetensors", "No such file"});
  EXPECT_TRUE(test::names_in(folder.path()).empty());
}

}  // namespace
}  // namespace quern
