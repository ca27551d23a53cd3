# SPDX-License-Identifier: Apache-2.0
"""kill -9 at any moment, and damaged checkpoints: the run goes on to the same bits, or says why not."""
import random
import signal
import time

import training
from training import checkpoint_file, checkpoint_steps, tree

SETTINGS = ("train.epochs=40", "checkpoint.every_steps=3")


def flip_a_byte(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0x10
    file.write_bytes(content)


def truncate(file):
    file.write_bytes(file.read_bytes()[:-1000])


class KillTest(training.TrainingTest):
    def test_kill_at_any_moment(self):
        self.train("conv", "whole", "train.epochs=40")
        chance = random.Random(5)
        folder = self.folder / "killed"
        for ranks in (3, 1, 4, 2, 3):
            done = checkpoint_steps(folder)[-1] if checkpoint_steps(folder) else 0
            goal = done + chance.randrange(3, 60)
            run = self.start("conv", "killed", *SETTINGS, ranks=ranks)
            still_there = run.wait_until(lambda: goal <= max(checkpoint_steps(folder), default=0))
            self.assertTrue(still_there, "the run ended before it could be killed")
            outcome = run.kill()
            self.assertNotEqual(outcome.code, 0, outcome)
            self.assertLessEqual(len(checkpoint_steps(folder)), 4)
        done = self.train("conv", "killed", *SETTINGS, ranks=2)
        self.assertIn("continuing from", done.err)
        self.assert_same_run("killed", "whole")
        left = [file.name for file in (folder / "checkpoints").iterdir()]
        self.assertEqual([name for name in left if ".tmp." in name], [])

    def test_commands_beside_a_run_that_deletes_old_checkpoints(self):
        """What they had listed may be gone; then there is a newer one."""
        run = self.start("conv", "going", "train.epochs=100000", "checkpoint.every_steps=1", "checkpoint.keep=1")
        self.assertTrue(run.wait_until(lambda: checkpoint_steps(self.folder / "going")))
        for command in ["verify"], ["hash"], ["show"], ["export", "--force", "--out", "weights.safetensors"]:
            for _ in range(12):
                done = self.quern("checkpoint", command[0], "going", *command[1:])
                self.assertEqual((done.code, done.errors()), (0, []), done)
        run.kill()

    def freeze_between_checkpoints(self, run, folder):
        def is_between():
            run.send(signal.SIGSTOP)
            names = [file.name for file in (folder / "checkpoints").iterdir()]
            written = (folder / "events.jsonl").read_text().count('"event":"checkpoint"')
            if names and written == len(names) and not any(".tmp." in name for name in names):
                return True
            run.send(signal.SIGCONT)
            return False

        self.assertTrue(run.wait_until(lambda: checkpoint_steps(folder)))
        self.assertTrue(run.wait_until(is_between))

    def test_a_process_that_lost_its_folder_writes_no_more(self):
        """As on a node that was out of touch while its job was started again elsewhere."""
        # 75 steps an epoch: after the checkpoint of step 80 come a line of step 120, the epoch's end, another checkpoint.
        sets = ("data.global_batch=8", "train.epochs=6", "checkpoint.every_steps=80", "checkpoint.every_epochs=0",
                "checkpoint.keep=1000", "train.log_every_steps=40")
        self.train("conv", "whole", *sets)
        folder = self.folder / "run"
        lost = self.start("conv", "run", *sets, ranks=2)
        self.freeze_between_checkpoints(lost, folder)
        (folder / ".lock").unlink()
        self.train("conv", "run", *sets, ranks=3)
        before = tree(folder)
        time.sleep(1.2)  # where steps are logged, the folder is looked at once a second
        lost.send(signal.SIGCONT)
        done = lost.wait()
        self.assertEqual((done.code, len(done.errors())), (1, 1), done)
        self.assertRegex(done.errors()[0], "'run' was taken over by .*: this process writes no more into it")
        after = tree(folder)
        self.assertEqual([file for file in before.keys() | after.keys() if before.get(file) != after.get(file)], [])
        self.assert_same_run("run", "whole")

    def damage_newest(self, damage):
        self.train("mlp", "whole")
        self.train("mlp", "run", "train.epochs=2", "checkpoint.every_steps=4", ranks=2)
        steps = checkpoint_steps(self.folder / "run")
        newest = checkpoint_file(self.folder / "run", steps[-1])
        damage(newest)
        self.assertEqual(self.quern("checkpoint", "verify", "run").code, 93)
        done = self.train("mlp", "run", ranks=3)
        warnings = [line for line in done.err.splitlines() if "warning" in line]
        self.assertEqual(len(warnings), 1, done)
        self.assertIn(newest.name, warnings[0])
        self.assertIn(checkpoint_file(self.folder / "run", steps[-2]).name, done.err)
        self.assert_same_run("run", "whole")

    def test_damaged_checkpoints_are_kept_beside_good_ones(self):
        sets = ("train.epochs=1", "checkpoint.every_steps=1")
        self.train("mlp", "run", *sets, "checkpoint.keep=5")  # 9 to 13
        folder = self.folder / "run"
        (folder / "DONE").unlink()
        checkpoint_file(folder, 13).unlink()
        for step in (11, 12):
            flip_a_byte(checkpoint_file(folder, step))
        # 12 is not written again.
        self.train("mlp", "run", "train.epochs=1", "checkpoint.every_steps=11", "checkpoint.keep=3", ranks=2)
        self.assertEqual(checkpoint_steps(folder), [10, 11, 12, 13])
        self.assertEqual(self.quern("checkpoint", "verify", "run").out.count("good: "), 3)

    def test_weights_come_from_the_newest_good_checkpoint(self):
        self.train("mlp", "run", "train.epochs=2")
        first, last = (checkpoint_file(self.folder / "run", step) for step in checkpoint_steps(self.folder / "run"))
        wanted = self.quern("checkpoint", "hash", first).out
        flip_a_byte(last)
        init = f'network.init={{type="checkpoint", file="{self.folder / "run"}"}}'
        for command in (["checkpoint", "hash", "run"], ["checkpoint", "export", "run", "--out", "w.safetensors"],
                        ["import", "run", "--recipe", "mlp.toml", "--out", "start.h5"],
                        self.train_arguments("mlp", "new", (init, "optimizer.lr=1e-30", "train.epochs=1"))):
            done = self.quern(*command)
            self.assertEqual((done.code, done.err.count(f"{last.name}")), (0, 1), done)
            self.assertIn("this checkpoint is passed over", done.err)
        self.assertEqual(self.quern("checkpoint", "hash", "run").out, wanted)
        self.assertEqual(self.quern("checkpoint", "hash", "start.h5").out, wanted)

    def test_newest_checkpoint_truncated(self):
        self.damage_newest(truncate)

    def test_newest_checkpoint_with_a_flipped_bit(self):
        self.damage_newest(flip_a_byte)

    def test_all_checkpoints_damaged(self):
        self.train("mlp", "run", "train.epochs=2")
        for step in checkpoint_steps(self.folder / "run"):
            flip_a_byte(checkpoint_file(self.folder / "run", step))
        before = tree(self.folder / "run")
        for ranks in (0, 2):
            done = self.start("mlp", "run", ranks=ranks).wait()
            self.assertEqual(set(done.codes), {93}, done)
            self.assertEqual(len(done.errors()), 1, done)
            self.assertIn("none of the 2 checkpoints", done.errors()[0])
            self.assertEqual(tree(self.folder / "run"), before)


if __name__ == "__main__":
    training.main()
