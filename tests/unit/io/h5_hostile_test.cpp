// SPDX-License-Identifier: Apache-2.0
// HDF5 files that only the C API can make: other layouts, types and links than ours.
#include <gtest/gtest.h>
#include <hdf5.h>

#include <vector>

#include "io/h5_file.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

namespace quern {
namespace {

using test::expect_error;

class H5HostileTest : public testing::Test {
 protected:
  H5HostileTest() : file_(H5Fcreate(path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)) {}

  std::filesystem::path path() const { return folder_ / "hostile.h5"; }

  void make_dataset(const char* name, hid_t type, std::vector<hsize_t> extents,
                    hid_t properties = H5P_DEFAULT) {
    const hid_t space = H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
    const hid_t dataset =
        H5Dcreate2(file_, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    ASSERT_GE(dataset, 0);
    H5Dclose(dataset);
    H5Sclose(space);
  }

  void expect_refused(const char* name, std::initializer_list<std::string> parts) {
    H5Fclose(file_);
    const H5File file = H5File::open_read(path());
    expect_error([&] { file.dataset_info(name); }, ExitCode::bad_input, parts);
  }

  test::TempDir folder_;
  hid_t file_;
};

TEST_F(H5HostileTest, DataThatWasNeverWritten) {
  make_dataset("/d", H5T_STD_U8LE, {std::uint64_t{1} << 40});
  expect_refused("/d", {"hostile.h5", "/d", "no data"});
}

TEST_F(H5HostileTest, ExtentsWhoseProductOverflows) {
  make_dataset("/d", H5T_STD_U8LE, {std::uint64_t{1} << 31, std::uint64_t{1} << 31, 1});
  // 2^62 bytes fit into int64; floats of the same shape do not.
  make_dataset("/e", H5T_IEEE_F32LE, {std::uint64_t{1} << 31, std::uint64_t{1} << 30, 1});
  expect_refused("/d", {"/d"});
  file_ = H5I_INVALID_HID;
  const H5File file = H5File::open_read(path());
  expect_error([&] { file.dataset_info("/e"); }, ExitCode::bad_input, {"/e"});
}

TEST_F(H5HostileTest, ChunkedData) {
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  const hsize_t chunk[1] = {1024};
  H5Pset_chunk(properties, 1, chunk);
  H5Pset_deflate(properties, 9);
  make_dataset("/d", H5T_STD_U8LE, {std::uint64_t{1} << 40}, properties);
  H5Pclose(properties);
  expect_refused("/d", {"/d", "contiguous", "h5repack"});
}

TEST_F(H5HostileTest, DataInAnotherFile) {
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_external(properties, "/etc/passwd", 0, 16);
  make_dataset("/d", H5T_STD_U8LE, {16}, properties);
  H5Pclose(properties);
  expect_refused("/d", {"/d", "another file"});
}

TEST_F(H5HostileTest, TooManyDimensions) {
  make_dataset("/d", H5T_STD_U8LE, std::vector<hsize_t>(9, 1));
  expect_refused("/d", {"/d", "9 dimensions"});
}

TEST_F(H5HostileTest, LinksAreNotFollowed) {
  H5Lcreate_external("other.h5", "/d", file_, "/external", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_soft("/soft", file_, "/soft", H5P_DEFAULT, H5P_DEFAULT);
  expect_refused("/external", {"no dataset '/external'"});
  file_ = H5I_INVALID_HID;
  const H5File file = H5File::open_read(path());
  EXPECT_FALSE(file.has_dataset("/soft"));
}

TEST_F(H5HostileTest, AttributesOfOddTypes) {
  const hsize_t extents[1] = {3};
  const hid_t space = H5Screate_simple(1, extents, nullptr);
  H5Aclose(H5Acreate2(file_, "many", H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT));
  const hid_t scalar = H5Screate(H5S_SCALAR);
  const hid_t wide = H5Tcopy(H5T_STD_I64LE);
  H5Tset_size(wide, 32);
  H5Tset_precision(wide, 256);
  H5Aclose(H5Acreate2(file_, "wide", wide, scalar, H5P_DEFAULT, H5P_DEFAULT));
  const hid_t fixed = H5Tcopy(H5T_C_S1);
  H5Tset_size(fixed, 10);
  H5Tset_strpad(fixed, H5T_STR_NULLPAD);
  const hid_t text = H5Acreate2(file_, "fixed", fixed, scalar, H5P_DEFAULT, H5P_DEFAULT);
  H5Awrite(text, fixed, "0123456789");
  H5Aclose(text);
  H5Aclose(H5Acreate2(file_, "byte", H5T_STD_I8BE, scalar, H5P_DEFAULT, H5P_DEFAULT));
  H5Fclose(file_);

  const H5File file = H5File::open_read(path());
  expect_error([&] { file.read_int64("/", "many"); }, ExitCode::bad_input, {"many"});
  expect_error([&] { file.read_int64("/", "wide"); }, ExitCode::bad_input, {"wide"});
  EXPECT_EQ(file.read_string("/", "fixed"), "0123456789");
  EXPECT_EQ(file.read_int64("/", "byte"), 0);
  H5Tclose(fixed);
  H5Tclose(wide);
  H5Sclose(scalar);
  H5Sclose(space);
}

}  // namespace
}  // namespace quern
