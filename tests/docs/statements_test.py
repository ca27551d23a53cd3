# SPDX-License-Identifier: Apache-2.0
"""What the documents name in their text exists, and what exists is named: recipe keys with their values,
recipes, pieces of recipes, tests, commands, variables, sites.

statements_test.py QUERN CTEST BUILD_FOLDER
"""
import json
import re
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

from finder import FENCED, INLINE

ROOT = Path(__file__).resolve().parents[2]
QUERN, CTEST, BUILD = sys.argv[1], sys.argv[2], sys.argv[3]
TABLES = "data|network|loss|optimizer|train|parallel|checkpoint"
KEY = re.compile(rf"((?:{TABLES})\.[a-z_]+(?:\.[a-z_]+)*)(?: = (\"[\w-]+\"))?")
ROW = re.compile(r"(?m)^\| `([\w.]+)` \| (.*?) \| ")
# A test of ctest, and not a file or a key.
TEST = re.compile(r"(?:unit|mpi|e2e|slurm|style|docs|install|golden|jobs|spack|cuda|hip|kernels|analysis"
                  r"|benchmarks|examples)(?:\.[a-z]\w*)+(?:/\d+)?")
FILE = re.compile(r"\.(?:md|py|jsonl|yaml|lock|toml|sbatch|env)$")
COMMIT = re.compile(r"[0-9a-f]{7,12}")
# A name of C++ (`Class::member`, `function()`), and a file without its folder.
NAME = re.compile(r"\w+(?:::~?\w+)*(?:\(\))?")
SOURCE = re.compile(r"\w+\.(?:hpp|cpp|py|sh)")


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def run(*words):
    return subprocess.run([str(word) for word in words], cwd=ROOT, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False)


def documents():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *ROOT.glob("tests/golden/*.md")]
    pages += [ROOT / folder / "README.md" for folder in ("analysis", "benchmarks", "data", "jobs")]
    return {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in sorted(pages)}


def spans(text):
    """What stands in code spans of the text."""
    return [" ".join(found[1].split()) for found in INLINE.finditer(FENCED.sub("", text))]


def key_types():
    """{key: its type} of a recipe, as docs/recipe-keys.md lists them (which a test writes from the program)."""
    return dict(ROW.findall(read("docs/recipe-keys.md")))


def wrong_key(span, types):
    """What is wrong with a span that looks like a recipe key, perhaps with its value; None if nothing is."""
    found = KEY.fullmatch(span)
    if not found:
        return None
    key, value = found[1], found[2]
    if key not in types and not any(name.startswith(key + ".") for name in types):
        return f"there is no recipe key '{key}'"
    kind = types.get(key) or types.get(key + ".type", "")
    if value and '"' in kind and value not in kind:
        return f"{key} cannot be {value}"
    return None


def leaves(table, path=""):
    """The keys of a TOML table with their whole names; layers are for the program to check."""
    for key, value in table.items():
        name = path + key
        if isinstance(value, dict):
            yield from leaves(value, name + ".")
        elif name != "layers":
            yield name


def unknown_names(span, words):
    """What a span names in C++ that is no word of the sources."""
    if not NAME.fullmatch(span) or not ("::" in span or span.endswith("()")):
        return []
    return [word for word in re.findall(r"\w+", span) if word not in words]


def check_recipe(text):
    """The program's message about a whole recipe; "" when it takes it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "recipe.toml"
        file.write_text(text, encoding="utf-8")
        done = run(QUERN, "train", file, "--check-recipe")
        return "" if done.returncode == 0 else done.stderr.strip()


# Files that users make.
MADE = ("train.py", "model.py", "lenet.py", "multinode.py")

# What a piece with a network lacks for a whole recipe.
LACKING = {"name": 'name = "piece"', "data": 'data = {train = "x", global_batch = 64}',
           "loss": 'loss = {type = "cross_entropy"}', "optimizer": 'optimizer = {type = "sgd", lr = 0.1}'}


def wrong_toml(text, types):
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return [str(error)]
    if "layers" in table:
        table, text = {"network": 0}, f"[network]\ninput = [3, 64, 64]\n{text}"
    if "network" not in table:
        return [f"there is no recipe key '{key}'" for key in leaves(table) if key not in types]
    lacking = [line for key, line in LACKING.items() if key not in table]
    message = check_recipe("\n".join([*lacking, text]))
    return [message] if message else []


class StatementsTest(unittest.TestCase):
    maxDiff = None

    def expect_none(self, found, what):
        self.assertEqual(found, [], what + "\n" + "\n".join(found))

    def test_keys(self):
        types = key_types()
        self.assertGreater(len(types), 50)
        found = [f"{name}: {wrong_key(span, types)}" for name, text in documents().items()
                 for span in spans(text) if wrong_key(span, types)]
        self.expect_none(found, "documents name keys or values that recipes do not have")

    def test_pieces_of_recipes(self):
        types, count, found = key_types(), 0, []
        for name, text in documents().items():
            for language, block in FENCED.findall(text):
                if language == "toml":
                    count += 1
                    found += [f"{name}: {wrong}\n{block}" for wrong in wrong_toml(block, types)]
        self.assertGreater(count, 8)
        self.expect_none(found, "documents show recipes that the program does not take")

    def test_pages(self):
        """README.md leads to every page."""
        readme = read("README.md")
        self.expect_none([name for name in documents() if name != "README.md" and f"]({name}" not in readme],
                         "README.md has no link to these pages")

    def test_recipes(self):
        named = spans(read("docs/recipes.md"))
        self.expect_none([path.name for path in sorted((ROOT / "recipes").glob("*.toml"))
                          if path.stem not in named], "docs/recipes.md does not name recipes that are there")

    def test_tests(self):
        listing = json.loads(run(CTEST, "--test-dir", BUILD, "--show-only=json-v1").stdout)
        names = {test["name"] for test in listing["tests"]}
        names |= {name.rsplit("/", 1)[0] for name in names}
        found = [f"{name}: {span}" for name, text in documents().items() for span in spans(text)
                 if TEST.fullmatch(span) and not FILE.search(span) and span not in names]
        self.expect_none(found, "documents name tests that this build does not have")

    def test_commands(self):
        """Every command of the program is told of in a document, and in the list of rooms."""
        commands = re.findall(r"(?m)^  ([a-z]+) ", run(QUERN, "--help").stdout.partition("Subcommands:")[2])
        self.assertGreater(len(commands), 8)
        text = "\n".join(documents().values())
        self.expect_none([name for name in commands if not re.search(rf"\bquern\s+{name}\b", text)],
                         "no document tells of these commands")
        app = re.search(r"(?m)^app:.*\n  the commands: (.*)$", read("src/rooms.txt"))
        self.assertEqual(sorted(app[1].split(", ")), sorted(commands), "src/rooms.txt lists other commands")

    def test_variables(self):
        """What the program reads from the environment is in the manual page."""
        sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.[ch]pp"))
        found = set(re.findall(r'getenv\("(QUERN_\w+)"\)', sources))
        found |= set(re.findall(r'kWishVariable\w* = "(QUERN_\w+)"', sources))
        self.assertGreater(len(found), 3)
        page = read("docs/quern.1")
        self.expect_none(sorted(name for name in found if name not in page), "docs/quern.1 lacks variables")

    def test_labels(self):
        """Kernels in text and in outputs of the documents have the labels of the sources."""
        rooms = re.findall(r"(?m)^([a-z]+):", read("src/rooms.txt"))
        label = re.compile(rf"\b(?:{'|'.join(rooms)})::[a-z][a-z0-9_]+\b(?!::)")
        sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.[ch]pp"))
        known = set(re.findall(r"quern::([a-z]+::[a-z0-9_]+)", sources))
        named = {(name, found) for name, text in documents().items() for found in label.findall(text)}
        self.assertGreater(len(named), 5)
        self.expect_none([f"{name}: {found}" for name, found in sorted(named) if found not in known],
                         "documents name kernels that are not there")

    def test_names(self):
        """Names of C++ and of files in the text are there."""
        files = [path for top in ("src", "tests", "examples", "analysis", "benchmarks", "data", "jobs", "scripts")
                 for path in (ROOT / top).rglob("*") if path.is_file()]
        words = set(re.findall(r"\w+", "".join(path.read_text(encoding="utf-8") for path in files
                                               if path.suffix in (".hpp", ".cpp", ".py"))))
        found = [f"{name}: {span}" for name, text in documents().items() for span in spans(text)
                 if unknown_names(span, words)]
        self.expect_none(found, "documents name what no source has")
        names = {path.name for path in files}
        found = [f"{name}: {span}" for name, text in documents().items() if name != "CHANGELOG.md"
                 for span in spans(text) if SOURCE.fullmatch(span) and span not in names and span not in MADE]
        self.expect_none(found, "documents name files that are not there")

    def test_commits(self):
        """Commits of figures are in this history."""
        if run("git", "rev-parse", "--is-shallow-repository").stdout.strip() != "false":
            self.skipTest("no clone with its history")
        named = {(name, span) for name, text in documents().items() for span in spans(text) if COMMIT.fullmatch(span)}
        named |= {("benchmarks/history.jsonl", json.loads(line)["commit"])
                  for line in read("benchmarks/history.jsonl").splitlines()}
        self.assertGreater(len(named), 20)
        self.expect_none([f"{name}: {commit}" for name, commit in sorted(named)
                          if run("git", "merge-base", "--is-ancestor", commit, "HEAD").returncode != 0],
                         "documents name commits that are not part of this history")

    def test_sites(self):
        """The README counts the profiles of real systems."""
        profiles = [path.stem for path in (ROOT / "jobs/sites").glob("*.env")
                    if not path.stem.startswith(("generic", "local"))]
        self.assertIn(f"profiles of {len(profiles)} systems", " ".join(read("README.md").split()))

    def test_this_test_can_fail(self):
        types = key_types()
        for span, said in (("optimizer.rate", "no recipe key"), ("data.augment.crops", "no recipe key"),
                           ('parallel.schedule = "2f2b"', "cannot be"), ("optimizer.lr", None),
                           ("data.augment", None), ('data.normalize = "dataset"', None),
                           ("train.toml.in", "no recipe key"), ("a sentence", None)):
            wrong = wrong_key(span, types)
            self.assertEqual(wrong is None, said is None, (span, wrong))
            self.assertIn(said or "", wrong or "")
        words = {"Layer", "forward", "own_floats", "it"}
        for span, unknown in (("Layer::forward", []), ("Layer::forwards", ["forwards"]), ("own_floats()", []),
                              ("own_bytes()", ["own_bytes"]), ("own_bytes", []), ("its()", ["its"]), ("f(x)", [])):
            self.assertEqual(unknown_names(span, words), unknown, span)
        self.assertEqual(len(wrong_toml("[train]\nepoch = 3\n", types)), 1)
        self.assertEqual(len(wrong_toml("[train]\nepochs = 3\n", types)), 0)
        self.assertEqual(len(wrong_toml("[train\n", types)), 1)
        self.assertIn("attention", wrong_toml('layers = [{type = "attention"}]\n', types)[0])


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1])
