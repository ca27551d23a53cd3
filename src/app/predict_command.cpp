// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "app/commands.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/agree.hpp"
#include "device/inventory.hpp"
#include "io/idx_reader.hpp"
#include "runtime/memory.hpp"
#include "runtime/ranks.hpp"
#include "train/load_checkpoint.hpp"
#include "train/predictor.hpp"
#include "train/samples.hpp"
#include "train/snapshot.hpp"

namespace quern {

namespace {

struct PredictOptions {
  std::string checkpoint;
  std::string images;
  std::string data;
  std::string split;
  std::string out;
};

Samples samples_of(const IdxImages& images) {
  Samples samples;
  samples.count = images.count;
  samples.shape = images.shape;
  check_device_data(static_cast<std::int64_t>(images.pixels.size()), "the images",
                    available_device_memory());
  View<std::uint8_t> pixels("quern::app::images", images.pixels.size());
  const auto host = Kokkos::create_mirror_view(pixels);
  std::copy(images.pixels.begin(), images.pixels.end(), host.data());
  Kokkos::deep_copy(pixels, host);
  samples.images = pixels;
  return samples;
}

/// `samples` with labels: what they are, and how far off the network is.
std::string csv_text(const std::vector<Prediction>& predictions, const Samples& samples) {
  const bool has_labels = samples.labels.size() > 0;
  const auto labels = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), samples.labels);
  std::ostringstream csv;
  csv << "index,class" << (has_labels ? ",label,probability,loss" : "");
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const Prediction& one = predictions[i];
    csv << '\n' << i << ',' << one.best;
    if (has_labels)
      csv << ',' << int{labels(i)} << ',' << static_cast<float>(one.probability) << ','
          << static_cast<float>(one.loss);
  }
  return csv.str();
}

void write_csv(const std::string& out, const std::string& text) {
  if (out.empty()) return log::print(text);
  std::ofstream file(out, std::ios::trunc);
  file << text << '\n' << std::flush;
  if (!file) throw InputError("cannot write '" + out + "'");
}

Samples load_samples(Communicator& comm, const PredictOptions& options) {
  if (options.images.empty() == options.data.empty())
    throw InputError("predict expects either --images or --data");
  if (!options.data.empty()) return load_shards(comm, options.data, options.split);
  return samples_of(read_idx_images(options.images, ""));
}

ExitCode predict(Communicator& comm, const PredictOptions& options) {
  if (comm.size() > 1) {
    throw AgreedError("predict runs on one rank, found " + std::to_string(comm.size()) +
                          " (start it without mpirun or srun)",
                      ExitCode::bad_input);
  }
  const SharedCheckpoint checkpoint = load_checkpoint(comm, options.checkpoint);
  const Recipe& recipe = checkpoint.recipe;
  if (recipe.loss.type != LossType::cross_entropy) {
    throw InputError("'" + options.checkpoint +
                     "' is no classifier: predict expects a network trained with cross_entropy");
  }
  const Samples samples = load_samples(comm, options);
  Model model(recipe);
  model.check_samples(samples);
  constexpr int kBatch = 256;
  const int rows = predictor_rows(model, kBatch);
  const std::int64_t floats = model.network().table().block_size();
  check_device_memory({samples.num_bytes(), model.network().memory_bytes(rows),
                       floats * static_cast<std::int64_t>(sizeof(float))},
                      available_device_memory());
  model.allocate(rows);
  restore(comm, checkpoint.state(), model.network().table(), model.parameters());
  write_csv(options.out, csv_text(predict_samples(model, samples, kBatch), samples));
  return ExitCode::done;
}

}  // namespace

Command add_predict_command(CommandLine app) {
  const auto options = std::make_shared<PredictOptions>();
  CommandLine command =
      app.add_command("predict", "Class of every image of an IDX file or of shards, as CSV");
  command.add_option("checkpoint", options->checkpoint, "Checkpoint file or run folder")
      .required()
      .type_name("FILE|DIR");
  command.add_option("--images", options->images, "IDX file of uint8 images, plain or gzip")
      .type_name("FILE");
  command
      .add_option("--data", options->data,
                  "Folder of HDF5 shards; adds label, probability of the class, and loss")
      .type_name("DIR");
  command
      .add_option("--split", options->split,
                  "Which split to read, if the folder holds both (default: the one it holds)")
      .type_name("{train,test}");
  command.add_option("--out", options->out, "CSV file (default: standard output)")
      .type_name("FILE");
  return {command, [options] {
            return run_on_ranks([&](Communicator& comm) { return predict(comm, *options); });
          }};
}

}  // namespace quern
