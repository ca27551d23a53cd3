// SPDX-License-Identifier: Apache-2.0
#include "readers/npy_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

#include "base/float16.hpp"
#include "readers/npy_header.hpp"

namespace quern {

namespace {

constexpr std::size_t kMaxHeader = 1 << 16;
constexpr std::size_t kMaxAxes = 32;  // as in NumPy

NpyHeader read_header(const ByteStream& stream) {
  std::array<std::uint8_t, 8> start{};
  stream.read_all(start, "header");
  constexpr std::array<std::uint8_t, 6> kMagic = {0x93, 'N', 'U', 'M', 'P', 'Y'};
  if (std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0) {
    stream.fail("no .npy file: its first bytes are not \\x93NUMPY");
  }
  const int major = start[6];
  if (major < 1 || major > 3 || start[7] != 0) {
    stream.fail(
        fmt::format("version {}.{} of the .npy format, expected 1.0, 2.0 or 3.0", major, start[7]));
  }
  std::array<std::uint8_t, 4> length{};
  stream.read_all(std::span(length).first(major == 1 ? 2 : 4), "header");
  const std::size_t size = std::size_t{length[0]} | std::size_t{length[1]} << 8 |
                           std::size_t{length[2]} << 16 | std::size_t{length[3]} << 24;
  if (size > kMaxHeader) {
    stream.fail(fmt::format("a header of {} bytes, expected at most {}", size, kMaxHeader));
  }
  std::string text(size, '\0');
  stream.read_all({reinterpret_cast<std::uint8_t*>(text.data()), text.size()}, "header");
  const std::optional<NpyHeader> header = parse_npy_header(text);
  if (!header) {
    stream.fail(
        "bad header, expected a dictionary of 'descr', 'fortran_order' and 'shape' and nothing "
        "else");
  }
  return *header;
}

/// "<f4" and the like.
struct NumberFormat {
  char kind = 0;  ///< b: bool, u, i, f
  std::size_t width = 0;
  bool is_swapped = false;
};

NumberFormat parse_format(const ByteStream& stream, const std::string& descr) {
  const auto fail = [&] {
    stream.fail(
        fmt::format("an array of '{}', expected bool, integers of 1 to 8 bytes, float16, "
                    "float32 or float64",
                    descr));
  };
  if (descr.size() != 3 || std::string_view("<>|=").find(descr[0]) == std::string_view::npos) {
    fail();
  }
  NumberFormat format{descr[1], static_cast<std::size_t>(descr[2] - '0'),
                      descr[0] == (std::endian::native == std::endian::little ? '>' : '<')};
  const bool is_power =
      format.width == 1 || format.width == 2 || format.width == 4 || format.width == 8;
  const bool is_known = (format.kind == 'b' && format.width == 1) ||
                        ((format.kind == 'u' || format.kind == 'i') && is_power) ||
                        (format.kind == 'f' && is_power && format.width > 1);
  if (!is_known || (descr[0] == '|' && format.width > 1)) fail();
  return format;
}

std::uint64_t count_numbers(const ByteStream& stream, const NpyHeader& header, std::size_t width) {
  const std::string text = fmt::format("[{}]", fmt::join(header.shape, ", "));
  if (header.shape.empty()) stream.fail("a single number, expected an array [n, ...]");
  if (header.shape.size() > kMaxAxes) {
    stream.fail(fmt::format("{} axes, expected at most {}", header.shape.size(), kMaxAxes));
  }
  std::uint64_t count = 1;
  std::uint64_t bytes = width;
  bool overflow = false;
  for (const std::int64_t extent : header.shape) {
    if (extent == 0) stream.fail("empty: its shape is " + text);
    overflow = overflow ||
               __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes) ||
               __builtin_mul_overflow(count, static_cast<std::uint64_t>(extent), &count);
  }
  if (overflow || bytes > stream.longest) {
    stream.fail("truncated: its shape is " + text +
                ", which is more than a file of its size can hold");
  }
  return count;
}

template <class T>
T load(const std::uint8_t* bytes, bool is_swapped) {
  std::array<std::uint8_t, sizeof(T)> own{};
  std::memcpy(own.data(), bytes, sizeof(T));
  if (is_swapped) std::reverse(own.begin(), own.end());
  return std::bit_cast<T>(own);
}

template <class From, class To>
std::vector<To> read_as(const ByteStream& stream, std::uint64_t count, bool is_swapped) {
  return read_numbers<To>(stream, count, sizeof(From), [&](const std::uint8_t* bytes) {
    return static_cast<To>(load<From>(bytes, is_swapped));
  });
}

template <class Signed>
std::vector<std::int64_t> read_integers(const ByteStream& stream, std::uint64_t count,
                                        const NumberFormat& format) {
  if (format.kind == 'i') {
    return read_as<Signed, std::int64_t>(stream, count, format.is_swapped);
  }
  auto values =
      read_as<std::make_unsigned_t<Signed>, std::int64_t>(stream, count, format.is_swapped);
  if (std::any_of(values.begin(), values.end(), [](std::int64_t value) { return value < 0; })) {
    stream.fail("integers above 2^63 - 1");
  }
  return values;
}

/// Numbers of which `run` of a column follow one another: all of them in Fortran's order.
std::vector<float> read_doubles(const ByteStream& stream, std::uint64_t count, bool is_swapped,
                                std::uint64_t run, ColumnSums& sums) {
  std::size_t column = 0;
  std::uint64_t in_run = 0;
  return read_numbers<float>(stream, count, sizeof(double), [&](const std::uint8_t* bytes) {
    const auto value = load<double>(bytes, is_swapped);
    if (!sums.empty()) {
      sums[column].add(value);
      if (++in_run == run) {
        in_run = 0;
        column = (column + 1) % sums.size();
      }
    }
    return static_cast<float>(value);
  });
}

/// `run`: as above.
void read_values(const ByteStream& stream, std::uint64_t count, const NumberFormat& format,
                 std::uint64_t run, Array& array) {
  const bool is_swapped = format.is_swapped;
  array.type = NumberType::integer;
  if (format.kind == 'u' && format.width == 1) {
    array.type = NumberType::uint8;
    array.values = stream.read_bytes(count, "values");
  } else if (format.kind == 'f') {
    array.type = format.width == 2 ? NumberType::float16 : NumberType::floating;
    if (format.width == 8) {
      array.sums = sums_for(array.shape);
      array.values = read_doubles(stream, count, is_swapped, run, array.sums);
    } else if (format.width == 4) {
      array.values = read_as<float, float>(stream, count, is_swapped);
    } else {
      array.values = read_numbers<float>(stream, count, 2, [&](const std::uint8_t* bytes) {
        return float_of_half(load<std::uint16_t>(bytes, is_swapped));
      });
    }
  } else if (format.kind == 'b') {
    array.values = read_as<std::uint8_t, std::int64_t>(stream, count, false);
  } else if (format.width == 1) {
    array.values = read_integers<std::int8_t>(stream, count, format);
  } else if (format.width == 2) {
    array.values = read_integers<std::int16_t>(stream, count, format);
  } else if (format.width == 4) {
    array.values = read_integers<std::int32_t>(stream, count, format);
  } else {
    array.values = read_integers<std::int64_t>(stream, count, format);
  }
}

/// From Fortran's order, where the first axis runs fastest, to C's.
template <class T>
std::vector<T> to_c_order(const std::vector<T>& values, const std::vector<std::int64_t>& shape) {
  std::vector<T> result(values.size());
  std::vector<std::int64_t> index(shape.size(), 0);
  std::vector<std::int64_t> step(shape.size(), 1);
  for (std::size_t axis = 1; axis < shape.size(); ++axis)
    step[axis] = step[axis - 1] * shape[axis - 1];
  std::int64_t from = 0;
  for (T& value : result) {
    value = values[static_cast<std::size_t>(from)];
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      from += step[axis];
      if (++index[axis] < shape[axis]) break;
      from -= step[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return result;
}

/// In Fortran's order the numbers of a sample are apart: of so many columns of `total` numbers, one
/// for each sample, these samples' ones. Skips the others of `stream`, to the end of the last
/// column.
ByteStream part_of_columns(const ByteStream& stream, std::uint64_t total, const SampleRange& range,
                           std::size_t width) {
  const std::uint64_t before = static_cast<std::uint64_t>(range.first) * width;
  const std::uint64_t own = static_cast<std::uint64_t>(range.count) * width;
  const std::uint64_t after = total * width - before - own;
  ByteStream part{stream.name, stream.longest, {}};
  part.read = [&stream, before, own, after, left = own](std::span<std::uint8_t> bytes) mutable {
    for (std::size_t done = 0; done < bytes.size();) {
      if (left == own) stream.skip_all(before, "values");
      const std::size_t here = std::min<std::uint64_t>(bytes.size() - done, left);
      stream.read_all(bytes.subspan(done, here), "values");
      done += here;
      left -= here;
      if (left > 0) continue;
      stream.skip_all(after, "values");
      left = own;
    }
    return bytes.size();
  };
  return part;
}

}  // namespace

Array read_npy(const ByteStream& stream, const ChooseRange& choose) {
  const NpyHeader header = read_header(stream);
  const NumberFormat format = parse_format(stream, header.descr);
  const std::uint64_t count = count_numbers(stream, header, format.width);
  Array array;
  array.name = stream.name;
  array.shape = header.shape;
  const SampleRange range = chosen(choose, header.shape[0]);
  array.shape[0] = range.count;
  const auto total = static_cast<std::uint64_t>(header.shape[0]);
  const std::uint64_t numbers = count / total;
  const std::uint64_t own = numbers * static_cast<std::uint64_t>(range.count);
  if (header.is_fortran_order && header.shape.size() > 1) {
    const auto run = static_cast<std::uint64_t>(range.count);
    read_values(part_of_columns(stream, total, range, format.width), own, format, run, array);
    if (own == 0) stream.skip_all(count * format.width, "values");
    std::visit([&](auto& values) { values = to_c_order(values, array.shape); }, array.values);
    if (!array.sums.empty())
      array.sums = to_c_order(array.sums, {array.shape.begin() + 1, array.shape.end()});
  } else {
    const auto first = static_cast<std::uint64_t>(range.first);
    stream.skip_all(first * numbers * format.width, "values");
    read_values(stream, own, format, 1, array);
    stream.skip_all((count - first * numbers - own) * format.width, "values");
  }
  stream.expect_end();
  return array;
}

}  // namespace quern
