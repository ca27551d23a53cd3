# SPDX-License-Identifier: Apache-2.0
"""What the documents tell readers to type exists: commands, options, recipes, keys, files, tests.

commands_test.py QUERN CTEST BUILD_FOLDER
"""
import functools
import json
import re
import subprocess
import sys
import unittest
from pathlib import Path

from finder import commands, paths

ROOT = Path(__file__).resolve().parents[2]
QUERN, CTEST, BUILD = sys.argv[1], sys.argv[2], Path(sys.argv[3]).resolve()
SKIPPED = ("build", "runs", "data/", ".git", "spack/", "venv/", ".venv/")
# Files that runs, builds and users make.
MADE = re.compile(r"(?:runs|checkpoints|job|log|report|build|data|venv|spack|mnist\w*|share|bin|libexec|lib|include)/")
OPTION = re.compile(r"--?[A-Za-z]")


def documents():
    for path in sorted(ROOT.rglob("*.md")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(SKIPPED) or name == "data/README.md":
            yield name, path.read_text(encoding="utf-8")


@functools.cache
def output(*words):
    done = subprocess.run([str(word) for word in words], cwd=ROOT, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise ValueError(f"'{' '.join(map(str, words))}' ends with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def options_in(text):
    return set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", text))


@functools.cache
def recipe_keys():
    text = (ROOT / "docs/recipe-keys.md").read_text(encoding="utf-8")
    return set(re.findall(r"(?m)^\| `([\w.]+)` \|", text))


@functools.cache
def presets(kind):
    document = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))
    return {preset["name"] for preset in document[kind]}


@functools.cache
def tests():
    """{name: labels} of all tests of this build."""
    listing = json.loads(output(CTEST, "--test-dir", BUILD, "--show-only=json-v1"))
    return {test["name"]: next((p["value"] for p in test.get("properties", []) if p["name"] == "LABELS"), [])
            for test in listing["tests"]}


def own_options(words):
    for word in words:
        if word == "--":
            return
        if OPTION.match(word):
            yield word.split("=", 1)[0]


def is_placeholder(word):
    return not word or "..." in word or re.search(r"[<>$*{]", word) or word.isupper()


def is_anybodys(path):
    """A path with a name in capitals: OUT/seeds.md, jobs/sites/NAME.env."""
    return re.search(r"(?:^|/)[A-Z]+(?:/|\.env$)", path)


def check_recipe(word):
    if word.startswith("recipes/") and not is_placeholder(word) and not (ROOT / word).is_file():
        yield f"there is no {word}"


def check_setting(setting):
    key = re.sub(r"^network\.layers(\.|\[).*", "network.layers", setting.split("=", 1)[0])
    known = recipe_keys()
    if not is_placeholder(key) and "KEY" not in setting and "=" in setting and \
            key not in known and not any(name.startswith(key + ".") for name in known):
        yield f"there is no recipe key '{key}'"


def check_training(recipe, settings, ranks=1):
    """The program takes the recipe with these settings on so many ranks."""
    words = [recipe, *settings]
    if not (ROOT / recipe).is_file() or any(is_placeholder(word) or re.search(r"=[A-Z]+$", word) for word in words):
        return
    overrides = [word for setting in settings for word in ("--set", setting)]
    try:
        output(QUERN, "train", recipe, "--check-recipe", "--ranks", ranks, *overrides)
    except ValueError as error:
        yield str(error)


def check_quern(command):
    words = command.words[1:]
    subcommands = []
    help_text = output(QUERN, "--help")
    while words and re.fullmatch(r"[a-z|]+", words[0]) and "Subcommands:" in help_text:
        names = words[0].split("|")
        for name in names:
            if not re.search(rf"(?m)^  {name} ", help_text):
                yield f"quern {' '.join(subcommands)} has no command '{name}'"
                return
        subcommands.append(names[0])
        help_text = output(QUERN, *subcommands, "--help")
        words = words[1:]
    known = options_in(help_text)
    for option in own_options(words):
        if option not in known:
            yield f"quern {' '.join(subcommands)} has no option '{option}'"
    settings = []
    for place, word in enumerate(words):
        yield from check_recipe(word)
        if word == "--set":
            settings += words[place + 1:place + 2]
    for setting in settings:
        yield from check_setting(setting)
    if command.whole and subcommands == ["train"] and words and not any("parallel." in word for word in settings):
        yield from check_training(words[0], settings)


def check_submitted(given, settings):
    """The training of a job: its keys are settings of the recipe by other names."""
    names = {"STRATEGY": "strategy", "PIPELINE": "pipeline", "TENSOR": "tensor", "MICRO_BATCHES": "micro_batches"}
    settings = [f"parallel.{name}={given[key]}" for key, name in names.items() if key in given] + settings
    ranks = [given.get("NODES", "1"), given.get("RANKS", "1")]
    if all(word.isdigit() for word in ranks):
        yield from check_training(given.get("RECIPE", "?"), settings, int(ranks[0]) * int(ranks[1]))


def check_submit(command):
    words = command.words[1:]
    known = options_in(output("jobs/submit", "--help"))
    options = list(own_options(words))
    yield from (f"jobs/submit has no option '{option}'" for option in options if option not in known)
    site, template, *keys = [word for word in words if not OPTION.match(word)] + [None, None]
    keys = [key for key in keys if key]
    if site is None or template is None or is_placeholder(template):
        return
    if not is_placeholder(site) and not (ROOT / f"jobs/sites/{site}.env").is_file():
        yield f"there is no site '{site}'"
        return
    try:
        listed = output("jobs/submit", "--keys", "generic", template)
    except ValueError as error:
        yield str(error)
        return
    given = {key.split("=", 1)[0] for key in keys if "=" in key}
    all_keys = set(re.findall(r"(?m)^([A-Z_]+) ", listed))
    yield from (f"{template} has no key '{key}'" for key in sorted(given - all_keys))
    for key in keys:
        name, _, value = key.partition("=")
        if name == "RECIPE":
            yield from check_recipe(value)
        if name == "SET":
            yield from check_setting(value)
    if command.whole:
        yield from check_submitted(dict(key.split("=", 1) for key in keys if "=" in key and key[:4] != "SET="),
                                   [key[4:] for key in keys if key.startswith("SET=")])
    required = set(re.findall(r"(?m)^([A-Z_]+) +required ", listed))
    if command.whole and keys and "..." not in keys and required - given:
        yield f"{template} needs {', '.join(sorted(required - given))}"


def script_options(path, word):
    """The options of a script, or of its subcommand where `word` is one."""
    is_python = path.suffix == ".py" or "python" in path.read_text(encoding="utf-8").partition("\n")[0]
    runner = [sys.executable, "-B"] if is_python else ["bash"]
    try:
        text = output(*runner, path, "--help")
        if re.fullmatch("[a-z]+", word) and re.search(rf"(?m)^  {path.name} {word} ", text):
            text = output(*runner, path, word, "--help")
        return options_in(text)
    except ValueError as error:
        if "ModuleNotFoundError" not in str(error):
            raise
        return options_in(path.read_text(encoding="utf-8"))  # torch or jax, which are not here


def check_script(command):
    path = ROOT / command.program
    if is_placeholder(command.program) or is_anybodys(command.program) or path.is_dir():
        return
    if not path.is_file():
        yield f"there is no {command.program}"
        return
    options = list(own_options(command.words[1:]))
    if options:
        known = script_options(path, command.words[1])
        yield from (f"{command.program} has no option '{option}'" for option in options if option not in known)
    for word in command.words[1:]:
        yield from check_recipe(word)


def check_cmake(command):
    kind = {"ctest": "testPresets"}.get(command.program, "configurePresets")
    if "--build" in command.words:
        kind = "buildPresets"
    for place, word in enumerate(command.words):
        if word in ("--preset", "--build") and place + 1 < len(command.words):
            name = command.words[place + 1]
            if word == "--preset" and not is_placeholder(name) and name not in presets(kind):
                yield f"there is no preset '{name}' in {kind}"
        option = re.match(r"-D(QUERN_\w+)", word)
        if option and option[1] not in cmake_options():
            yield f"there is no option {option[1]}"
    if command.program == "ctest":
        yield from check_ctest(command)


@functools.cache
def cmake_options():
    files = [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")]
    return set(re.findall(r"QUERN_[A-Z_]+", "".join(path.read_text(encoding="utf-8") for path in files)))


def check_ctest(command):
    words = command.words
    if len(words) > 1 and not {"--preset", "--test-dir"} & set(words):
        yield "ctest finds no tests in the root of the repository: --preset is missing"
    for place, word in enumerate(words[:-1]):
        pattern = words[place + 1]
        names = {"-R": tests(), "-L": {label: 0 for labels in tests().values() for label in labels}}.get(word)
        if names is not None and not any(re.search(pattern, name) for name in names):
            yield f"no test of this build fits {word} '{pattern}'"


def problems(command):
    program = command.program.rsplit("/", 1)[-1] if command.program.startswith("build/") else command.program
    if program == "quern":
        return check_quern(command)
    if program in ("cmake", "ctest"):
        return check_cmake(command)
    return check_submit(command) if program == "jobs/submit" else check_script(command)


class CommandsTest(unittest.TestCase):
    maxDiff = None

    def test_commands(self):
        found, count = [], 0
        for name, text in documents():
            for command in commands(name, text):
                count += 1
                found += [f"{command}\n    {problem}" for problem in problems(command)]
        self.assertGreater(count, 100)
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_files(self):
        found = []
        for name, text in documents():
            folder = (ROOT / name).parent
            found += [f"{name}: {path}" for path in paths(text) if not MADE.match(path) and
                      not is_anybodys(path) and
                      not any((base / path).exists() for base in (ROOT, ROOT / "src", folder))]
        self.assertEqual(found, [], "documents name files that are not there")

    def test_variables(self):
        """QUERN_... that a document names is read somewhere."""
        sources = "".join(path.read_text(encoding="utf-8", errors="replace")
                          for top in ("src", "cmake", "scripts", "jobs", "benchmarks", "spack_repo", "tests")
                          for path in (ROOT / top).rglob("*")
                          if path.is_file() and path.suffix not in (".md", ".h5", ".pyc"))
        sources += (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        sources += (ROOT / "spack.yaml").read_text(encoding="utf-8")
        known = set(re.findall(r"QUERN_\w+", sources))
        found = [f"{name}: {variable}" for name, text in documents()
                 for variable in sorted(set(re.findall(r"\bQUERN_[A-Z0-9_]*[A-Z0-9]", text)) - known)]
        self.assertEqual(found, [], "documents name variables that nothing reads")

    def test_subcommands_have_options_of_their_own(self):
        command, = commands("d", "\n```\nanalysis/report sweep runs/a --by optimizer\n```\n")
        self.assertEqual(list(problems(command)), [])

    def test_this_test_can_fail(self):
        for line, said in (("quern trian x", "no command 'trian'"),
                           ("quern train recipes/none.toml", "no recipes/none.toml"),
                           ("quern train x.toml --runs-dir y", "no option '--runs-dir'"),
                           ("mpirun -n 2 quern train x.toml --set optimizer.rate=1", "recipe key 'optimizer.rate'"),
                           ("quern train recipes/quickstart.toml --set train.epochs=no", "expected an integer"),
                           ("jobs/submit SITE train RECIPE=recipes/resnet50.toml RUN_DIR=b MICRO_BATCHES=8",
                            "contradicts statistics"),
                           ("jobs/submit nowhere train RECIPE=a RUN_DIR=b", "no site 'nowhere'"),
                           ("jobs/submit SITE train RECIPE=a", "needs RUN_DIR"),
                           ("jobs/submit SITE train RECIPE=a RUN_DIR=b NODE=1", "no key 'NODE'"),
                           ("scripts/setup --nothing", "no option '--nothing'"),
                           ("analysis/report compare runs/a --by optimizer", "no option '--by'"),
                           ("python3 benchmarks/none.py", "no benchmarks/none.py"),
                           ("cmake --preset none", "no preset 'none'"),
                           ("cmake --preset release -DQUERN_ENABLE_NONE=ON", "QUERN_ENABLE_NONE"),
                           ("ctest -L unit", "--preset is missing"),
                           ("ctest --preset release -L none", "-L 'none'")):
            found = [problem for command in commands("d", f"\n```\n{line}\n```\n")
                     for problem in problems(command)]
            self.assertEqual(len(found), 1, (line, found))
            self.assertIn(said, found[0])


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv[:1])
