// SPDX-License-Identifier: Apache-2.0
// Small files, cut off at every length and damaged at random (seeded) places: a reader either finds
// good data or says what is wrong, and never crashes, hangs or asks for absurd memory.
#include <gtest/gtest.h>

#include <functional>

#include "base/error.hpp"
#include "readers/idx_reader.hpp"
#include "readers/sample_file.hpp"
#include "support/damage.hpp"
#include "support/npy_files.hpp"
#include "support/temp_dir.hpp"

namespace quern {
namespace {

using test::Bytes;
using test::damage;

TEST(Mutation, IdxFiles) {
  const test::TempDir folder;
  std::mt19937 random(1);
  const Bytes plain = test::idx({5, 2, 3, 4}, test::counting(120));
  int refused = 0;
  for (const Bytes& good : {plain, test::gzip(plain)}) {
    for (int round = 0; round < 300; ++round) {
      test::write_file(folder / "file", damage(good, random));
      try {
        const IdxImages images = read_idx_images(folder / "file");
        EXPECT_EQ(static_cast<std::int64_t>(images.pixels.size()),
                  images.count * images.shape.units());
      } catch (const InputError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 300);
}

std::size_t number_of_values(const Array& array) {
  return std::visit([](const auto& values) { return values.size(); }, array.values);
}

// -> how many of the damaged files were refused.
int refusals(const Bytes& good, const std::string& extension, int rounds) {
  const test::TempDir folder;
  const std::filesystem::path path = folder / ("file" + extension);
  std::mt19937 random(3);
  int refused = 0;
  const auto read = [&](const Bytes& file) {
    test::write_file(path, file);
    try {
      const Array array = read_sample_file({path.string()}, ArrayRole::input).array;
      std::size_t size = 1;
      for (const std::int64_t extent : array.shape) size *= static_cast<std::size_t>(extent);
      EXPECT_EQ(number_of_values(array), size);
    } catch (const InputError&) {
      ++refused;
    }
  };
  for (std::size_t size = 0; size < good.size(); ++size) {
    const int before = refused;
    read({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)});
    EXPECT_EQ(refused, before + 1) << "cut off after " << size << " bytes";
  }
  for (int round = 0; round < rounds; ++round) read(damage(good, random));
  return refused - static_cast<int>(good.size());
}

const std::vector<float> kFloats = {1, -2, 3.5f, 4, 5, 6, 7, 8, 9, 10, 11, 12};

TEST(Mutation, NpyFiles) {
  const Bytes plain = test::npy("<f4", "(4, 3)", test::bytes_of(kFloats));
  EXPECT_GT(refusals(plain, ".npy", 400), 150);
  EXPECT_GT(refusals(test::npy("<i2", "(2, 3, 4)", Bytes(48, 1), true, 2), ".npy", 400), 150);
}

TEST(Mutation, NpzFiles) {
  const Bytes array = test::npy("<f4", "(4, 3)", test::bytes_of(kFloats));
  for (const bool is_packed : {false, true}) {
    EXPECT_GT(refusals(test::zip({{"x.npy", array}}, is_packed), ".npz", 600), 300);
  }
}

}  // namespace
}  // namespace quern
