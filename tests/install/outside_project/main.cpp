// SPDX-License-Identifier: Apache-2.0
#include <quern/runtime/ranks.hpp>
#include <quern/train/load_recipe.hpp>
#include <quern/train/training_run.hpp>

// outside RECIPE RUN_FOLDER
int main(int, char** argv) {
  return static_cast<int>(quern::run_on_ranks([&](quern::Communicator& comm) {
    quern::TrainingRun run(comm, quern::load_recipe(comm, argv[1]), {.folder = argv[2]});
    return run.train();
  }));
}
