// SPDX-License-Identifier: Apache-2.0
#include "readers/npz_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "readers/npy_reader.hpp"
#include "readers/zip_reader.hpp"

namespace quern {

namespace {

/// "x" of "x.npy"; "" of a member that is no array.
std::string array_name(const ZipMember& member) {
  const std::string_view name = member.name;
  return std::string(name.ends_with(".npy") ? name.substr(0, name.size() - 4) : "");
}

}  // namespace

Array read_npz(const std::filesystem::path& path, const std::string& name,
               const ChooseRange& choose) {
  const std::vector<ZipMember> members = list_zip(path);
  std::vector<std::string> names;
  const ZipMember* wanted = nullptr;
  for (const ZipMember& member : members) {
    const std::string own = array_name(member);
    if (own.empty()) continue;
    names.push_back(own);
    if (name.empty() || own == name) wanted = &member;
  }
  if (names.empty()) {
    const bool is_torch = std::any_of(members.begin(), members.end(), [](const ZipMember& member) {
      return member.name.ends_with("data.pkl");
    });
    throw InputError(fmt::format(
        "'{}' {}, expected arrays of NumPy ({})", path.string(),
        is_torch ? "is a file of torch.save" : "is a ZIP file without arrays",
        is_torch ? "numpy.save(FILE, tensor.numpy()) writes one" : "numpy.savez writes them"));
  }
  if (!wanted || (name.empty() && names.size() > 1)) {
    throw InputError(
        fmt::format("'{0}': {1}, expected {0}:NAME with one of its arrays ({2})", path.string(),
                    wanted ? fmt::format("{} arrays", names.size())
                           : (name.empty() ? "no arrays" : fmt::format("no array '{}'", name)),
                    printable(fmt::format("{}", fmt::join(names, ", ")))));
  }
  Array array;
  read_zip_member(path, *wanted,
                  fmt::format("'{}:{}'", path.string(), printable(array_name(*wanted))),
                  [&](const ByteStream& stream) { array = read_npy(stream, choose); });
  return array;
}

}  // namespace quern
