# SPDX-License-Identifier: Apache-2.0
"""What becomes of a program whose streams are closed, or whose reader ends; and of outputs that would replace inputs."""
import json
import os
import subprocess
import sys
from pathlib import Path

import training

PROGRAM = str(Path(sys.argv[1]).resolve())


class StreamsTest(training.TrainingTest):
    def command(self, run, *sets):
        return [PROGRAM, *map(str, self.train_arguments("mlp", run, sets))]

    def test_closed_streams_do_not_go_into_files(self):
        done = subprocess.run(["bash", "-c", 'exec "$@" <&- >&- 2>&-', "bash", *self.command("run", "train.epochs=2")],
                              cwd=self.folder, check=False)
        self.assertEqual(done.returncode, 0)
        for name in ("metrics.jsonl", "events.jsonl"):
            for line in (self.folder / "run" / name).read_text().splitlines():
                json.loads(line)

    def test_a_reader_that_ends_does_not_end_the_training(self):
        # Whoever started the program may have the signal ignored already: here it is not.
        with subprocess.Popen(self.command("run", "train.epochs=30"), cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, restore_signals=True) as process:
            self.assertIn("epoch 1/30", process.stdout.readline())
            process.stdout.close()
            err = process.stderr.read()
        self.assertEqual(process.returncode, 0, err)
        self.assertTrue((self.folder / "run/DONE").exists())
        self.train("mlp", "again", "train.epochs=30")
        self.assertEqual(self.hash("run"), self.hash("again"))

    def test_outputs_are_no_inputs(self):
        self.train("mlp", "run", "train.epochs=1")
        self.own_data()
        shard = next((self.folder / "test").glob("*.h5"))
        checkpoint = next((self.folder / "run/checkpoints").glob("ckpt-*.h5"))
        before = training.tree(self.folder)
        os.symlink("run/metrics.jsonl", self.folder / "link")
        for command in (["predict", "run", "--data", "test", "--out", checkpoint],
                        ["predict", checkpoint, "--data", "test", "--out", checkpoint],
                        ["predict", "run", "--data", "test", "--out", shard],
                        ["metrics", "run", "--csv", "--out", "run/metrics.jsonl"],
                        ["metrics", "run", "--csv", "--out", "link"],
                        ["plan", "mlp.toml", "--nodes", 2, "--json", "mlp.toml"],
                        ["predict", "run", "--data", "test", "--out", ""]):
            done = self.quern(*command)
            self.assertEqual((done.code, len(done.errors())), (2, 1), done)
        (self.folder / "link").unlink()
        self.assertEqual(training.tree(self.folder), before)


if __name__ == "__main__":
    training.main()
