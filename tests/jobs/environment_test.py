# SPDX-License-Identifier: Apache-2.0
"""jobs/submit in environments as users have them: their locale, links to it, variables of other jobs. Called as
`environment_test.py .../bin/quern`; what a real Slurm makes of such variables: tests/slurm/submission_test.py."""
import subprocess
import sys
import unittest

from submit_case import PROGRAM, SUBMIT, SubmitCase

TRAIN = ("generic", "train", "RECIPE=mlp.toml", "RUN_DIR=run")
# As in Turkish: the letter I is not between A and Z.
LOCALE = """comment_char %
escape_char /
LC_CTYPE
upper {upper}
lower {lower}
space <U0020>;<U0009>;<U000A>
toupper {pairs}
END LC_CTYPE
LC_COLLATE
order_start forward
{order}
order_end
END LC_COLLATE
"""


def write_locale(folder):
    upper = [f"<U{ord(letter):04X}>" for letter in "ABCDEFGHJKLMNOPQRSTUVWXYZI"]
    lower = [f"<U{ord(letter):04X}>" for letter in "abcdefghjklmnopqrstuvwxyzi"]
    others = [f"<U{code:04X}>" for code in range(1, 128) if not chr(code).isalpha()]
    pairs = ";".join(f"({small},{large})" for small, large in zip(lower, upper))
    order = "\n".join(others + [letter for pair in zip(lower, upper) for letter in pair])
    (folder / "source").write_text(LOCALE.format(upper=";".join(sorted(upper)), lower=";".join(sorted(lower)),
                                                 pairs=pairs, order=order))
    subprocess.run(["localedef", "-c", "-i", folder / "source", "-f", "ANSI_X3.4-1968", folder / "xx_XX"],
                   capture_output=True, check=False)  # it warns of parts that are not there, with status 1


class EnvironmentTest(SubmitCase):
    def environment(self, **env):
        """What sbatch hands on to the job."""
        done = self.submit(*TRAIN, **env)
        self.assertEqual(done.returncode, 0, done.stderr)
        pairs = (self.folder / "environment").read_text().split("\0")
        return dict(pair.split("=", 1) for pair in pairs if "=" in pair), done

    def test_locales_with_other_letters(self):
        write_locale(self.folder)
        foreign = {"LOCPATH": str(self.folder), "LC_ALL": "xx_XX"}
        command = ["env", *(f"{name}={text}" for name, text in foreign.items()), "bash", "-c", "[[ I =~ [A-Z] ]]"]
        self.assertNotEqual(subprocess.run(command, check=False).returncode, 0, "the locale has I in [A-Z]")
        env, done = self.environment(**foreign)
        self.assertNotRegex((self.folder / "run" / "job" / "train.sbatch").read_text(), "@[A-Z_]+@")
        self.assertEqual(env["LC_ALL"], "xx_XX", "the job has the user's locale")
        self.assertNotIn("error", done.stderr)
        self.assertNotIn("LC_ALL", self.environment(LANG="xx_XX", LOCPATH=str(self.folder))[0])
        done = self.submit("generic", "train", "RECIPE=mlp.toml", "RUN_DIR=çalışma", LC_ALL="C.UTF-8")
        self.assertIn("a path of letters", done.stderr)

    def test_through_a_link_and_with_cdpath(self):
        link = self.folder / "bin" / "qsubmit"
        link.symlink_to(SUBMIT)
        (self.folder / "sub").mkdir()
        (self.folder / "sub" / "quern").symlink_to(PROGRAM)
        done = self.submit(*TRAIN, "QUERN=sub/quern", command=link, CDPATH=f".:{self.folder}")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        script = (self.folder / "run" / "job" / "train.sbatch").read_text()
        self.assertIn(f"quern={self.folder.resolve()}/sub/quern\n", script)

    def test_nothing_of_another_job(self):
        """A job that is submitted from a job, an array, a step of srun or mpirun, or a shell with options for sbatch."""
        stale = {name: "7" for name in (
            "SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_RESTART_COUNT", "SLURM_CPU_BIND",
            "SLURM_GPUS_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_GRES", "SLURM_CONSTRAINT", "SLURMD_NODENAME",
            "SRUN_DEBUG", "SBATCH_TIMELIMIT", "SBATCH_NO_REQUEUE", "SBATCH_ARRAY_INX", "SALLOC_PARTITION", "PMI_RANK",
            "PMI2_RANK", "PMIX_RANK", "PMIX_SERVER_URI2", "OMPI_COMM_WORLD_RANK", "OMPI_UNIVERSE_SIZE",
            "OMPI_MCA_orte_hnp_uri", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")}
        kept = {name: "7" for name in ("SLURM_CONF", "SLURM_CLUSTERS", "SLURM_PMIX_FENCE", "PMIX_MCA_gds",
                                       "OMPI_MCA_pml", "OMP_NUM_THREADS", "MINE")}
        env, done = self.environment(**stale, **kept)
        self.assertEqual({name for name in stale if name in env}, set())
        self.assertEqual({name for name in kept if env.get(name) != "7"}, set())
        warnings = [line for line in done.stderr.splitlines() if "SBATCH_TIMELIMIT" in line]
        self.assertEqual(len(warnings), 1, done.stderr)
        # Outside of a job they are the user's own.
        self.assertEqual(self.environment(CUDA_VISIBLE_DEVICES="1")[0]["CUDA_VISIBLE_DEVICES"], "1")

    def test_account_of_the_environment(self):
        def account(*values):
            done = self.submit("-n", "frontier", *TRAIN[1:], *values, SBATCH_ACCOUNT="p7")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr.count("submit:"), done.stderr.count("warning: SETUP of "), done.stderr)  # no modules here
            return [line for line in done.stdout.splitlines() if "--account" in line]
        self.assertEqual(account(), ["#SBATCH --account=p7"])
        self.assertEqual(account("ACCOUNT=p8"), ["#SBATCH --account=p8"])
        done = self.submit("-n", "frontier", *TRAIN[1:], SBATCH_ACCOUNT="p 7")
        self.assertIn("SBATCH_ACCOUNT='p 7'", done.stderr)

    def test_a_program_that_is_not_there(self):
        done = self.submit(*TRAIN, QUERN="/not/there")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("the variable QUERN=/not/there", done.stderr)
        self.assert_refused([*TRAIN, "QUERN=/not/there"], "QUERN=/not/there", "no such program")
        self.assert_refused([*TRAIN, "QUERN=bin"], "QUERN=bin", "no such program")

    def test_a_program_that_does_not_start_here(self):
        """A program for devices needs a driver that login nodes lack; one for other processors does not start either."""
        program = self.folder / "quern"
        program.write_text("#!/not/there\n")
        program.chmod(0o755)
        done = self.submit(*TRAIN, "QUERN=quern")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("warning"), 1, done.stderr)
        self.assertIn("does not start here", done.stderr)
        self.assertIn(f"{program}: ", done.stderr)
        self.assertEqual((self.folder / "run" / "job" / "version.txt").read_text(), "unknown\n")


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1] + sys.argv[2:])
