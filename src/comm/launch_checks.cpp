// SPDX-License-Identifier: Apache-2.0
#include "comm/launch_checks.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <vector>

#include "base/count_text.hpp"
#include "base/error.hpp"
#include "base/sha256.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "comm/session.hpp"

namespace quern {

namespace {

std::string launch_hint(const Launch& launch) {
  if (launch.size_variable == kTorchrunSize)
    return "torchrun does not start ranks of MPI: start with mpirun or srun";
  if (!built_with_mpi()) {
    return "this quern was built without MPI (QUERN_ENABLE_MPI=OFF): start one process, or build it"
           " with MPI";
  }
  if (launch.size_variable == "SLURM_STEP_NUM_TASKS") {
    return "start with 'srun --mpi=pmix' and check that 'srun --mpi=list' names pmix and that the "
           "MPI library was built with PMIx, or start with mpirun inside the job";
  }
  return "the launcher belongs to another MPI library than the one quern was built with: check "
         "'which mpirun', the loaded modules and 'quern info'";
}

std::string describe_difference(Communicator& comm, const std::vector<std::string>& hashes) {
  std::map<std::string, int> frequency;
  for (const std::string& hash : hashes) ++frequency[hash];
  std::string usual = hashes[0];
  for (const auto& [hash, times] : frequency) {
    if (times > frequency[usual]) usual = hash;
  }
  constexpr int kMaxNamed = 8;
  std::string named;
  int num_different = 0;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const std::string& hash = hashes[static_cast<std::size_t>(rank)];
    if (hash == usual || ++num_different > kMaxNamed) continue;
    named += (named.empty() ? "rank " : ", rank ") + std::to_string(rank) + " on " +
             comm.host(rank) + " has " + hash.substr(0, 12);
  }
  if (num_different > kMaxNamed) {
    named += " and " + std::to_string(num_different - kMaxNamed) + " more differ";
  }
  return "the program (quern's executable) is not the same on all ranks: " + named + " (" +
         count_text(frequency[usual], "rank") + ", the first on " +
         comm.host(
             static_cast<int>(std::find(hashes.begin(), hashes.end(), usual) - hashes.begin())) +
         ", have " + usual.substr(0, 12) + ")";
}

// The first word of `words` that is another one in `usual`, and that one.
std::string first_difference(const std::vector<std::string>& words,
                             const std::vector<std::string>& usual) {
  const auto text = [](const std::vector<std::string>& of, std::size_t place) {
    return place < of.size() ? "'" + of[place] + "'" : std::string("nothing");
  };
  std::size_t place = 0;
  while (place < words.size() && place < usual.size() && words[place] == usual[place]) ++place;
  return text(words, place) + " where rank 0 has " + text(usual, place);
}

}  // namespace

void check_launch(const Launch& launch, int num_ranks) {
  if (!launch.size || *launch.size == num_ranks) return;
  throw InputError(count_text(*launch.size, "process") + " started (" + launch.size_variable +
                   "), but only " + count_text(num_ranks, "rank") +
                   " found each other: each group would train on its own and overwrite the others' "
                   "files; " +
                   launch_hint(launch));
}

std::string launch_warning(const Launch& launch, int num_ranks) {
  if (num_ranks != 1 || launch.job_tasks.value_or(1) <= 1) return "";
  return "one process in a Slurm job of " + count_text(*launch.job_tasks, "task") +
         " (SLURM_NTASKS): start with srun to use them all";
}

void check_same_program(Communicator& comm, const std::string& hash) {
  const std::vector<std::string> hashes = all_gather_strings(comm, hash);
  for (const std::string& other : hashes) {
    if (other != hashes[0]) {
      throw AgreedError(comm, describe_difference(comm, hashes), ExitCode::bad_input);
    }
  }
}

void check_same_program(Communicator& comm) {
  if (comm.size() == 1) return;
  const std::string hash = agree(comm, [] { return sha256_of_file("/proc/self/exe"); });
  check_same_program(comm, hash);
}

void check_same_command(Communicator& comm, const std::vector<std::string>& words) {
  if (comm.size() == 1) return;
  const std::vector<std::string> usual = broadcast_strings(comm, words);
  const std::vector<std::string> differences =
      all_gather_strings(comm, words == usual ? "" : first_difference(words, usual));
  const auto first = std::ranges::find_if(differences, [](const auto& d) { return !d.empty(); });
  if (first == differences.end()) return;
  const auto others = static_cast<int>(std::count_if(
      first + 1, differences.end(), [](const auto& difference) { return !difference.empty(); }));
  const int rank = static_cast<int>(first - differences.begin());
  throw AgreedError(
      comm,
      "the command line is not the same on all ranks: rank " + std::to_string(rank) + " on " +
          comm.host(rank) + " has " + *first +
          (others > 0 ? ", and so do others (" + count_text(others, "rank") + ")" : "") +
          " (the ranks of a start do one thing together: start one job, or job step, "
          "for each run)",
      ExitCode::bad_input);
}

std::vector<std::string> words_of_this_process() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  std::string word;
  std::getline(file, word, '\0');  // the program's name
  while (std::getline(file, word, '\0')) words.push_back(word);
  return words;
}

}  // namespace quern
