// SPDX-License-Identifier: Apache-2.0
// scripts/test runs this under the thread sanitizer as well: the buffers are plain memory, so that
// Prefetch alone puts the loading of a window before its use, and its use before the next loading.
#include "dataset/prefetch.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace quern {
namespace {

struct Buffers {
  std::vector<std::int64_t> of_window[2] = {std::vector<std::int64_t>(1000),
                                            std::vector<std::int64_t>(1000)};

  void load(std::int64_t window) {
    for (std::int64_t& value : of_window[window % 2]) value = window;
  }
  std::int64_t wrong(std::int64_t window) const {
    std::int64_t count = 0;
    for (const std::int64_t value : of_window[window % 2]) count += value != window;
    return count;
  }
};

TEST(Prefetch, HandsOverWindowAfterWindow) {
  Buffers buffers;
  Prefetch prefetch([&](std::int64_t window) { buffers.load(window); });
  for (const std::int64_t first : {0, 13, 4}) {
    prefetch.start(first, 200);
    for (std::int64_t window = first; window < 200; ++window) {
      prefetch.enter(window);
      ASSERT_TRUE(prefetch.wait_for(window));
      ASSERT_EQ(buffers.wrong(window), 0);
      if (window % 3 == 0 && window < 199) {
        ASSERT_TRUE(prefetch.wait_for(window + 1));
      }
      ASSERT_EQ(buffers.wrong(window), 0);
    }
    EXPECT_FALSE(prefetch.has_failed());
  }
}

TEST(Prefetch, IsOneWindowAhead) {
  std::atomic<std::int64_t> last{-1};
  Prefetch prefetch([&](std::int64_t window) { last = window; });
  prefetch.start(0, 10);
  ASSERT_TRUE(prefetch.wait_for(1));
  EXPECT_EQ(last, 1);
  prefetch.enter(1);
  ASSERT_TRUE(prefetch.wait_for(2));
  EXPECT_EQ(last, 2);
}

TEST(Prefetch, TellsWhyAWindowWillNotCome) {
  Prefetch prefetch([](std::int64_t window) {
    if (window == 3) throw std::runtime_error("no window 3");
  });
  prefetch.start(0, 10);
  for (std::int64_t window = 0; window < 3; ++window) {
    prefetch.enter(window);
    ASSERT_TRUE(prefetch.wait_for(window));
  }
  EXPECT_FALSE(prefetch.wait_for(3));
  EXPECT_TRUE(prefetch.has_failed());
  try {
    prefetch.rethrow();
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()), "no window 3");
  }
  EXPECT_TRUE(prefetch.wait_for(2)) << "what was loaded stays";
}

TEST(Prefetch, EndsInTheMiddle) {
  for (int i = 0; i < 50; ++i) {
    Buffers buffers;
    Prefetch prefetch([&](std::int64_t window) { buffers.load(window); });
    prefetch.start(0, 1000000);
    if (i % 2) prefetch.wait_for(0);
  }
}

}  // namespace
}  // namespace quern
