// SPDX-License-Identifier: Apache-2.0
#include "readers/sample_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sha256.hpp"
#include "readers/image.hpp"
#include "readers/image_folder.hpp"
#include "readers/png_writer.hpp"
#include "readers/zip_reader.hpp"
#include "support/expect_error.hpp"
#include "support/npy_files.hpp"
#include "support/temp_dir.hpp"
#include "support/without_files.hpp"

namespace quern {
namespace {

using test::Bytes;
using test::npy;
using testing::ElementsAre;

class SampleFileTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const Bytes& bytes) const {
    test::write_file(folder_ / name, bytes);
    return (folder_ / name).string();
  }
  static Array read(const std::string& path, ArrayRole role = ArrayRole::input) {
    return read_sample_file({path}, role).array;
  }
  static void expect_bad(const SampleSource& source, std::initializer_list<std::string> parts) {
    test::expect_error([&] { read_sample_file(source, ArrayRole::input); }, ExitCode::bad_input,
                       parts);
  }

  test::TempDir folder_;
  const Bytes two_by_three_ = npy("|u1", "(2, 3)", test::counting(6));
  const Bytes one_ = npy("<i8", "(1,)", Bytes(8, 1));
};

TEST_F(SampleFileTest, FormatsAreKnownByTheirContent) {
  EXPECT_THAT(read(write("a", two_by_three_)).shape, ElementsAre(2, 3));
  EXPECT_THAT(read(write("b", test::gzip(two_by_three_))).shape, ElementsAre(2, 3));
  EXPECT_THAT(read(write("c", test::zip({{"x.npy", one_}}, true))).shape, ElementsAre(1));
  EXPECT_THAT(read(write("d", test::idx({2, 3, 1}, test::counting(6)))).shape,
              ElementsAre(2, 1, 3, 1));
  EXPECT_THAT(read(write("e", test::idx({6}, test::counting(6))), ArrayRole::labels).shape,
              ElementsAre(6));
  expect_bad({write("f", {'{', '}', 1, 2})}, {"7b7d0102", "idx, npy, npz, hdf5"});
  expect_bad({write("f", {})}, {"/f' is empty"});
  expect_bad({(folder_ / "none").string()}, {"no file"});
  expect_bad({write("a", two_by_three_), "idx"}, {"wrong IDX magic number"});
}

TEST_F(SampleFileTest, PartsOfArchives) {
  const std::string path =
      write("two:arrays.npz", test::zip({{"x.npy", two_by_three_}, {"y.npy", one_}}, false));
  EXPECT_THAT(read(path + ":x").shape, ElementsAre(2, 3));
  EXPECT_THAT(read(path + ":y").shape, ElementsAre(1));
  EXPECT_EQ(read(path + ":y").name, "'" + path + ":y'");
  expect_bad({path}, {"2 arrays", "(x, y)"});
  expect_bad({path + ":z"}, {"no array 'z'", "(x, y)"});
  expect_bad({write("none.npz", test::zip({{"x.txt", one_}}, false))},
             {"a ZIP file without arrays"});
  expect_bad({write("model.pt", test::zip({{"model/data.pkl", one_}}, false))},
             {"is a file of torch.save", "numpy.save"});
  expect_bad({write("a.npy", one_) + ":x"}, {"':x' names a part"});
}

TEST_F(SampleFileTest, NamesInArchivesTouchNoTerminal) {
  Bytes file = test::zip({{"\x1b[2J\xff.npy", two_by_three_}}, false);
  const std::string path = write("a.npz", file);
  expect_bad({path + ":z"}, {"no array 'z'", "(\\x1b[2J\\xff)"});
  EXPECT_EQ(read(path).name, "'" + path + ":\\x1b[2J\\xff'");
  file[30 + 9 + two_by_three_.size() - 1] ^= 1;
  expect_bad({write("a.npz", file)}, {"its member '\\x1b[2J\\xff.npy' is damaged"});
}

TEST_F(SampleFileTest, DamagedArchives) {
  Bytes file = test::zip({{"x.npy", two_by_three_}}, false);
  file[30 + 5 + two_by_three_.size() - 1] ^= 1;
  expect_bad({write("a.npz", file)}, {"'x.npy' is damaged", "CRC-32"});
  file = test::zip({{"x.npy", two_by_three_}}, true);
  expect_bad({write("a.npz", {file.begin(), file.end() - 1})}, {"no directory at its end"});
}

// A restart may mend it: the files may be good.
TEST_F(SampleFileTest, FailuresOfTheSystem) {
  if (test::kSanitizerOpensFiles) GTEST_SKIP() << "the sanitizer opens pipes";
  const std::string archive = write("a.npz", test::zip({{"x.npy", one_}}, false));
  const std::filesystem::path images = folder_ / "images";
  std::filesystem::create_directories(images / "cat");
  test::expect_error(test::without_files([&] { list_zip(archive); }), ExitCode::failure,
                     {"cannot read '" + archive + "': Too many open files"});
  test::expect_error(test::without_files([&] { read_image_folder(images, {}); }), ExitCode::failure,
                     {"cannot read folder '" + images.string() + "': Too many open files"});
}

// Whatever the order of their names; a part of them as all of them.
TEST_F(SampleFileTest, ImagesHaveColoursWhereOneHas) {
  const Bytes grey = test::counting(4 * 2);
  const Bytes colour = test::counting(4 * 2 * 3);
  write_png(folder_ / "a.png", 1, 4, 2, grey);
  write_png(folder_ / "b.png", 1, 4, 2, grey);
  EXPECT_THAT(read_image_folder(folder_.path()).images.shape, ElementsAre(2, 1, 4, 2));
  EXPECT_FALSE(is_colour_image(folder_ / "a.png"));
  write_png(folder_ / "c.png", 3, 4, 2, colour);
  EXPECT_TRUE(is_colour_image(folder_ / "c.png"));
  const ImageFolder all = read_image_folder(folder_.path());
  EXPECT_THAT(all.images.shape, ElementsAre(3, 3, 4, 2));
  const auto& pixels = std::get<Bytes>(all.images.values);
  for (std::size_t i = 0; i < grey.size(); ++i) {
    for (std::size_t plane = 0; plane < 3; ++plane)
      EXPECT_EQ(pixels[(3 + plane) * grey.size() + i], grey[i]);
    EXPECT_EQ(pixels[6 * grey.size() + i], colour[3 * i]);
  }
  const ImageFolder part = read_image_folder(folder_.path(), [](std::int64_t) {
    return SampleRange{1, 1};
  });
  EXPECT_THAT(part.images.shape, ElementsAre(1, 3, 4, 2));
  EXPECT_TRUE(std::equal(grey.begin(), grey.end(), std::get<Bytes>(part.images.values).begin()));
}

// Of damaged files what their headers say, or nothing: reading them tells what is wrong.
TEST_F(SampleFileTest, HeadersOfImages) {
  const auto jpeg = [](std::uint8_t marker, std::uint8_t components) {
    Bytes file = {0xff, 0xd8, 0xff, 0xe0, 0, 6, 0xff, 0xc0, 0, 3};  // a segment that is passed
    file.insert(file.end(), {0xff, 0xff, marker, 0, 11, 8, 0, 8, 0, 8, components, 1, 0x11, 0});
    return file;
  };
  EXPECT_TRUE(is_colour_image(write("a", jpeg(0xc0, 3))));
  EXPECT_TRUE(is_colour_image(write("a", jpeg(0xc2, 3))));
  EXPECT_FALSE(is_colour_image(write("a", jpeg(0xc0, 1))));
  EXPECT_FALSE(is_colour_image(write("a", jpeg(0xc4, 3))));  // no header of a frame
  Bytes file = jpeg(0xc0, 3);
  file.resize(18);
  for (; !file.empty(); file.pop_back()) EXPECT_FALSE(is_colour_image(write("a", file)));
  EXPECT_FALSE(is_colour_image(write("a", {0xff, 0xd8, 0xff, 0xe0, 0, 0, 1, 1})));
}

TEST_F(SampleFileTest, ArchivesThatCannotBeOpened) {
  const auto list = [&](const std::string& name) {
    return [=, this] { list_zip(folder_ / name); };
  };
  test::expect_error(list("none"), ExitCode::bad_input, {"none': No such file or directory"});
  test::expect_error(list("."), ExitCode::bad_input, {"': Is a directory"});
}

TEST_F(SampleFileTest, ChecksumsOfFileAndContent) {
  const Bytes packed = test::gzip(two_by_three_);
  const std::string path = write("a", packed);
  const auto match = [&](const Bytes& of) {
    return read_sample_file({path, "auto", sha256(std::as_bytes(std::span(of)))}, ArrayRole::input)
        .sha256;
  };
  EXPECT_EQ(match(packed), Sha256Match::file);
  EXPECT_EQ(match(two_by_three_), Sha256Match::content);
  EXPECT_EQ(read_sample_file({path}, ArrayRole::input).sha256, Sha256Match::not_asked);
  expect_bad({path, "auto", std::string(64, '0')}, {"expected " + std::string(64, '0')});
  expect_bad({path, "auto", "xyz"}, {"'xyz' is not a SHA-256"});
  const Bytes archive = test::zip({{"x.npy", one_}}, false);
  expect_bad({write("b", archive), "auto", std::string(64, '0')}, {"SHA-256 is"});
}

TEST(Labels, WholeNumbersInOneColumn) {
  Array array{"'f'", {3}, NumberType::integer, std::vector<std::int64_t>{0, 999, 2}};
  EXPECT_THAT(to_labels(array), ElementsAre(0, 999, 2));
  array.shape = {3, 1};
  EXPECT_THAT(to_labels(array), ElementsAre(0, 999, 2));
  array.values = std::vector<std::int64_t>{0, -1, 2};
  test::expect_error([&] { to_labels(array); }, ExitCode::bad_input, {"'f'", "-1 of sample 1"});
  // There is a class more than the largest label, which has to be an int.
  array.values = std::vector<std::int64_t>{0, 1, 2147483646};
  EXPECT_THAT(to_labels(array), ElementsAre(0, 1, 2147483646));
  array.values = std::vector<std::int64_t>{0, 1, 2147483647};
  test::expect_error([&] { to_labels(array); }, ExitCode::bad_input,
                     {"label 2147483647 of sample 2 is out of range, expected 0 to 2147483646"});
  array.shape = {1, 3};
  test::expect_error([&] { to_labels(array); }, ExitCode::bad_input, {"no labels", "[1, 3]"});
  array = {"'f'", {2}, NumberType::floating, std::vector<float>{0, 1}};
  test::expect_error([&] { to_labels(array); }, ExitCode::bad_input, {"floats [2] are no labels"});
}

}  // namespace
}  // namespace quern
