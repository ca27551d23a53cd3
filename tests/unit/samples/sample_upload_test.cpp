// SPDX-License-Identifier: Apache-2.0
// Samples that pass through two small buffers: as if they were read into their places.
#include "samples/sample_upload.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <span>
#include <vector>

#include "io/shard_set.hpp"
#include "io/shard_writer.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

namespace quern {
namespace {

constexpr std::int64_t kSamples = 300;

ShardContent content_of(StoredType input, Answer answer) {
  ShardContent content;
  content.input = input;
  content.shape = {2, 10, 100};
  content.answer = answer;
  content.answer_type = StoredType::uint8;
  if (answer == Answer::labels) content.classes = 10;
  if (answer == Answer::targets) {
    content.answer_type = StoredType::float32;
    content.target_shape = {3, 1, 1};
  }
  return content;
}

template <class View>
auto host_copy(const View& view) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  return std::vector<typename View::non_const_value_type>(host.data(),
                                                          host.data() + host.extent(0));
}

class SampleUploadTest : public testing::Test {
 protected:
  ShardSet write(const ShardContent& content) {
    const auto count = static_cast<std::size_t>(kSamples);
    const auto units = count * static_cast<std::size_t>(content.shape.units());
    std::vector<std::uint8_t> images(content.has_pixels() ? units : 0);
    std::vector<float> values(content.has_pixels() ? 0 : units);
    std::vector<std::int32_t> labels(content.has_labels() ? count : 0);
    std::vector<float> targets(content.has_targets() ? 3 * count : 0);
    for (std::size_t i = 0; i < images.size(); ++i)
      images[i] = static_cast<std::uint8_t>(i * 31 % 251);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 2039) / 8;
    for (std::size_t i = 0; i < labels.size(); ++i)
      labels[i] = static_cast<std::int32_t>(i * 7 % 10);
    for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = static_cast<float>(i) / 3;
    write_shards(folder_.path(), {"toy", "train", 4}, content,
                 ConstSampleArrays{images, values, labels, targets}, Overwrite::yes);
    return ShardSet::open(folder_.path(), "train");
  }

  test::TempDir folder_;
};

void expect_equal(const SampleMemory<MemorySpace>& found,
                  const SampleMemory<Kokkos::HostSpace>& expected) {
  EXPECT_EQ(host_copy(found.images), host_copy(expected.images));
  EXPECT_EQ(host_copy(found.values), host_copy(expected.values));
  EXPECT_EQ(host_copy(found.labels), host_copy(expected.labels));
  EXPECT_EQ(host_copy(found.targets), host_copy(expected.targets));
}

TEST_F(SampleUploadTest, PutsSamplesInTheirPlaces) {
  for (const ShardContent& content : {content_of(StoredType::uint8, Answer::labels),
                                      content_of(StoredType::float32, Answer::targets),
                                      content_of(StoredType::float16, Answer::none)}) {
    const ShardSet set = write(content);
    const SampleMemory<Kokkos::HostSpace> whole("whole", content, kSamples);
    set.read_share(0, 1, 1, whole.arrays());
    for (const std::int64_t room : {1, 7, 64, 1000}) {
      const SampleMemory<MemorySpace> memory("memory", content, kSamples);
      SampleUpload upload(set, memory.arrays(), room);
      // Neighbours, and from the end, so that the order of reading shows nothing.
      upload.read(100, 20, 100);
      upload.read(120, 30, 120);
      for (std::int64_t end = kSamples; end > 0; end -= 13) {
        const std::int64_t first = std::max<std::int64_t>(0, end - 13);
        upload.read(first, end - first, first);
      }
      upload.finish();
      expect_equal(memory, whole);
      upload.read(5, 2, 40);
      upload.finish();
      EXPECT_EQ(host_copy(memory.images).size(), host_copy(whole.images).size());
      const SampleMemory<Kokkos::HostSpace> moved("moved", content, kSamples);
      set.read_share(0, 1, 1, moved.arrays());
      SampleReader reader(set);
      reader.read(5, 2, 40, moved.arrays());
      reader.finish();
      expect_equal(memory, moved);
    }
  }
}

TEST_F(SampleUploadTest, RefusesDamagedSamples) {
  const ShardSet set = write(content_of(StoredType::uint8, Answer::labels));
  std::fstream file(set.shards()[1].path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(set.shards()[1].input_offset + 40 * 2000);
  file.write("?", 1);
  file.close();
  const SampleMemory<MemorySpace> memory("memory", set.content(), kSamples);
  SampleUpload upload(set, memory.arrays(), 32);
  test::expect_error(
      [&] {
        upload.read(0, kSamples, 0);
        upload.finish();
      },
      ExitCode::do_not_requeue, {"are damaged"});
}

}  // namespace
}  // namespace quern
