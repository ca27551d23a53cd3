// SPDX-License-Identifier: Apache-2.0
#include <quern/runtime/ranks.hpp>
#include <quern/train/load_recipe.hpp>
#include <quern/train/training_run.hpp>

int main(int argc, char** argv) {
  if (argc != 3) return 2;  // RECIPE RUN_FOLDER
  return static_cast<int>(quern::run_on_ranks([&](quern::Communicator& comm) {
    quern::TrainingRun run(comm, quern::load_recipe(comm, argv[1]), {.folder = argv[2]});
    return run.train();
  }));
}
