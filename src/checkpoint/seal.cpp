// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/seal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>

#include "base/error.hpp"
#include "base/sha256.hpp"
#include "base/system_failure.hpp"

namespace quern {

namespace fs = std::filesystem;

namespace {

// The file ends in: JSON text, its SHA-256 (64), its length (16 decimal digits), the magic (16).
constexpr std::string_view kMagic = "quern-seal-0001\n";
constexpr std::int64_t kDigestBytes = 64;
constexpr std::int64_t kLengthBytes = 16;
constexpr std::int64_t kFooterBytes = kDigestBytes + kLengthBytes + std::ssize(kMagic);

struct Seal {
  std::int64_t file_bytes = 0;  ///< before the seal
  std::vector<TensorPlace> tensors;
  std::string sha256;  ///< of the bytes before the seal outside the tensors
};

/// Hands the bytes [begin, end) to `take` in pieces.
template <class Take>
void read_bytes(std::ifstream& file, std::int64_t begin, std::int64_t end, const Take& take) {
  std::array<char, 1 << 16> buffer;
  file.seekg(begin);
  while (begin < end) {
    const std::int64_t count = std::min<std::int64_t>(std::ssize(buffer), end - begin);
    errno = 0;
    if (!file.read(buffer.data(), count)) {
      throw_system_failure(errno, "it cannot be read");
      throw Error("it cannot be read to its end");
    }
    take(std::string_view(buffer.data(), static_cast<std::size_t>(count)));
    begin += count;
  }
}

std::string read_text(std::ifstream& file, std::int64_t begin, std::int64_t end) {
  std::string text;
  read_bytes(file, begin, end, [&](std::string_view piece) { text += piece; });
  return text;
}

/// `tensors` in order of their offsets.
std::string sha256_outside(std::ifstream& file, const std::vector<TensorPlace>& tensors,
                           std::int64_t file_bytes) {
  Sha256 hash;
  std::int64_t position = 0;
  const auto hash_up_to = [&](std::int64_t end) {
    read_bytes(file, position, end,
               [&](std::string_view piece) { hash.update(std::as_bytes(std::span(piece))); });
  };
  for (const TensorPlace& tensor : tensors) {
    if (tensor.offset < position || tensor.bytes < 0 || tensor.offset > file_bytes ||
        tensor.bytes > file_bytes - tensor.offset) {
      throw Error("its seal lists a tensor that overlaps another or lies outside the file");
    }
    hash_up_to(tensor.offset);
    position = tensor.offset + tensor.bytes;
  }
  hash_up_to(file_bytes);
  return hash.hex_digest();
}

std::string seal_json(const Seal& seal) {
  nlohmann::json tensors = nlohmann::json::array();
  for (const TensorPlace& tensor : seal.tensors) tensors.push_back({tensor.offset, tensor.bytes});
  return nlohmann::json{
      {"file_bytes", seal.file_bytes}, {"sha256", seal.sha256}, {"tensors", tensors}}
      .dump();
}

std::int64_t whole_number(const nlohmann::json& number) {
  if (!number.is_number_integer()) throw Error("its seal is malformed: expected a whole number");
  return number.get<std::int64_t>();
}

Seal parse_seal(const std::string& text) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    Seal seal{whole_number(json.at("file_bytes")), {}, json.at("sha256").get<std::string>()};
    for (const nlohmann::json& tensor : json.at("tensors")) {
      seal.tensors.push_back({whole_number(tensor.at(0)), whole_number(tensor.at(1))});
    }
    return seal;
  } catch (const nlohmann::json::exception& problem) {
    throw Error(fmt::format("its seal is malformed: {}", problem.what()));
  }
}

Seal read_seal(std::ifstream& file, std::int64_t size) {
  const std::string footer = read_text(file, size - kFooterBytes, size);
  std::int64_t length = -1;
  const char* digits = footer.data() + kDigestBytes;
  const auto [end, error] = std::from_chars(digits, digits + kLengthBytes, length);
  const std::int64_t json_end = size - kFooterBytes;
  if (error != std::errc() || end != digits + kLengthBytes || length < 0 || length > json_end) {
    throw Error("its seal is damaged: the length of the seal is impossible");
  }
  const std::string json = read_text(file, json_end - length, json_end);
  if (sha256(json) != footer.substr(0, kDigestBytes)) {
    throw Error("its seal is damaged: the seal's own SHA-256 does not match");
  }
  Seal seal = parse_seal(json);
  if (seal.file_bytes != json_end - length) {
    throw Error(fmt::format("its size is wrong: expected {} bytes before the seal, found {}",
                            seal.file_bytes, json_end - length));
  }
  return seal;
}

std::ifstream open_file(const fs::path& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int reason = errno;
    throw_system_failure(reason, "it cannot be read");
    throw Error(fmt::format("it cannot be read: {}", std::generic_category().message(reason)));
  }
  return file;
}

}  // namespace

void append_seal(const fs::path& path, std::vector<TensorPlace> tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const TensorPlace& a, const TensorPlace& b) { return a.offset < b.offset; });
  Seal seal{static_cast<std::int64_t>(fs::file_size(path)), std::move(tensors), ""};
  {
    std::ifstream file = open_file(path);
    seal.sha256 = sha256_outside(file, seal.tensors, seal.file_bytes);
  }
  const std::string json = seal_json(seal);
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file << json << sha256(json) << fmt::format("{:0{}}", json.size(), kLengthBytes) << kMagic;
  file.close();
  if (!file) {
    throw Error(
        fmt::format("the seal cannot be written: {}", std::generic_category().message(errno)));
  }
}

bool has_seal(const fs::path& path) {
  const auto size = static_cast<std::int64_t>(fs::file_size(path));
  if (size < kFooterBytes) return false;
  std::ifstream file = open_file(path);
  return read_text(file, size - std::ssize(kMagic), size) == kMagic;
}

void check_seal(const fs::path& path) {
  if (!has_seal(path)) {
    throw Error(
        "it has no seal at its end: it is no checkpoint, was cut off, or was rewritten by another "
        "program");
  }
  std::ifstream file = open_file(path);
  const Seal seal = read_seal(file, static_cast<std::int64_t>(fs::file_size(path)));
  const std::string found = sha256_outside(file, seal.tensors, seal.file_bytes);
  if (found != seal.sha256) {
    throw Error(
        fmt::format("its structure (everything but the tensors) is damaged: expected "
                    "SHA-256 {}, found {}",
                    seal.sha256, found));
  }
}

}  // namespace quern
