# SPDX-License-Identifier: Apache-2.0
"""The lock of a run folder, where the file system has none or fails, and where another process takes it."""
import errno
import sys
from pathlib import Path

import training

PRELOAD = Path(sys.argv.pop(3)).resolve()  # tests/support/preload.cpp


def failing(call, path, number):
    """Every such system call for a path with that text in it fails so."""
    return {"LD_PRELOAD": str(PRELOAD), "QUERN_TEST_FAIL_CALL": call, "QUERN_TEST_FAIL_PATH": path,
            "QUERN_TEST_FAIL_ERRNO": str(number)}


class LockTest(training.TrainingTest):
    def test_file_systems_without_locks(self):
        """Files are written there as anywhere else: checkpoints, shards, imported weights, predictions."""
        for number in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EIO):
            with self.subTest(error=errno.errorcode[number]):
                env, name = failing("flock", "", number), errno.errorcode[number]
                self.train("mlp", name, "train.epochs=1", env=env)
                images = training.data_folder() / "train-images"
                for command in (["shard", "--images", images, "--out", f"set-{name}"],
                                ["import", name, "--recipe", "mlp.toml", "--out", f"{name}-start.h5"],
                                ["predict", name, "--data", "test", "--out", f"{name}-answers.h5"]):
                    done = self.quern(*command, env=env)
                    self.assertEqual(done.code, 0, done)


if __name__ == "__main__":
    training.main()
