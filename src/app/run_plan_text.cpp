// SPDX-License-Identifier: Apache-2.0
#include "app/run_plan_text.hpp"

#include <fmt/format.h>

#include "base/count_text.hpp"
#include "base/unit_text.hpp"

namespace quern {

namespace {

// "8, 8, 8, 6", runs of more than four equal shares shortened: "60 on each of 32 ranks, 0, 0".
std::string shares_text(const std::vector<int>& shares) {
  std::string text;
  for (std::size_t i = 0; i < shares.size();) {
    std::size_t same = 1;
    while (i + same < shares.size() && shares[i + same] == shares[i]) ++same;
    if (!text.empty()) text += ", ";
    if (same > 4) {
      text += fmt::format("{} on each of {} ranks", shares[i], same);
    } else {
      for (std::size_t k = 0; k < same; ++k) text += fmt::format("{}{}", k ? ", " : "", shares[i]);
    }
    i += same;
  }
  return text;
}

// "4.09 Mflop"
std::string flop_text(double flop) {
  return scaled_text(flop) + "flop";
}

const char* determinism_text(Determinism determinism) {
  return determinism == Determinism::fast ? "fast (bits depend on the ranks)"
                                          : "rank-invariant (same bits for any number of ranks)";
}

std::string optimizer_text(const RunPlanInfo& info) {
  const std::string bytes = bytes_text(info.optimizer_bytes);
  if (info.optimizer_bytes == 0) return "none";
  if (info.spreads_state)
    return bytes + " per rank: that of its own parameters (parallel.shard_optimizer)";
  if (info.shares_state) return bytes + " per rank: the ranks of the node share it";
  return bytes + " per rank";
}

std::string tensor_text(const RunPlanInfo::Tensor& tensor) {
  std::string text = tensor.ranks > 1 ? fmt::format("{} ranks share", tensor.ranks)
                                      : std::string("one rank computes");
  text += fmt::format(" {} in {} slices", fmt::join(tensor.split, ", "), tensor.slices);
  if (!tensor.whole.empty()) text += fmt::format("; whole: {}", fmt::join(tensor.whole, ", "));
  if (tensor.split.empty()) text = fmt::format("no layer can be cut into {} slices", tensor.slices);
  if (tensor.ranks == 1) return text;
  return text + fmt::format("; rank 0 holds {} parameters, a rank sends {} a step",
                            tensor.parameters, bytes_text(tensor.sent_bytes));
}

std::string collected_text(std::int64_t bytes) {
  return bytes == 0 ? "" : fmt::format(", at most {} on others", bytes_text(bytes));
}

}  // namespace

std::string run_plan_text(const RunPlanInfo& info) {
  std::string text = "# Plan\n";
  const auto line = [&](const char* key, const std::string& value) {
    text += fmt::format("{:<18} {}\n", key, value);
  };
  line("ranks", fmt::format("{} (each {} on {})", info.ranks, count_text(info.threads, "thread"),
                            info.device));
  line("sums", determinism_text(info.determinism));
  line("gradient reduction", info.reduction);
  if (info.is_recorded) line("step", "recorded once as a graph, then replayed");
  line("samples", fmt::format("{} ({} {})", info.samples, bytes_text(info.data_bytes),
                              info.is_streamed ? "in memory, over all ranks" : "per node"));
  if (info.windows > 1) {
    line("order", fmt::format("{}{} windows of {} samples", info.is_streamed ? "streamed in " : "",
                              info.windows, info.window_samples));
  }
  const std::string trained =
      info.trained < info.parameters ? fmt::format(", {} of them trained", info.trained) : "";
  line("parameters", fmt::format("{}{}", info.parameters, trained));
  if (info.tensor.slices > 1) line("tensor parallel", tensor_text(info.tensor));
  line("memory",
       fmt::format("{} per rank{}, and the data; for checkpoints {} more on rank 0{}",
                   bytes_text(info.memory_bytes), info.stages.empty() ? "" : " of stage 0",
                   bytes_text(info.copy_bytes), collected_text(info.collected_bytes)));
  if (info.ranks > 1) {
    line("messages", info.sent_bytes == 0 ? std::string("none: the ranks share memory")
                                          : fmt::format("a rank sends at most {} per step",
                                                        bytes_text(info.sent_bytes)));
  }
  if (info.segments > 1) {
    line("recompute",
         fmt::format("{} of {} segments run forward twice", info.segments - 1, info.segments));
  }
  line("optimizer state", optimizer_text(info));
  line("work", fmt::format("{} per sample, {} per step", flop_text(info.training_flop),
                           flop_text(info.training_flop * info.batches.front().samples)));
  line("steps", fmt::format("{} ({} of {})", info.epochs * info.steps_per_epoch,
                            count_text(info.epochs, "epoch"), info.steps_per_epoch));
  const char* names[] = {"full batch", "last batch"};
  for (std::size_t i = 0; i < info.batches.size(); ++i) {
    const RunPlanInfo::Batch& batch = info.batches[i];
    line(names[i], fmt::format("{} samples in micro-blocks of {}; per rank {}", batch.samples,
                               batch.block_samples, shares_text(batch.samples_of_rank)));
  }
  if (!info.stages.empty()) {
    const std::int64_t data_ranks = std::ssize(info.batches.front().samples_of_rank);
    line("pipeline", fmt::format("{} stages x {}, {}; idle {:.0f} % of the time where all stages "
                                 "take equally long",
                                 info.stages.size(), count_text(data_ranks, "rank"), info.schedule,
                                 100 * info.bubble));
  }
  for (std::size_t i = 0; i < info.stages.size(); ++i) {
    const RunPlanInfo::Stage& stage = info.stages[i];
    line(("  stage " + std::to_string(i)).c_str(),
         fmt::format("'{}' to '{}': {} parameters, {} per sample, {} per rank, sends {} "
                     "per step",
                     stage.first_layer, stage.last_layer, stage.parameters,
                     flop_text(stage.training_flop), bytes_text(stage.memory_bytes),
                     bytes_text(stage.sent_bytes)));
  }
  if (info.pieces > 1) {
    line("micro-batches", fmt::format("{} of at most {} samples, one after the other", info.pieces,
                                      info.piece_samples));
  }
  text.pop_back();
  return text;
}

std::string summary_text(const Recipe& recipe, const RunPlanInfo& info) {
  const int per_rank = recipe.data.batch_per_rank;
  const std::string share = per_rank > 0 ? fmt::format(" ({} per rank)", per_rank) : "";
  const std::string windows =
      info.windows > 1 ? fmt::format("{} in windows of {} samples",
                                     info.is_streamed ? ", streamed" : "", info.window_samples)
                       : "";
  return fmt::format("{}: {} parameters, {} samples{}, batch {}{}, {} x {}, {} steps", recipe.name,
                     info.parameters, info.samples, windows, info.batches.front().samples, share,
                     count_text(info.ranks, "rank"), count_text(info.threads, "thread"),
                     info.epochs * info.steps_per_epoch);
}

std::string tensor_warning(const RunPlanInfo::Tensor& tensor) {
  if (tensor.ranks == 1 || !tensor.split.empty()) return "";
  return fmt::format(
      "no layer of this network can be cut into {} slices: each of {} computes all of it "
      "(--dry-run shows the plan)",
      tensor.slices, count_text(tensor.ranks, "rank"));
}

}  // namespace quern
