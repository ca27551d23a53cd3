// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/count_text.hpp"
#include "runtime/cpu_mask.hpp"

namespace quern {

namespace {

constexpr double kClockToleranceS = 2;

using Nodes = std::map<std::string, std::vector<const RankInfo*>>;

// "0.307", "12.5", "1000", of bytes/s: no power of ten.
std::string gb_text(double bytes_per_s) {
  const double value = bytes_per_s / 1e9;
  return value < 999.5 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
}

bool has_no_recipe(const RankInfo& rank) {
  return rank.recipe_hash.starts_with(kNoRecipe);
}

class Judge {
 public:
  explicit Judge(const Preflight& info) : info_(info) {
    for (const RankInfo& rank : info.ranks) nodes_[rank.host].push_back(&rank);
  }

  std::vector<Finding> run() {
    count_ranks();
    spread_over_nodes();
    grid();
    devices();
    processors();
    versions();
    recipes();
    data();
    memory();
    network();
    clocks();
    files();
    std::stable_sort(findings_.begin(), findings_.end(),
                     [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
    return findings_;
  }

 private:
  void add(Severity severity, const char* check, std::string text, std::string fix) {
    findings_.push_back({severity, check, std::move(text), std::move(fix), {}});
  }
  void error(const char* check, std::string text, std::string fix) {
    add(Severity::error, check, std::move(text), std::move(fix));
  }
  void warn(const char* check, std::string text, std::string fix) {
    add(Severity::warning, check, std::move(text), std::move(fix));
  }

  template <class Condition>
  std::vector<std::string> hosts_where(const Condition& condition) const {
    std::set<std::string> hosts;
    for (const RankInfo& rank : info_.ranks) {
      if (condition(rank)) hosts.insert(rank.host);
    }
    return {hosts.begin(), hosts.end()};
  }

  // One finding for all nodes that have such a problem.
  void problem_of_nodes(const char* check, std::string RankInfo::*problem, const char* fix) {
    const auto has_one = [&](const RankInfo& rank) { return !(rank.*problem).empty(); };
    const auto first = std::find_if(info_.ranks.begin(), info_.ranks.end(), has_one);
    if (first == info_.ranks.end()) return;
    auto hosts = hosts_where(has_one);
    std::string text = first->host + ": " + (*first).*problem;
    if (hosts.size() > 1)
      text += fmt::format(" (and {})", count_text(std::ssize(hosts) - 1, "more node"));
    error(check, std::move(text), fix);
    findings_.back().hosts = std::move(hosts);
  }

  void count_ranks() {
    const auto ranks = static_cast<int>(info_.ranks.size());
    const JobInfo& job = info_.job;
    const char* one_launch =
        "start all ranks with one srun: srun --mpi=pmix -n <ranks>; srun --mpi=list names what "
        "this Slurm knows, quern info the MPI library that quern was built with";
    if (job.expected_ranks) {
      if (ranks == *job.expected_ranks) return;
      error("ranks",
            fmt::format("{} found each other, {} were expected (--ranks)",
                        count_text(ranks, "rank"), *job.expected_ranks),
            one_launch);
    } else if (ranks == 1 && job.job_ranks.value_or(1) > 1) {
      error("ranks",
            fmt::format("one rank alone in a Slurm job of {} tasks: several such launches would "
                        "each train on their own and overwrite each other's files",
                        *job.job_ranks),
            std::string(one_launch) + "; or --ranks 1 if one rank is meant");
    } else if (job.job_ranks && ranks != *job.job_ranks) {
      warn("ranks", fmt::format("{} ranks in a Slurm job of {} tasks", ranks, *job.job_ranks),
           "srun without -n takes all tasks; --ranks says how many are meant");
    }
  }

  void spread_over_nodes() {
    std::size_t fewest = info_.ranks.size();
    std::size_t most = 0;
    for (const auto& [host, ranks] : nodes_) {
      fewest = std::min(fewest, ranks.size());
      most = std::max(most, ranks.size());
    }
    if (fewest == most) return;
    warn("nodes",
         fmt::format("{} to {} ranks a node: the fullest node sets the pace", fewest, most),
         "--nodes=<N> --ntasks-per-node=<R> instead of --ntasks");
  }

  void grid() {
    if (!info_.grid) return;
    if (!info_.grid->problem.empty()) {
      error(
          "grid", info_.grid->problem,
          "--nodes and --ntasks-per-node, or parallel.pipeline and parallel.tensor of the recipe");
      return;
    }
    // Neighbours in rank share layers (grid_place).
    const auto shared = static_cast<std::size_t>(info_.grid->shape.tensor);
    for (std::size_t first = 0; first < info_.ranks.size(); first += shared) {
      const RankInfo& begin = info_.ranks[first];
      const RankInfo& end = info_.ranks[first + shared - 1];
      if (begin.host == end.host) continue;
      error(
          "grid",
          fmt::format("ranks {} to {} share every layer (parallel.tensor = {}), but lie on {} and "
                      "{}: they exchange in each layer, which takes one node",
                      begin.rank, end.rank, shared, begin.host, end.host),
          fmt::format("--ntasks-per-node=<a multiple of {}>, or a smaller parallel.tensor",
                      shared));
      return;
    }
  }

  void devices() {
    std::map<std::string, std::vector<int>> users;
    for (const RankInfo& rank : info_.ranks) {
      if (!rank.device_id.empty()) users[rank.device_id].push_back(rank.rank);
    }
    for (const auto& [device, ranks] : users) {
      if (ranks.size() < 2) continue;
      const RankInfo& first = info_.ranks[static_cast<std::size_t>(ranks.front())];
      const std::string text = fmt::format("ranks {} share the device {} on {}",
                                           fmt::join(ranks, ", "), device, first.host);
      const char* fix =
          "--gpus-per-node=<ranks per node> --gpu-bind=none, or fewer --ntasks-per-node";
      if (info_.job.may_share_devices) {
        warn("devices", text + ", as QUERN_SHARE_GPU=1 allows: gradients travel by MPI", fix);
      } else {
        error("devices", text, fix);
      }
    }
    if (!users.empty() && users.size() < info_.ranks.size()) without_device();
    hidden_peers();
    if (users.empty() && !info_.ranks[0].visible_devices.empty()) {
      warn("devices",
           "devices are allocated, but this quern runs its kernels on processors (" +
               info_.ranks[0].device + ")",
           "take a partition without GPUs, or build quern for them");
    }
  }

  void without_device() {
    for (const RankInfo& rank : info_.ranks) {
      if (!rank.device_id.empty()) continue;
      error("devices", fmt::format("rank {} on {} has no device", rank.rank, rank.host),
            "--gpus-per-node=<ranks per node>");
      findings_.back().hosts =
          hosts_where([](const RankInfo& other) { return other.device_id.empty(); });
      return;
    }
  }

  // Each rank sees one device of its own: copies between devices of a node then fail or are slow.
  void hidden_peers() {
    for (const auto& [host, ranks] : nodes_) {
      if (ranks.size() < 2) continue;
      std::set<std::string> seen;
      for (const RankInfo* rank : ranks) seen.insert(rank->visible_devices);
      const bool single = ranks[0]->visible_devices.find(',') == std::string::npos;
      if (!single || seen.size() < ranks.size()) continue;
      warn("devices", "each rank on " + host + " sees one device only: its peers' are hidden",
           "--gpus-per-node=<ranks per node> --gpu-bind=none instead of --gpus-per-task");
      return;
    }
  }

  // One finding for all nodes: a mistake in a launch is the same on each of them.
  void processors() {
    const std::size_t before = findings_.size();
    int others = 0;
    for (const auto& [host, ranks] : nodes_) {
      const std::size_t here = findings_.size();
      processors_of(host, ranks);
      if (findings_.size() == here || here == before) continue;
      findings_.pop_back();
      ++others;
    }
    if (others > 0)
      findings_.back().text += fmt::format(" (and on {})", count_text(others, "more node"));
  }

  void processors_of(const std::string& host, const std::vector<const RankInfo*>& ranks) {
    const char* fix =
        "--cpus-per-task=<threads>, and srun -c $SLURM_CPUS_PER_TASK (srun does not take it from "
        "sbatch by itself), or a smaller OMP_NUM_THREADS";
    std::map<std::vector<int>, int> threads_of_mask;
    std::set<int> all;
    int threads = 0;
    for (const RankInfo* rank : ranks) {
      threads_of_mask[rank->cpus] += rank->threads;
      all.insert(rank->cpus.begin(), rank->cpus.end());
      threads += rank->threads;
    }
    for (const auto& [cpus, wanted] : threads_of_mask) {
      const auto count = static_cast<int>(cpus.size());
      if (count == 0 || wanted <= count || count >= ranks[0]->machine_cpus) continue;
      error("processors",
            fmt::format("{} on {} share {} ({})", count_text(wanted, "thread"), host,
                        count_text(count, "processor"), cpu_list_text(cpus)),
            fix);
      return;
    }
    const auto count = static_cast<int>(all.size());
    if (count == 0 || threads <= count) return;
    const std::string text =
        fmt::format("{} of {} on {} for {}", count_text(threads, "thread"),
                    count_text(std::ssize(ranks), "rank"), host, count_text(count, "processor"));
    // Where Slurm itself claims more processors than there are, that is deliberate.
    const bool refuse = info_.job.under_slurm && !info_.job.cpus_overcommitted;
    add(refuse ? Severity::error : Severity::warning, "processors", text, fix);
  }

  // One executable everywhere may still load other libraries on another node.
  void versions() {
    const RankInfo& first = info_.ranks[0];
    const auto libraries = [](const RankInfo& rank) {
      return (rank.mpi.empty() ? "" : rank.mpi + " and ") + "HDF5 " + rank.hdf5;
    };
    for (const RankInfo& rank : info_.ranks) {
      if (rank.mpi == first.mpi && rank.hdf5 == first.hdf5) continue;
      error("versions",
            fmt::format("{} runs with {}, {} with {}", first.host, libraries(first), rank.host,
                        libraries(rank)),
            "the same modules, and the same LD_LIBRARY_PATH, on all nodes");
      return;
    }
  }

  void recipes() {
    if (!info_.recipe_problem.empty())
      error("recipe", info_.recipe_problem, "the recipe, or the number of ranks");
    for (const std::string& warning : info_.recipe_warnings)
      warn("recipe", warning, "the recipe, or the number of ranks");
    const RankInfo* first = nullptr;
    for (const RankInfo& rank : info_.ranks) {
      if (rank.recipe_hash.empty()) continue;
      if (!first) first = &rank;
      if (rank.recipe_hash == first->recipe_hash) continue;
      error("recipe",
            fmt::format("{} reads {}, {} reads {}", first->host, first->recipe_hash.substr(0, 12),
                        rank.host, rank.recipe_hash.substr(0, 12)),
            "keep the recipe on a file system that all nodes share, and do not change it now");
      findings_.back().hosts = hosts_without_recipe(first->recipe_hash);
      return;
    }
  }

  // Where all others read the same one.
  std::vector<std::string> hosts_without_recipe(const std::string& hash) const {
    for (const RankInfo& rank : info_.ranks) {
      if (!rank.recipe_hash.empty() && !has_no_recipe(rank) && rank.recipe_hash != hash) return {};
    }
    return hosts_where(has_no_recipe);
  }

  void data() {
    if (!info_.fit_problem.empty())
      error("data", info_.fit_problem,
            "the recipe, the shards that data.train and data.test name, or the number of ranks");
    // Else the nodes tell of it.
    if (!info_.data_problem.empty() &&
        std::ranges::all_of(info_.ranks, &std::string::empty, &RankInfo::data_problem))
      error(
          "data", info_.data_problem,
          "data.train and data.test: the shards can be opened now, and could not a moment before");
    problem_of_nodes(
        "data", &RankInfo::data_problem,
        nodes_.size() > 1
            ? "data.train and data.test: whole files, on a file system that all nodes share"
            : "data.train and data.test: folders of whole shards");
  }

  void memory() {
    problem_of_nodes("memory", &RankInfo::memory_problem,
                     "nodes with more memory, or data.memory in the recipe (larger sets are "
                     "streamed), or a smaller "
                     "network or batch");
  }

  void network() {
    const NetworkInfo& network = info_.network;
    if (!network.all_reduce_is_right) {
      error("network", "an all-reduce gave a wrong sum",
            "another MPI library or transport; ask the site");
    }
    if (info_.device_network) {
      device_network(*info_.device_network);
    } else if (info_.ranks.size() > 1) {
      bandwidth(network, "an all-reduce");
    } else if (info_.job.min_bandwidth > 0) {
      warn("network", "--min-bandwidth: one rank alone has no all-reduce that could be measured",
           "start as many ranks as the training has, or leave out --min-bandwidth");
    }
  }

  void bandwidth(const NetworkInfo& network, const std::string& what) {
    if (network.bytes_per_s >= info_.job.min_bandwidth) return;
    error("network",
          fmt::format("{} of {} bytes runs at {} GB/s, {} were asked for", what, network.bytes,
                      gb_text(network.bytes_per_s), gb_text(info_.job.min_bandwidth)),
          "the transport that the site recommends, or a smaller --min-bandwidth");
  }

  // Gradients travel between the devices; what MPI reaches in host memory is the least to expect.
  void device_network(const DeviceNetworkInfo& devices) {
    const std::string what = "an all-reduce by " + devices.transport;
    if (!devices.problem.empty()) {
      error("network", devices.problem,
            "NCCL_DEBUG=INFO in the environment prints more; parallel.backend = \"mpi\" does "
            "without");
      return;
    }
    if (!devices.network.all_reduce_is_right) {
      error("network", what + " gave a wrong sum", "another NCCL or driver; ask the site");
    }
    bandwidth(devices.network, what);
    if (devices.network.bytes_per_s < info_.network.bytes_per_s) {
      warn("network",
           fmt::format("{} of {} bytes runs at {} GB/s, and by MPI in host memory at {}", what,
                       devices.network.bytes, gb_text(devices.network.bytes_per_s),
                       gb_text(info_.network.bytes_per_s)),
           "--gpu-bind=none with srun, so that devices reach each other; NCCL_DEBUG=INFO tells "
           "which way it takes");
    }
  }

  void clocks() {
    for (const RankInfo& rank : info_.ranks) {
      if (std::abs(rank.clock_offset_s) < kClockToleranceS) continue;
      warn("clocks",
           fmt::format("the clock of {} is {:.1f} s away from that of {}", rank.host,
                       rank.clock_offset_s, info_.ranks[0].host),
           "tell the site; times in logs and files will not fit together");
      return;
    }
  }

  void files() {
    const FileInfo& files = info_.files;
    if (files.folder.empty()) return;
    if (!files.problem.empty()) {
      error("files", files.problem, "another --run-dir");
      return;
    }
    const std::int64_t wanted = files.checkpoint_bytes * files.checkpoints;
    if (files.free_bytes < wanted) {
      error("files",
            fmt::format("{} has {} bytes free, expected {} for {} {} bytes", files.folder,
                        files.free_bytes, wanted, checkpoints_of(files), files.checkpoint_bytes),
            files.checkpoints > 1 ? "another --run-dir, or a smaller checkpoint.keep"
                                  : "make room there, or another --run-dir");
    }
    if (!files.locking_problem.empty()) {
      warn("files", files.locking_problem,
           "quern works without locks: let no two jobs write to one run folder");
    }
  }

  const Preflight& info_;
  Nodes nodes_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> judge(const Preflight& info) {
  return Judge(info).run();
}

}  // namespace quern
