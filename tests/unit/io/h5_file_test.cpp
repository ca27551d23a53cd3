// SPDX-License-Identifier: Apache-2.0
#include "io/h5_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <limits>

#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"
#include "support/unopenable_file.hpp"

namespace quern {
namespace {

using test::expect_error;
using testing::ElementsAre;

using Extents = std::vector<std::int64_t>;

class H5FileTest : public testing::Test {
 protected:
  std::filesystem::path path() const { return folder_ / "file.h5"; }

  test::TempDir folder_;
};

TEST_F(H5FileTest, DatasetsOfAllTypesComeBack) {
  const std::vector<std::uint8_t> bytes = {0, 1, 254, 255, 7, 8};
  const std::vector<float> floats = {0.5f, -1e-40f, std::numeric_limits<float>::infinity()};
  const std::vector<std::int64_t> numbers = {std::numeric_limits<std::int64_t>::min(), 5};
  {
    H5File file = H5File::create(path());
    file.write_dataset("/images", bytes, Extents{3, 2});
    file.write_dataset("/model/fc1/weight", floats, Extents{3, 1, 1});
    file.write_dataset("/model/fc1/steps", numbers, Extents{2});
    file.flush_and_sync();
    file.close();
  }

  const H5File file = H5File::open_read(path());
  const H5DatasetInfo info = file.dataset_info("/images");
  EXPECT_EQ(info.type, H5Type::uint8);
  EXPECT_THAT(info.shape, ElementsAre(3, 2));
  EXPECT_EQ(info.elements, 6);
  EXPECT_EQ(file.dataset_info("/model/fc1/weight").bytes, 12);
  std::vector<std::uint8_t> bytes_read(6);
  std::vector<float> floats_read(3);
  std::vector<std::int64_t> numbers_read(2);
  file.read_dataset("/images", bytes_read);
  file.read_dataset("/model/fc1/weight", floats_read);
  file.read_dataset("/model/fc1/steps", numbers_read);
  EXPECT_EQ(bytes_read, bytes);
  EXPECT_EQ(floats_read, floats);
  EXPECT_EQ(numbers_read, numbers);
}

TEST_F(H5FileTest, ValuesAreWrittenPieceByPiece) {
  {
    H5File file = H5File::create(path());
    file.create_dataset("/values", Extents{3, 2, 2});
    file.write_values_at("/values", 0, std::array<float, 4>{0, 1, 2, 3});
    file.write_values_at("/values", 4, std::array<float, 8>{4, 5, 6, 7, 8, 9, 10, 11});
    expect_error([&] { file.write_values_at("/other", 0, std::array<float, 4>{}); },
                 ExitCode::failure, {"file.h5", "cannot write dataset '/other'"});
    expect_error([&] { file.write_values_at("/values", 12, std::array<float, 4>{}); },
                 ExitCode::failure, {"file.h5", "cannot write dataset '/values'"});
    expect_error([&] { file.create_dataset("/values", Extents{1}); }, ExitCode::failure,
                 {"file.h5", "cannot write dataset '/values'"});
    file.close();
  }
  const H5File file = H5File::open_read(path());
  EXPECT_THAT(file.dataset_info("/values").shape, ElementsAre(3, 2, 2));
  std::vector<float> values(12);
  file.read_dataset("/values", values);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], static_cast<float>(i));
}

TEST_F(H5FileTest, EmptyAndScalarDatasets) {
  H5File file = H5File::create(path());
  file.write_dataset("/empty", std::span<const float>(), Extents{0, 5});
  file.write_dataset("/one", std::array<float, 1>{2.5f}, Extents{});

  EXPECT_THAT(file.dataset_info("/empty").shape, ElementsAre(0, 5));
  file.read_dataset("/empty", std::span<float>());
  EXPECT_THAT(file.dataset_info("/one").shape, ElementsAre());
  std::array<float, 1> one{};
  file.read_dataset("/one", one);
  EXPECT_EQ(one[0], 2.5f);
}

TEST_F(H5FileTest, AttributesComeBack) {
  const std::string text = "Quern – ein Mühlstein\n[data]\n";
  {
    H5File file = H5File::create(path());
    file.write_string("/", "text", text);
    file.write_string("/", "empty", "");
    file.write_int64("/train", "step", -3);
    file.write_uint64("/train/deep", "seed", std::numeric_limits<std::uint64_t>::max());
    file.write_double("/train", "loss", 0.1);
    file.close();
  }

  const H5File file = H5File::open_read(path());
  EXPECT_EQ(file.read_string("/", "text"), text);
  EXPECT_EQ(file.read_string("/", "empty"), "");
  EXPECT_EQ(file.read_int64("/train", "step"), -3);
  EXPECT_EQ(file.read_uint64("/train/deep", "seed"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(file.read_double("/train", "loss"), 0.1);
  EXPECT_TRUE(file.has_attribute("/train", "step"));
  EXPECT_FALSE(file.has_attribute("/train", "nothing"));
  EXPECT_FALSE(file.has_attribute("/nothing", "step"));
}

TEST_F(H5FileTest, MembersAreListed) {
  H5File file = H5File::create(path());
  file.create_group("/b/inner");
  file.create_group("/b/inner");
  file.write_dataset("/a", std::array<float, 1>{1}, Extents{1});

  EXPECT_THAT(file.list_members("/"), ElementsAre("a", "b"));
  EXPECT_THAT(file.list_members("/b"), ElementsAre("inner"));
  EXPECT_TRUE(file.has_group("/b/inner"));
  EXPECT_FALSE(file.has_group("/a"));
  EXPECT_TRUE(file.has_dataset("/a"));
  EXPECT_FALSE(file.has_dataset("/a/below"));
  expect_error([&] { file.list_members("/c"); }, ExitCode::bad_input, {"file.h5", "/c"});
}

TEST_F(H5FileTest, WrongTypesAndSizesAreRefused) {
  H5File file = H5File::create(path());
  file.write_dataset("/floats", std::array<float, 2>{1, 2}, Extents{2});
  file.write_string("/", "text", "x");
  file.write_int64("/", "negative", -1);
  file.write_uint64("/", "large", std::uint64_t{1} << 63);
  std::array<float, 3> three{};
  std::array<std::uint8_t, 2> bytes{};

  expect_error([&] { file.read_dataset("/floats", three); }, ExitCode::bad_input,
               {"file.h5", "/floats", "2 elements", "expected 3"});
  expect_error([&] { file.read_dataset("/floats", bytes); }, ExitCode::bad_input,
               {"/floats", "float32", "expected uint8"});
  expect_error([&] { file.read_dataset("/none", bytes); }, ExitCode::bad_input, {"no dataset"});
  expect_error([&] { file.read_int64("/", "text"); }, ExitCode::bad_input, {"text", "one integer"});
  expect_error([&] { file.read_double("/", "text"); }, ExitCode::bad_input, {"floating-point"});
  expect_error([&] { file.read_string("/", "negative"); }, ExitCode::bad_input, {"one string"});
  expect_error([&] { file.read_uint64("/", "negative"); }, ExitCode::bad_input, {"negative"});
  expect_error([&] { file.read_int64("/", "large"); }, ExitCode::bad_input, {"too large"});
  expect_error([&] { file.read_int64("/", "none"); }, ExitCode::bad_input, {"no attribute 'none'"});
}

TEST_F(H5FileTest, WritingTwiceOrThroughADatasetIsAnError) {
  H5File file = H5File::create(path());
  file.write_dataset("/a", std::array<float, 1>{1}, Extents{1});
  file.write_int64("/", "n", 1);

  expect_error([&] { file.write_dataset("/a", std::array<float, 1>{1}, Extents{1}); },
               ExitCode::failure, {"file.h5", "/a", "already exists"});
  expect_error([&] { file.create_group("/a/b"); }, ExitCode::failure, {"not a group"});
  expect_error([&] { file.write_int64("/", "n", 1); }, ExitCode::failure,
               {"file.h5", "'n'", "already exists"});
}

TEST_F(H5FileTest, FilesThatCannotBeOpened) {
  std::ofstream(folder_ / "text.h5") << "this is not HDF5, it is only text of some length\n";
  expect_error([&] { H5File::open_read(folder_ / "none.h5"); }, ExitCode::bad_input,
               {"no file", "none.h5"});
  expect_error([&] { H5File::open_read(folder_.path()); }, ExitCode::bad_input, {"not a file"});
  expect_error([&] { H5File::open_read(folder_ / "text.h5"); }, ExitCode::bad_input,
               {"text.h5", "not a whole HDF5 file", "signature"});
}

// As of files of other kinds (OutputFile): a folder that is not there is a mistake, a limit or a
// full disk is a failure, which another start may not meet.
TEST_F(H5FileTest, FilesThatCannotBeMade) {
  expect_error([&] { H5File::create(folder_ / "none/file.h5"); }, ExitCode::bad_input,
               {"cannot create '", "none/file.h5': No such file or directory"});
  expect_error([&] { H5File::create(folder_.path()); }, ExitCode::bad_input,
               {"cannot create '" + folder_.path().string() + "': Is a directory"});
  expect_error(
      [&] {
        H5File file = H5File::create("/dev/full");
        file.write_dataset("/a", std::vector<float>(1000), Extents{1000});
        file.close();
      },
      ExitCode::failure, {"/dev/full", "No space left on device"});
  test::make_unopenable_file(path());
  expect_error([&] { H5File::create(path()); }, ExitCode::failure,
               {"cannot create '" + path().string() + "': ", test::kUnopenable});
}

TEST_F(H5FileTest, TruncatedFilesAreRefused) {
  {
    H5File file = H5File::create(path());
    file.write_dataset("/a", std::vector<float>(1000), Extents{1000});
    file.close();
  }
  std::filesystem::resize_file(path(), std::filesystem::file_size(path()) - 1);

  expect_error([&] { H5File::open_read(path()); }, ExitCode::bad_input, {"file.h5", "truncated"});
}

}  // namespace
}  // namespace quern
