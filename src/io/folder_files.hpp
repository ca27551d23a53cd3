// SPDX-License-Identifier: Apache-2.0
// What lies in a folder, and what interrupted programs have left there.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace quern {

/// What lies at `path`, or that there is nothing. A link counts as what it leads to. InputError
/// where the system does not let the user know (a folder above is forbidden), SystemFailure where a
/// disk or a file server fails.
std::filesystem::file_status status_of(const std::filesystem::path& path);

/// The regular files of a folder, and links to such, in any order; an absent one has none. What
/// cannot be looked at, and a link that leads nowhere, are among them: a file that is overlooked
/// would count as lost. InputError when it cannot
/// be listed, SystemFailure where a disk or a file server fails.
std::vector<std::filesystem::path> regular_files(const std::filesystem::path& folder);

/// Removes the temporary files (PendingFile) that dead processes of this machine left, and those of
/// other machines that nobody has written to for an hour, if `is_ours` accepts the name that the
/// file was to get; returns them in order. Those of living processes stay, except for this
/// process's own number: whoever had it is dead.
std::vector<std::filesystem::path> remove_stale_files(
    const std::filesystem::path& folder,
    const std::function<bool(const std::string& name)>& is_ours);

/// Removes what was to become this file, of processes of this machine that are dead, if nobody has
/// written to it for an hour. For files that no lock protects: in a container a process cannot see
/// all others of its machine.
void remove_abandoned(const std::filesystem::path& path);

}  // namespace quern
