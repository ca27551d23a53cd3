# SPDX-License-Identifier: Apache-2.0
"""--change: a run that is resumed goes on with other settings of its optimizer. Nobody gets them by accident, the
optimizer's state stays, and the run says what was changed."""
import json

import training
from refusal import RefusalTest
from training import checkpoint_file, checkpoint_steps, metrics

STEPS = 13  # of an epoch
LOWER = "optimizer.lr=1e-3"  # half of the recipe's
DROP = 'optimizer.schedule={type="multi_step", milestones=[2], gamma=0.5}'  # the same, by a schedule
RECORD = {"step": 2 * STEPS, "key": "optimizer.lr", "before": "0.002", "after": "0.001"}


class ChangeTest(RefusalTest):
    @staticmethod
    def arguments(run, changes, sets=()):
        return training.TrainingTest.train_arguments("mlp", run, sets) + [
            word for change in changes for word in ("--change", change)]

    def change(self, run, *changes, sets=(), **options):
        done = training.Run(*self.arguments(run, changes, sets), cwd=self.folder, **options).wait()
        self.assertEqual((done.code, set(done.codes)), (0, {0}), done)
        return done

    def events(self, run, kind="start"):
        lines = map(json.loads, (self.folder / run / "events.jsonl").read_text().splitlines())
        return [line for line in lines if line["event"] == kind]

    def changes_of(self, checkpoint):
        return json.loads(self.quern("checkpoint", "show", checkpoint, "--json").out).get("changes", [])

    def rates(self, run):
        return [line["lr"] for line in metrics(self.folder / run, "step")]

    def test_a_lower_rate_is_that_of_a_schedule_which_drops_there(self):
        more = {"adam": (), "momentum": ('optimizer.type="sgd"', "optimizer.momentum=0.9"),
                "decay": ('optimizer.type="adamw"', "optimizer.weight_decay=0.1", "optimizer.clip_norm=0.5")}
        for name, sets in more.items():
            for ranks in (0, 2):
                run, whole = f"{name}-{ranks}", f"{name}-whole"
                if ranks == 0:
                    self.train("mlp", whole, *sets, DROP, "train.epochs=4")
                self.train("mlp", run, *sets, "train.epochs=2", ranks=3)
                done = self.change(run, LOWER, sets=(*sets, "train.epochs=4"), ranks=ranks)
                self.assertIn("optimizer.lr is 0.001 from step 26 on, and was 0.002\n", done.err)
                self.assert_same_run(run, whole)
                self.assertEqual(self.rates(run), self.rates(whole))

    def test_nothing_changes_by_accident(self):
        self.train("mlp", "run", "train.epochs=2")
        self.refused([*self.arguments("run", (), [LOWER])],
                     "run/recipe.toml belongs to a run of a different recipe: optimizer.lr is 0.002 there, and 0.001 now (take another "
                     "--run-dir, or the old value; --change optimizer.lr=... resumes with what is stated now)")
        self.refused([*self.arguments("run", [LOWER], ["optimizer.clip_norm=1", "optimizer.eps=1e-6"])],
                     "; --change optimizer.eps=... --change optimizer.clip_norm=... resumes with", ranks=[0])
        # What cannot be asked for is not offered.
        self.refused([*self.arguments("run", [LOWER], ["optimizer.clip_norm=1", "seed=9"])],
                     "seed is 3 there, and 9 now; optimizer.clip_norm is 0.0 there, and 1.0 now (take another --run-dir, "
                     "or the old values)", ranks=[0])

    def test_a_changed_run_is_resumed_as_it_is(self):
        sets = ("train.epochs=2",)
        self.train("mlp", "run", *sets)
        self.change("run", LOWER, "train.epochs=3", sets=sets)
        self.refused(self.arguments("run", (), ["train.epochs=4"]), "optimizer.lr is 0.001 there, and 0.002 now", ranks=[0])
        self.train("mlp", "run", LOWER, "train.epochs=4", ranks=2)  # the recipe has the new value now
        self.train("mlp", "whole", DROP, "train.epochs=4")
        self.assert_same_run("run", "whole")
        self.change("run", "optimizer.lr=2e-3", sets=["train.epochs=5"])  # and back
        back = {"step": 4 * STEPS, "key": "optimizer.lr", "before": "0.001", "after": "0.002"}
        self.assertEqual(self.changes_of("run"), [RECORD, back])
        recipe = self.folder / "run" / "recipe.toml"
        done = self.quern("train", recipe, "--run-dir", "run", "--change", "train.epochs=6")
        self.assertEqual(done.code, 0, done)
        self.assertEqual(self.changes_of("run"), [RECORD, back])

    def test_killed_and_started_again_with_the_same_command(self):
        sets = ("train.epochs=30", "checkpoint.every_epochs=10")
        self.train("mlp", "whole", DROP, *sets)
        self.train("mlp", "run", *sets, "train.epochs=2")
        words = self.arguments("run", [LOWER], sets)

        def killed(ranks, condition):
            run = training.Run(*words, cwd=self.folder, ranks=ranks)
            self.assertTrue(run.wait_until(condition), "the run ended before it could be killed")
            run.kill()

        folder = self.folder / "run"
        killed(2, lambda: f'"step":{3 * STEPS},' in (folder / "metrics.jsonl").read_text())
        self.assertEqual(checkpoint_steps(folder), [2 * STEPS])  # none of after the change
        killed(3, lambda: 10 * STEPS in checkpoint_steps(folder))
        done = training.Run(*words, cwd=self.folder, ranks=2).wait()
        self.assertEqual(set(done.codes), {0}, done)
        self.assertNotIn("and was 0.002", done.err)
        self.assert_same_run("run", "whole")
        told = [{key: RECORD[key] for key in ("key", "before", "after")}]
        self.assertEqual([event.get("changes") for event in self.events("run")], [None, told, told, None])
        self.assertEqual(self.changes_of("run"), [RECORD])

    def test_a_schedule_is_a_function_of_the_step(self):
        cosine = 'optimizer.schedule={type="cosine", warmup_steps=5}'
        self.train("mlp", "whole", cosine, "train.epochs=4")
        self.train("mlp", "run", "train.epochs=2")
        self.change("run", cosine, sets=["train.epochs=4"], ranks=2)
        self.assertEqual(self.rates("run")[2 * STEPS:], self.rates("whole")[2 * STEPS:])
        self.assertEqual([change["key"] for change in self.changes_of("run")],
                         ["optimizer.schedule.type", "optimizer.schedule.warmup_steps"])

    def test_a_cosine_may_become_longer(self):
        cosine = 'optimizer.schedule="cosine"'
        self.train("mlp", "run", cosine, "train.epochs=2")
        self.refused(self.arguments("run", (), [cosine, "train.epochs=4"]), "train.epochs is 2 there, and 4 now",
                     "; --change train.epochs=... resumes with", ranks=[0])
        self.change("run", "train.epochs=4", sets=[cosine])
        self.train("mlp", "whole", cosine, "train.epochs=4")
        self.assertEqual(self.rates("run")[2 * STEPS:], self.rates("whole")[2 * STEPS:])
        self.assertNotEqual(self.rates("run")[:2 * STEPS], self.rates("whole")[:2 * STEPS])
        self.assertEqual([change["key"] for change in self.changes_of("run")], ["train.epochs"])

    def test_other_settings_of_the_optimizer(self):
        self.train("mlp", "plain", "train.epochs=3")
        for number, change in enumerate(("optimizer.weight_decay=0.1", "optimizer.clip_norm=0.01", "optimizer.eps=1e-2",
                                         "optimizer.betas=[0.5, 0.9]")):
            run = f"run-{number}"
            self.train("mlp", run, "train.epochs=2")
            self.change(run, change, sets=["train.epochs=3"])
            self.assertNotEqual(self.hash(run), self.hash("plain"), change)
            self.assertEqual([done["key"] for done in self.changes_of(run)], [change.split("=")[0]])

    def test_what_may_change_anyway_may_be_asked_for_as_well(self):
        self.train("mlp", "whole")
        self.train("mlp", "run", "train.epochs=2")
        self.change("run", "train.epochs=3", "train.patience=2", "checkpoint.keep=1", "data.test=test")
        self.assert_same_run("run", "whole")
        self.assertEqual(self.changes_of("run"), [])

    def test_what_must_stay(self):
        self.train("mlp", "run", "train.epochs=2")
        stays = "cannot change in a run that is resumed (expected a setting of the optimizer other than its type, or a " \
                "key that may change anyway, such as train.epochs)"
        for change in ("data.global_batch=50", "data.shuffle=false", "network.layers.fc1.features=9", "network={}",
                       "seed=3", 'optimizer.type="sgd"', 'optimizer={type="adam", lr=1}', "loss.label_smoothing=0.1",
                       "train.precision=bf16", "data={}"):
            key = change.split("=")[0]
            self.refused(self.arguments("run", [change]), f"error: --change: {key}: {stays}",
                         ranks=(0, 2) if key == "seed" else (0,))
        for change, words in (("lr=1e-3", "lr: unknown key (did you mean 'optimizer.lr'?)"),
                              ("optimizer.lrr=1e-3", "optimizer.lrr: unknown key (did you mean 'optimizer.lr'?)"),
                              ("optimizer.lr=-1", "optimizer.lr: -1.0 is out of range, expected"), ("optimizer.lr", "has no '='"),
                              ("optimizer.schedule.milestones=[3]", "applies only to")):
            self.refused(self.arguments("run", [change]), "error: --change: ", words, ranks=[0])

    def test_momentum_cannot_come_or_go(self):
        sgd = ('optimizer.type="sgd"', "train.epochs=3")
        for before, after in (("0.0", "0.9"), ("0.9", "0.0")):
            self.train("mlp", "run", *sgd, "train.epochs=2", f"optimizer.momentum={before}")
            self.refused(self.arguments("run", [f"optimizer.momentum={after}"], sgd),
                         f"optimizer.momentum is {before} there, and {after} now, but with one of them the optimizer "
                         "keeps an array that it does not have with the other", ranks=[0])
            self.refused(self.arguments("run", (), [*sgd, f"optimizer.momentum={after}"]), "or the old value)", ranks=[0])
            training.shutil.rmtree(self.folder / "run")
        self.train("mlp", "run", *sgd, "train.epochs=2", "optimizer.momentum=0.9")
        self.change("run", "optimizer.momentum=0.5", "optimizer.nesterov=true", sets=sgd)

    def test_without_a_checkpoint_there_is_nothing_to_change(self):
        for more in ([], ["--resume", "never"], ["--check-recipe"]):
            self.refused([*self.arguments("new", [LOWER]), *more],
                         "--change is for a run that is resumed, and 'new' has no checkpoint to resume from (expected "
                         "--set for a new run)", ranks=[0])

    def test_a_folder_whose_run_wrote_no_checkpoint(self):
        self.train("mlp", "run", "train.epochs=2")
        training.shutil.rmtree(self.folder / "run" / "checkpoints")
        (self.folder / "run" / "DONE").unlink()
        self.refused(self.arguments("run", (), ["optimizer.lr=0.001"]), "or the old value)", ranks=[0])
        for more in ([], ["--check-recipe"]):
            self.refused([*self.arguments("run", [LOWER]), *more],
                         "has no checkpoint to resume from (expected the recipe as it was, or another --run-dir and "
                         "--set)", ranks=[0])

    def test_a_run_with_nothing_left_to_train(self):
        self.train("mlp", "run", "train.epochs=2")
        self.refused(self.arguments("run", [LOWER], ["train.epochs=2"]),
                     "--change optimizer.lr: nothing is left to train with it (expected more train.epochs, or no "
                     "--change)", ranks=[0])
        patient = ["train.epochs=60", "train.patience=1", "optimizer.lr=1e-12"]
        self.train("mlp", "patient", *patient)
        self.refused(self.arguments("patient", [LOWER], patient[:2]),
                     "nothing is left to train with it (expected more train.patience", ranks=[0])

    def test_a_new_run_from_the_checkpoint_of_another(self):
        self.train("mlp", "whole", DROP, "train.epochs=4")
        self.train("mlp", "first", "train.epochs=2")
        file = checkpoint_file(self.folder / "first", 2 * STEPS)
        done = self.quern(*self.arguments("second", [LOWER], ["train.epochs=4"]), "--resume", file, ranks=2)
        self.assertEqual(set(done.codes), {0}, done)
        self.assertEqual(self.hash("second"), self.hash("whole"))
        self.assertEqual(self.changes_of("second"), [RECORD])
        self.assertEqual(self.changes_of("first"), [])

    def test_commands_tell_of_it(self):
        self.train("mlp", "run", "train.epochs=2")
        self.change("run", LOWER, sets=["train.epochs=3"])
        shown = self.quern("checkpoint", "show", "run")
        self.assertRegex(shown.out, r"(?m)^  changed +step 26: optimizer\.lr 0\.001, before 0\.002$")
        self.assertIn("lr = 0.001", self.quern("checkpoint", "show", "run", "--recipe").out)
        plan = self.quern(*self.arguments("run", ["optimizer.lr=5e-4"], ["train.epochs=4"]), "--dry-run")
        self.assertEqual(plan.code, 0, plan)
        self.assertIn("lr = 5e-04", plan.out)


if __name__ == "__main__":
    training.main()
