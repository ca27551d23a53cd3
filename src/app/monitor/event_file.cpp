// SPDX-License-Identifier: Apache-2.0
#include "app/monitor/event_file.hpp"

#include <array>

#include "exchange/protobuf_message.hpp"

namespace quern {

namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // reflected
constexpr std::uint32_t kMaskDelta = 0xa282ead8;

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) ? kPolynomial : 0);
    table[i] = value;
  }
  return table;
}

// Byte by byte: the format is little-endian on any machine.
template <class T>
std::string little_endian(T value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xff);
  return bytes;
}

std::uint32_t masked(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + kMaskDelta;
}

// Field numbers of Event and Summary.
constexpr int kWallTime = 1;
constexpr int kStep = 2;
constexpr int kFileVersion = 3;
constexpr int kSummary = 5;
constexpr int kValue = 1;
constexpr int kTag = 1;
constexpr int kSimpleValue = 2;

std::vector<std::pair<std::string, float>> scalars_of(const MetricsLine& line) {
  std::vector<std::pair<std::string, float>> scalars;
  const auto add = [&](const std::string& name, const std::optional<double>& value) {
    if (value) scalars.emplace_back(name, static_cast<float>(*value));
  };
  const std::string of = line.kind == "step" ? "batch" : line.kind == "eval" ? "test" : "training";
  add("loss/" + of, line.loss);
  add("accuracy/" + of, line.accuracy);
  add("rmse/" + of, line.rmse);
  add("r2/" + of, line.r2);
  if (line.kind == "eval") return scalars;
  if (line.kind == "step") {
    add("learning_rate", line.learning_rate);
    add("samples_per_s", line.samples_per_s);
  }
  for (const auto& [phase, seconds] : line.rank_summaries)
    if (phase != kWork) add("seconds_of_an_epoch/" + phase, seconds.mean);
  return scalars;
}

}  // namespace

std::uint32_t crc32c(std::string_view content) {
  static constexpr std::array<std::uint32_t, 256> kTable = make_table();
  std::uint32_t crc = 0xffffffff;
  for (const char byte : content)
    crc = kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff] ^ (crc >> 8);
  return crc ^ 0xffffffff;
}

std::string tf_record(std::string_view content) {
  const std::string length = little_endian(std::uint64_t{content.size()});
  return length + little_endian(masked(crc32c(length))) + std::string(content) +
         little_endian(masked(crc32c(content)));
}

std::string scalar_event(double wall_time, std::int64_t step,
                         const std::vector<std::pair<std::string, float>>& scalars) {
  ProtobufMessage summary;
  for (const auto& [name, value] : scalars) {
    ProtobufMessage scalar;
    scalar.add_bytes(kTag, name);
    scalar.add_float(kSimpleValue, value);
    summary.add_message(kValue, scalar);
  }
  ProtobufMessage event;
  event.add_double(kWallTime, wall_time);
  event.add_int(kStep, step);
  event.add_message(kSummary, summary);
  return tf_record(event.bytes());
}

std::string event_file(const RunLog& run) {
  const double begin = run.metrics.empty() ? 0 : wall_time(run, run.metrics.front());
  ProtobufMessage version;
  version.add_double(kWallTime, begin);
  version.add_bytes(kFileVersion, "brain.Event:2");
  std::string file = tf_record(version.bytes());
  for (const MetricsLine& line : run.metrics) {
    const auto scalars = scalars_of(line);
    if (!scalars.empty()) file += scalar_event(wall_time(run, line), line.step, scalars);
  }
  return file;
}

}  // namespace quern
