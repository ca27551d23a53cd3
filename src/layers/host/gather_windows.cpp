// SPDX-License-Identifier: Apache-2.0
#include "layers/host/gather_windows.hpp"

#include "layers/host/pixels.hpp"
#include "tensor/parallel_for.hpp"

namespace quern::host {

namespace {

template <class T>
struct WindowRows {
  const T* data;                      ///< [N, units]
  const std::int64_t* sample_of_row;  ///< [num_rows]
  const Window* windows;              ///< [num_rows]
  Shape shape;

  /// Overwrites to[0], to[step], ... with `count` units of a row from `first` on; leaves them as
  /// they are where the row is empty.
  void read(std::int64_t row, std::int64_t first, int count, T* to, int step) const {
    const std::int64_t sample = sample_of_row[row];
    if (sample < 0) return;
    WindowReader<T> reader(data + sample * shape.units(), shape, windows[row], first);
    for (int u = 0; u < count; ++u) to[u * step] = reader.next();
  }
};

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

  static int width_at(std::int64_t units, std::int64_t first) {
    return static_cast<int>(units - first < kLanes ? units - first : kLanes);
  }
};

/// 16 units of 16 rows in nchw16n.
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
    const int width = FlatWindows<T>::width_at(units, first);
    T tile[kLanes * kLanes] = {};
    for (int l = 0; l < kLanes; ++l) rows.read(group * kLanes + l, first, width, tile + l, kLanes);
    float* out = y + (group * units + first) * kLanes;
    for (int u = 0; u < width; ++u) simd::store(out + u * kLanes, load_floats(tile + u * kLanes));
  }
};

template <class T>
void launch(const ExecSpace& exec, const std::string& label, const View<const T>& data,
            const View<const std::int64_t>& sample_of_row, const View<const Window>& windows,
            const Activation& y) {
  const WindowRows<T> rows{data.data(), sample_of_row.data(), windows.data(), y.shape};
  const auto run = [&](const auto& kernel) {
    quern::parallel_for(label, RangePolicy(exec, 0, kernel.num_items()), kernel);
  };
  if (y.layout == Layout::nchw16n) {
    run(WindowTile<T>{rows, y.data.data(), y.shape.units(), y.rows});
  } else {
    run(FlatWindows<T>{rows, y.data.data(), ActivationIndex(y), y.rows});
  }
}

}  // namespace

void gather_windows(const ExecSpace& exec, const std::string& label,
                    const View<const std::uint8_t>& data,
                    const View<const std::int64_t>& sample_of_row,
                    const View<const Window>& windows, const Activation& y) {
  launch(exec, label, data, sample_of_row, windows, y);
}

void gather_windows(const ExecSpace& exec, const std::string& label, const View<const float>& data,
                    const View<const std::int64_t>& sample_of_row,
                    const View<const Window>& windows, const Activation& y) {
  launch(exec, label, data, sample_of_row, windows, y);
}

}  // namespace quern::host
