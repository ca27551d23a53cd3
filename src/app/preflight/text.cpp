// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/count_text.hpp"
#include "base/unit_text.hpp"
#include "runtime/cpu_mask.hpp"

namespace quern {

using Json = nlohmann::ordered_json;

namespace {

constexpr std::size_t kRowsShown = 64;

std::string table(const std::vector<RankInfo>& ranks) {
  std::size_t host = 4;
  std::size_t device = 6;
  for (const RankInfo& rank : ranks) {
    host = std::max(host, rank.host.size());
    device = std::max(device, rank.device.size() + rank.device_id.size() + 1);
  }
  std::string text = fmt::format("{:>5}  {:<{}}  {:<{}}  {:>7}  {}\n", "rank", "host", host,
                                 "device", device, "threads", "cores");
  for (std::size_t i = 0; i < std::min(ranks.size(), kRowsShown); ++i) {
    const RankInfo& rank = ranks[i];
    const std::string shown =
        rank.device_id.empty() ? rank.device : rank.device + " " + rank.device_id;
    text += fmt::format("{:>5}  {:<{}}  {:<{}}  {:>7}  {}\n", rank.rank, rank.host, host, shown,
                        device, rank.threads, cpu_list_text(rank.cpus));
  }
  if (ranks.size() > kRowsShown) {
    text += fmt::format("  ... and {} more (--json shows all)\n", ranks.size() - kRowsShown);
  }
  return text;
}

std::size_t num_hosts(const Preflight& info) {
  std::set<std::string> hosts;
  for (const RankInfo& rank : info.ranks) hosts.insert(rank.host);
  return hosts.size();
}

/// The hosts of ranks [first, last), each once.
std::string hosts_of(const Preflight& info, std::size_t first, std::size_t last) {
  std::string text;
  std::string before;
  for (std::size_t rank = first; rank < last; ++rank) {
    const std::string& host = info.ranks[rank].host;
    if (host == before) continue;
    text += (text.empty() ? "" : ", ") + host;
    before = host;
  }
  return text;
}

// Of a network that is split: where its stages lie.
std::string grid_text(const Preflight& info) {
  if (!info.grid || !info.grid->problem.empty()) return "";
  const GridShape& shape = info.grid->shape;
  if (shape.pipeline == 1 && shape.tensor == 1) return "";
  std::string text = fmt::format("\ngrid: data {} x pipeline {} x tensor {}", shape.data,
                                 shape.pipeline, shape.tensor);
  const std::size_t ranks = info.ranks.size() / static_cast<std::size_t>(shape.pipeline);
  constexpr std::size_t kStagesShown = 16;
  const auto stages = static_cast<std::size_t>(shape.pipeline);
  for (std::size_t stage = 0; stages > 1 && stage < std::min(stages, kStagesShown); ++stage) {
    const std::size_t first = stage * ranks;
    text += fmt::format("\n  stage {}: ranks {} to {} on {}", stage, first, first + ranks - 1,
                        hosts_of(info, first, first + ranks));
  }
  if (stages > kStagesShown) text += fmt::format("\n  ... and {} more", stages - kStagesShown);
  return text;
}

const char* name_of(Severity severity) {
  return severity == Severity::error ? "error" : "warning";
}

Json json_of(const NetworkInfo& network) {
  return Json{{"right", network.all_reduce_is_right},
              {"latency_us", network.latency_s * 1e6},
              {"bytes", network.bytes},
              {"bytes_per_s", network.bytes_per_s},
              {"bus_bytes_per_s", network.bus_bytes_per_s}};
}

}  // namespace

int num_errors(const Preflight& info) {
  return static_cast<int>(
      std::count_if(info.findings.begin(), info.findings.end(),
                    [](const Finding& found) { return found.severity == Severity::error; }));
}

std::vector<std::string> failing_hosts(const Preflight& info) {
  std::set<std::string> failing;
  for (const Finding& found : info.findings) {
    if (found.severity != Severity::error) continue;
    if (found.hosts.empty()) return {};
    failing.insert(found.hosts.begin(), found.hosts.end());
  }
  if (failing.size() == num_hosts(info)) return {};
  return {failing.begin(), failing.end()};
}

std::string checkpoints_of(const FileInfo& files) {
  return count_text(files.checkpoints, "checkpoint") + " of";
}

std::string verdict_on(const std::vector<std::string>& failing, std::size_t num_others) {
  return fmt::format("preflight: failed on {}; good on {}", fmt::join(failing, ","),
                     count_text(static_cast<std::int64_t>(num_others), "other node"));
}

static std::string verdict(const Preflight& info) {
  if (num_errors(info) == 0) return "preflight: good to go";
  const auto failing = failing_hosts(info);
  if (failing.empty()) return "preflight: refused";
  return verdict_on(failing, num_hosts(info) - failing.size());
}

std::string preflight_text(const Preflight& info) {
  const NetworkInfo& network = info.network;
  std::string text = table(info.ranks);
  text += count_text(std::ssize(info.ranks), "rank") + " on " +
          count_text(static_cast<std::int64_t>(num_hosts(info)), "node");
  if (info.ranks.size() > 1) {
    text += fmt::format(
        "; all-reduce {:.1f} us for 8 bytes, {:.3g} GB/s for {} KiB ({:.3g} on the bus)",
        network.latency_s * 1e6, network.bytes_per_s / 1e9, network.bytes / 1024,
        network.bus_bytes_per_s / 1e9);
  }
  if (info.device_network && info.device_network->problem.empty()) {
    const NetworkInfo& devices = info.device_network->network;
    text += fmt::format(
        "\nall-reduce by {} between devices {:.1f} us for 8 bytes, {:.3g} GB/s for {} KiB ({:.3g} "
        "on "
        "the bus); reference: {:.3g} GB/s by MPI in host memory",
        info.device_network->transport, devices.latency_s * 1e6, devices.bytes_per_s / 1e9,
        devices.bytes / 1024, devices.bus_bytes_per_s / 1e9, network.bytes_per_s / 1e9);
  }
  text += grid_text(info);
  if (!info.files.folder.empty()) {
    text += fmt::format("\n{}: {} free", info.files.folder, bytes_text(info.files.free_bytes));
    if (info.files.checkpoint_bytes > 0) {
      text += fmt::format(", {} {} to come", checkpoints_of(info.files),
                          bytes_text(info.files.checkpoint_bytes));
    }
  }
  for (const Finding& found : info.findings) {
    text += fmt::format("\n{}: {}: {}\n  change: {}", name_of(found.severity), found.check,
                        found.text, found.fix);
  }
  return text + "\n" + verdict(info);
}

std::string preflight_json(const Preflight& info) {
  Json json;
  json["good"] = num_errors(info) == 0;
  json["versions"] = Json{{"quern", info.version},
                          {"commit", info.commit},
                          {"mpi", info.ranks[0].mpi},
                          {"hdf5", info.ranks[0].hdf5}};
  json["ranks"] = Json::array();
  for (const RankInfo& rank : info.ranks) {
    json["ranks"].push_back(Json{{"rank", rank.rank},
                                 {"host", rank.host},
                                 {"node_rank", rank.node_rank},
                                 {"device", rank.device},
                                 {"device_id", rank.device_id},
                                 {"threads", rank.threads},
                                 {"cores", rank.cpus},
                                 {"clock_offset_s", rank.clock_offset_s}});
  }
  if (info.grid && info.grid->problem.empty()) {
    const GridShape& shape = info.grid->shape;
    json["grid"] =
        Json{{"data", shape.data}, {"pipeline", shape.pipeline}, {"tensor", shape.tensor}};
  }
  if (info.ranks.size() > 1) {
    json["all_reduce"] = json_of(info.network);
  }
  if (info.device_network && info.device_network->problem.empty()) {
    json["device_all_reduce"] = json_of(info.device_network->network);
    json["device_all_reduce"]["transport"] = info.device_network->transport;
  }
  if (!info.files.folder.empty()) {
    json["files"] = Json{{"folder", info.files.folder},
                         {"free_bytes", info.files.free_bytes},
                         {"locking", info.files.locking_problem.empty()}};
    if (info.files.checkpoint_bytes > 0) {
      json["files"]["checkpoint_bytes"] = info.files.checkpoint_bytes;
      json["files"]["checkpoints"] = info.files.checkpoints;
    }
  }
  json["failing_hosts"] = failing_hosts(info);
  json["findings"] = Json::array();
  for (const Finding& found : info.findings) {
    json["findings"].push_back(Json{{"severity", name_of(found.severity)},
                                    {"check", found.check},
                                    {"text", found.text},
                                    {"fix", found.fix},
                                    {"hosts", found.hosts}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace quern
