// SPDX-License-Identifier: Apache-2.0
#include "config/absent_names.hpp"

#include <span>
#include <string>

namespace quern {

namespace {

struct AbsentName {
  std::string_view
      name;  ///< in small letters, without '_'; with its table where only that is meant
  std::string_view instead;
};

constexpr std::string_view kNone =
    "Quern has none, docs/from-pytorch.md tells what there is instead";
constexpr std::string_view kPartOfLoss =
    "loss.type = \"cross_entropy\" contains it: leave the layer out";
constexpr std::string_view kNoNearby =
    "Quern has none; \"cosine\" with warmup_steps or warmup_epochs is nearest";

constexpr std::string_view kInstanceNorm =
    "Quern has none; \"group_norm\" with as many groups as channels is InstanceNorm(affine=True)";

constexpr std::string_view kRanks = "the launcher sets the ranks: mpirun -n 4 quern train ...";

constexpr AbsentName kAbsentKeys[] = {
    {"dilation", kNone},
    {"paddingmode", kNone},
    {"ceilmode", kNone},
    {"outputpadding", kNone},
    {"amsgrad", kNone},
    {"inchannels", "a layer takes what the layer before it puts out: leave it out"},
    {"infeatures", "a layer takes what the layer before it puts out: leave it out"},
    {"numfeatures", "a layer takes what the layer before it puts out: leave it out"},
    {"activation", "a layer of its own, as {type = \"relu\"}"},
    {"batchnorm", "a layer of its own, {type = \"batch_norm\"}"},
    {"dropout", "a layer of its own, as {type = \"dropout\", p = 0.5}"},
    {"inplace", "Quern decides that itself: leave it out"},
    {"tmax", "the schedule ends with train.epochs: leave it out"},
    {"dataparallel", kRanks},
    {"dataparallelsize", kRanks},
    {"devices", kRanks},
    {"gpus", kRanks},
    {"gpuspernode", kRanks},
    {"ngpu", kRanks},
    {"ngpus", kRanks},
    {"nnodes", kRanks},
    {"nodes", kRanks},
    {"nproc", kRanks},
    {"nprocpernode", kRanks},
    {"nprocs", kRanks},
    {"nranks", kRanks},
    {"numdevices", kRanks},
    {"numgpus", kRanks},
    {"numnodes", kRanks},
    {"numprocesses", kRanks},
    {"numranks", kRanks},
    {"parallel.data", kRanks},
    {"ranks", kRanks},
    {"worldsize", kRanks},
};

constexpr AbsentName kAbsentValues[] = {
    {"softmax", kPartOfLoss},
    {"logsoftmax", kPartOfLoss},
    {"embedding", kNone},
    {"lstm", kNone},
    {"gru", kNone},
    {"rnn", kNone},
    {"attention", kNone},
    {"multiheadattention", kNone},
    {"transformer", kNone},
    {"convtranspose", kNone},
    {"convtranspose2d", kNone},
    {"conv1d", kNone},
    {"conv3d", kNone},
    {"instancenorm", kInstanceNorm},
    {"instancenorm2d", kInstanceNorm},
    {"rmsprop", "Quern has none; \"adam\" with betas = [0.0, 0.99] is nearest"},
    {"adagrad", "Quern has none; \"adam\" is nearest"},
    {"adadelta", "Quern has none; \"adam\" is nearest"},
    {"lbfgs", "Quern has none"},
    {"onecycle", kNoNearby},
    {"onecyclelr", kNoNearby},
    {"cycliclr", kNoNearby},
    {"cosineannealingwarmrestarts", kNoNearby},
};

std::string_view instead_of(std::string_view name, std::span<const AbsentName> absent) {
  std::string plain;
  for (const char c : name)
    if (c != '_') plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const AbsentName& known : absent)
    if (plain == known.name) return known.instead;
  return "";
}

}  // namespace

std::string_view instead_of_key(std::string_view table, std::string_view name) {
  const std::string_view instead = instead_of(name, kAbsentKeys);
  return instead.empty() ? instead_of(std::string(table) + std::string(name), kAbsentKeys)
                         : instead;
}

std::string_view instead_of_value(std::string_view value) {
  return instead_of(value, kAbsentValues);
}

}  // namespace quern
