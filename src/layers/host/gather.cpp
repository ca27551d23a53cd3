// SPDX-License-Identifier: Apache-2.0
#include "layers/host/gather.hpp"

#include "base/ceil_div.hpp"
#include "layers/host/gather_tiles.hpp"
#include "linalg/host/pixels.hpp"
#include "linalg/host/simd_transpose.hpp"
#include "tensor/parallel_for.hpp"

namespace quern::host {

namespace {

constexpr std::int64_t kCacheLine = 64;

/// Samples as they are, in the rows of a batch.
template <class T>
struct SampleRows {
  const T* data;                      ///< [N, units]
  const std::int64_t* sample_of_row;  ///< [num_rows]
  std::int64_t units;
  std::int64_t num_rows;

  /// The sample in this row, or null.
  const T* at(std::int64_t row) const {
    if (row >= num_rows || sample_of_row[row] < 0) return nullptr;
    return data + sample_of_row[row] * units;
  }

  /// Units `first` to `first` + 15 of a sample, zero where it has none.
  simd::Vector sixteen(const T* sample, std::int64_t first) const {
    if (!sample) return simd::Vector{};
    if (first + kLanes <= units) return load_floats(sample + first);
    T last[kLanes] = {};
    for (std::int64_t u = first; u < units; ++u) last[u - first] = sample[u];
    return load_floats(last);
  }
};

/// Rows side by side: in cn16c their vectors are neighbours, and eight of them take half as long as
/// four (Zen 5: 10 us for 17, 128 rows of 784 pixels).
template <class T>
struct GatherFlat {
  static constexpr int kRows = 8;

  SampleRows<T> samples;
  float* y;
  ActivationIndex at;

  std::int64_t num_items() const { return ceil_div(samples.num_rows, kRows); }

  void operator()(std::int64_t item) const {
    const std::int64_t first = item * kRows;
    const std::int64_t left = samples.num_rows - first;
    const std::int64_t rows = left < kRows ? left : kRows;
    const T* in[kRows];
    const T* next[kRows];
    for (int s = 0; s < kRows; ++s) {
      in[s] = samples.at(first + s);
      next[s] = samples.at(first + s + kRows);
    }
    for (std::int64_t unit = 0; unit < samples.units; unit += kLanes) {
      // Samples lie anywhere in the data set: without a hint each waits for memory.
      if (unit * std::int64_t{sizeof(T)} % kCacheLine == 0)
        for (const T* row : next)
          if (row) simd::prefetch(row + unit);
      for (int s = 0; s < rows; ++s)
        simd::store(y + at.sixteen(first + s, unit), samples.sixteen(in[s], unit));
    }
  }
};

/// What the window of each row shows.
template <class T>
struct WindowRows {
  const T* data;
  const std::int64_t* sample_of_row;
  const Window* windows;  ///< [num_rows]
  Shape shape;

  void read(std::int64_t row, std::int64_t first, int count, T* to, int step) const {
    const std::int64_t sample = sample_of_row[row];
    if (sample < 0) return;
    WindowReader<T> reader(data + sample * shape.units(), shape, windows[row], first);
    for (int u = 0; u < count; ++u) to[u * step] = reader.next();
  }
};

int width_at(std::int64_t units, std::int64_t first) {
  return static_cast<int>(units - first < kLanes ? units - first : kLanes);
}

/// 16 units of a row of nc or cn16c.
template <class T>
struct FlatWindows {
  WindowRows<T> rows;
  float* y;
  ActivationIndex at;
  std::int64_t num_rows;

  std::int64_t num_items() const { return num_rows * (round_up_to_lanes(at.units) / kLanes); }

  void operator()(std::int64_t item) const {
    const std::int64_t groups = round_up_to_lanes(at.units) / kLanes;
    const std::int64_t row = item / groups;
    const std::int64_t first = item % groups * kLanes;
    T units[kLanes] = {};
    rows.read(row, first, width_at(at.units, first), units, 1);
    simd::store(y + at.sixteen(row, first), load_floats(units));
  }
};

/// 16 units of 16 rows in nchw16n.
template <class T>
struct GatherTile {
  static constexpr std::int64_t kLineUnits = kCacheLine / std::int64_t{sizeof(T)};

  SampleRows<T> samples;
  float* y;

  std::int64_t tiles_per_group() const { return round_up_to_lanes(samples.units) / kLanes; }
  std::int64_t num_items() const { return samples.num_rows / kLanes * tiles_per_group(); }

  void operator()(std::int64_t item) const {
    const std::int64_t row = item / tiles_per_group() * kLanes;
    const std::int64_t first = item % tiles_per_group() * kLanes;
    if (first % kLineUnits == 0) ask_for_next(row, first + kLineUnits);
    alignas(64) float tile[kLanes][kLanes];
    for (int l = 0; l < kLanes; ++l)
      simd::store(tile[l], samples.sixteen(samples.at(row + l), first));
    simd::transpose_tile(tile);
    float* out = y + (row / kLanes * samples.units + first) * kLanes;
    for (int u = 0; u < width_at(samples.units, first); ++u)
      simd::store(out + u * kLanes, simd::load(tile[u]));
  }

  /// The next line of these rows, or the first of the next ones.
  void ask_for_next(std::int64_t row, std::int64_t unit) const {
    const bool is_end = unit >= samples.units;
    for (int l = 0; l < kLanes; ++l) {
      const T* next = samples.at(row + l + (is_end ? kLanes : 0));
      if (next) simd::prefetch(next + (is_end ? 0 : unit));
    }
  }
};

/// The same out of windows.
template <class T>
struct WindowTile {
  WindowRows<T> rows;
  float* y;
  std::int64_t units;
  std::int64_t num_rows;

  std::int64_t tiles_per_group() const { return round_up_to_lanes(units) / kLanes; }
  std::int64_t num_items() const { return num_rows / kLanes * tiles_per_group(); }

  void operator()(std::int64_t item) const {
    const std::int64_t group = item / tiles_per_group();
    const std::int64_t first = item % tiles_per_group() * kLanes;
    const int width = width_at(units, first);
    T tile[kLanes * kLanes] = {};
    for (int l = 0; l < kLanes; ++l) rows.read(group * kLanes + l, first, width, tile + l, kLanes);
    float* out = y + (group * units + first) * kLanes;
    for (int u = 0; u < width; ++u) simd::store(out + u * kLanes, load_floats(tile + u * kLanes));
  }
};

template <class T>
void gather(const ExecSpace& exec, const std::string& label, const View<const T>& data,
            const View<const std::int64_t>& sample_of_row, const View<const Window>& windows,
            const Activation& y) {
  const auto run = [&](const auto& kernel) {
    quern::parallel_for(label, RangePolicy(exec, 0, kernel.num_items()), kernel);
  };
  const bool in_lanes = y.layout == Layout::nchw16n;
  const std::int64_t units = y.shape.units();
  const SampleRows<T> samples{data.data(), sample_of_row.data(), units, y.rows};
  const WindowRows<T> shown{data.data(), sample_of_row.data(), windows.data(), y.shape};
  if (y.layout == Layout::tiles)
    gather_tiles(exec, label, data, sample_of_row, windows, y);
  else if (windows.extent(0) == 0 && in_lanes)
    run(GatherTile<T>{samples, y.data.data()});
  else if (windows.extent(0) == 0)
    run(GatherFlat<T>{samples, y.data.data(), ActivationIndex(y)});
  else if (in_lanes)
    run(WindowTile<T>{shown, y.data.data(), units, y.rows});
  else
    run(FlatWindows<T>{shown, y.data.data(), ActivationIndex(y), y.rows});
}

}  // namespace

void gather_images(const ExecSpace& exec, const std::string& label,
                   const View<const std::uint8_t>& images,
                   const View<const std::int64_t>& sample_of_row, const View<const Window>& windows,
                   const Activation& y) {
  gather(exec, label, images, sample_of_row, windows, y);
}

void gather_values(const ExecSpace& exec, const std::string& label, const View<const float>& values,
                   const View<const std::int64_t>& sample_of_row, const View<const Window>& windows,
                   const Activation& y) {
  gather(exec, label, values, sample_of_row, windows, y);
}

}  // namespace quern::host
