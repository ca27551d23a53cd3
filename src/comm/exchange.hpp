// SPDX-License-Identifier: Apache-2.0
// Small exchanges outside the training step: values, strings, tables. Collective.
#pragma once

#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "comm/communicator.hpp"

namespace quern {

/// The value of `root`.
template <class T>
T broadcast_value(Communicator& comm, T value, int root = 0) {
  static_assert(std::is_trivially_copyable_v<T>);
  comm.broadcast(std::as_writable_bytes(std::span(&value, 1)), root);
  return value;
}

/// Is it so on all ranks?
inline bool is_so_everywhere(Communicator& comm, bool is_so) {
  std::int64_t exceptions = is_so ? 0 : 1;
  comm.all_reduce_max(std::span(&exceptions, 1));
  return exceptions == 0;
}

/// The text of `root`; the other ranks' texts are ignored.
std::string broadcast_string(Communicator& comm, std::string text, int root = 0);

/// Those of rank 0; the other ranks' texts are ignored. They may hold anything.
std::vector<std::string> broadcast_strings(Communicator& comm,
                                           const std::vector<std::string>& texts);

/// The texts of all ranks, in rank order, on all ranks.
std::vector<std::string> all_gather_strings(Communicator& comm, const std::string& text);

/// The texts of all ranks, in rank order, on rank 0; nothing on the others.
std::vector<std::string> gather_strings(Communicator& comm, const std::string& text);

/// The values of all ranks, in rank order, on all ranks.
template <class T>
std::vector<T> all_gather_value(Communicator& comm, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> all(static_cast<std::size_t>(comm.size()));
  const std::vector<std::int64_t> counts(all.size(), std::int64_t{sizeof(T)});
  comm.all_gather_v(std::as_bytes(std::span(&value, 1)), std::as_writable_bytes(std::span(all)),
                    counts);
  return all;
}

}  // namespace quern
