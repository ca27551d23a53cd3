# SPDX-License-Identifier: Apache-2.0
"""Help and facts without MPI; progress on a terminal and in a log."""
import json
import os
import pty
import re
import select
import subprocess

import program
import training

COMMANDS = (["train"], ["evaluate"], ["predict"], ["shard"], ["checkpoint"], ["checkpoint", "ls"],
            ["checkpoint", "show"], ["checkpoint", "verify"], ["checkpoint", "hash"],
            ["checkpoint", "diff"], ["checkpoint", "export"], ["bench"], ["bench", "kernels"],
            ["bench", "step"], ["bench", "allreduce"], ["bench", "io"], ["info"], ["preflight"],
            ["watch"], ["metrics"], ["data"], ["data", "show"], ["import"], ["plan"])


class InterfaceTest(training.TrainingTest):
    def test_help(self):
        for command in ([], *COMMANDS):
            done = self.quern(*command, "--help")
            self.assertEqual((done.code, done.err), (0, ""), done)
            self.assertIn("Usage:", done.out)
        for above in ([], ["checkpoint"], ["bench"], ["data"]):
            listed = re.findall(r"^  ([a-z]+)  ", self.quern(*above, "--help").out.partition("Subcommands:")[2],
                                re.MULTILINE)
            known = [command[-1] for command in COMMANDS if command[:-1] == above]
            self.assertEqual(sorted(listed), sorted(known))

    def test_help_of_many_ranks_is_printed_once(self):
        done = self.quern("--help", ranks=2)
        self.assertEqual(set(done.codes), {0}, done)
        self.assertEqual(done.out.count("Usage:"), 1, done)

    def test_commands_that_work_alone_do_so_on_every_rank(self):
        """As in a farm of tasks, where each looks at a file of its own."""
        self.train("mlp", "run", "train.epochs=1")
        alone = self.quern("checkpoint", "hash", "run").out
        self.assertEqual(len(alone), 65)
        self.assertEqual(self.quern("checkpoint", "hash", "run", ranks=2).out, 2 * alone)
        for command in (["info", "mlp.toml"], ["watch", "run", "--once"], ["data", "show", "test"], ["metrics", "run"]):
            lines = self.quern(*command, ranks=2).out.splitlines()
            self.assertEqual(sorted(lines), sorted(2 * self.quern(*command).out.splitlines()), command)
        for launcher in ({"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "2"}, {"PMIX_RANK": "1"}):
            self.assertEqual(self.quern("checkpoint", "hash", "run", env=launcher).out, alone)
            self.assertIn("there is no command 'hsh'", self.quern("checkpoint", "hsh", "run", env=launcher).err)

    def test_words_that_a_command_does_not_know(self):
        for words, message in (
                (("train", "conv.toml", "--rundir", "run"), "no option '--rundir' (did you mean '--run-dir'?); quern train --help"),
                (("train", "--epochs", "5", "conv.toml"), "'--epochs' (the key of a recipe: --set train.epochs=VALUE)"),
                (("train", "--micro-block=8", "conv.toml"), "'--micro-block' (the key of a recipe: --set train.micro_block"),
                (("shard", "--images", "x.npy", "--frobnicate"), "no option '--frobnicate'; quern shard --help"),
                (("checkpoint", "show", "run", "--jsn"), "'--json'?); quern checkpoint show --help"),
                (("train", "--type", "x", "conv.toml"), "no option '--type'; quern train --help"),
                (("train", "--", "conv.toml", "5"), "'5' is one word too many"),
                (("--nosuch",), "there is no option '--nosuch'; quern --help"),
                (("--versoin",), "there is no option '--versoin' (did you mean '--version'?); quern --help"),
                (("checkpoint", "--jsn"), "there is no option '--jsn'; quern checkpoint --help"),
                (("train", "conv.toml", "5"), "'5' is one word too many")):
            done = self.quern(*words)
            self.assertEqual((done.code, done.out, len(done.errors())), (2, "", 1), done)
            self.assertIn(message, done.err)

    def test_version_and_info(self):
        version = self.quern("--version")
        self.assertEqual((version.code, version.err), (0, ""))
        self.assertRegex(version.out, r"^quern \d+\.\d+\.\d+ \(commit [0-9a-z.+-]+\)\n$")
        text = self.quern("info")
        facts = json.loads(self.quern("info", "--json").out)
        self.assertIn(facts["commit"], version.out)
        self.assertEqual((text.code, text.err), (0, ""))
        for key in ("version", "commit", "kokkos", "backend", "mpi", "hdf5", "compiler", "flags", "target"):
            self.assertTrue(facts[key])
            self.assertIn(facts[key], text.out)

    def test_info_draws_the_network_of_a_recipe(self):
        done = self.quern("info", "conv.toml", "--set", "network.layers.fc1.features=12", env={"KOKKOS_TUNE_INTERNALS": "none"})
        self.assertEqual((done.code, done.err), (0, ""), done)  # Kokkos, if it started, would refuse that
        self.assertRegex(done.out, r"\nlayer +type +output +parameters +multiply-adds +memory\n")
        self.assertRegex(done.out, r"\ninput +\[1, 12, 12\] +576 B\n")
        self.assertRegex(done.out, r"\nconv1 +conv2d +\[5, 10, 10\] +50 +4\.50 k ")
        self.assertRegex(done.out, r"\nfc1 +linear +\[12\] +[\d ]+ +[\d.]+ k +")
        self.assertRegex(done.out, r"\ntotal +[\d ]+ [\d.]+ k +[\d.]+ KiB\n")
        self.assertIn(done.out.strip(), self.quern("train", "conv.toml", "--dry-run", "--set",
                                                   "network.layers.fc1.features=12").out)
        for arguments in (["conv.toml", "--json"], ["--set", "seed=1"], ["absent.toml"]):
            self.assertEqual(self.quern("info", *arguments).code, 2)

    def test_dry_run_writes_nothing(self):
        before = training.tree(self.folder)
        done = self.quern("train", "conv.toml", "--dry-run", "--set", "train.epochs=2", ranks=3)
        self.assertEqual(set(done.codes), {0}, done)
        self.assertIn("epochs = 2", done.out)
        self.assertRegex(done.out, r"steps +26 \(2 epochs of 13\)")
        self.assertRegex(done.out, r"full batch +49 samples")
        self.assertRegex(done.out, r"\nwork +[\d.]+ kflop per sample, [\d.]+ Mflop per step\n")
        self.assertRegex(done.out, r"gradient reduction +(through shared memory, 3 ranks of one node"
                                   r"|NCCL .*|MPI through host memory, 3 ranks.*)\n")
        self.assertEqual(training.tree(self.folder), before)

    def test_a_log_is_quiet(self):
        done = self.train("mlp", "run", "train.epochs=20", ranks=2)
        for text in (done.out, done.err):
            self.assertNotRegex(text, r"[\x00-\x09\x0b-\x1f\x7f█]")
        self.assertLessEqual(len(done.err.splitlines()), 3, done)
        self.assertEqual(sum("epoch " in line for line in done.out.splitlines()), 20)

    def test_a_terminal_shows_a_bar(self):
        here, there = pty.openpty()
        command = [program.PROGRAM,
                   *self.train_arguments("conv", "run", ["train.epochs=2000"])]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=there, cwd=self.folder) as process:
            os.close(there)
            shown = b""
            while shown.count(b" left") < 3 and select.select([here], [], [], 60)[0]:
                try:
                    shown += os.read(here, 4096)
                except OSError:
                    break  # the program ended and the terminal with it
            process.terminate()
            os.set_blocking(here, False)
            process.wait(60)
        try:
            while more := os.read(here, 4096):
                shown += more
        except OSError:
            pass
        os.close(here)
        text = shown.decode()
        self.assertRegex(text, r"\r\x1b\[K█*░+ .* %  epoch \d+/2000  loss \d.*left")
        self.assertEqual(process.returncode, 85, text)


if __name__ == "__main__":
    training.main()
