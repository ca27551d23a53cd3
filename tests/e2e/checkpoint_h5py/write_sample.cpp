// SPDX-License-Identifier: Apache-2.0
// Writes the sample checkpoint into the folder given, and prints its path and its model hash.
#include <exception>
#include <iostream>

#include "checkpoint/model_hash.hpp"
#include "checkpoint/writer.hpp"
#include "unit/checkpoint/checkpoint_fixture.hpp"

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw quern::InputError("usage: write_sample FOLDER");
    quern::test::SampleRun run;
    std::cout << quern::write_checkpoint(argv[1], run.state()).string() << "\n"
              << quern::model_hash(run.state().model) << "\n";
    return 0;
  } catch (const std::exception& problem) {
    std::cerr << problem.what() << "\n";
    return 1;
  }
}
