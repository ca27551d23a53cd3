# SPDX-License-Identifier: Apache-2.0
"""The options of sbatch and srun: which there are, which take a value, and how Slurm reads a line of them."""

import collections
import difflib
import re

# line: where it stands. value: "" for a flag. name: the long one.
Option = collections.namedtuple("Option", "line name value")

# Slurm 22.05 (man sbatch, man srun) and what later ones added. A value is required, except for the flags and for those
# that may have one.
VALUED = set("""
account acctg-freq array batch bb bbf begin bell burst-buffer chdir cluster-constraint clusters comment constraint
container container-id core-spec cores-per-socket cpu-freq cpus-per-gpu cpus-per-task deadline delay-boot dependency
distribution error exclude export export-file extra extra-node-info gid gpu-bind gpu-freq gpus gpus-per-node
gpus-per-socket gpus-per-task gres gres-flags hint input job-name kill-on-invalid-dep licenses mail-type mail-user
mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincpus network nodefile nodelist nodes ntasks ntasks-per-core
ntasks-per-gpu ntasks-per-node ntasks-per-socket open-mode output partition power prefer priority profile qos
reservation segment signal sockets-per-node switches thread-spec threads-per-core time time-min tmp tres-bind
tres-per-task uid wait-all-nodes wckey wrap
""".split())
FLAGS = set("""
contiguous get-user-env help hold ignore-pbs no-bell no-kill no-requeue oom-kill-step overcommit oversubscribe parsable
quiet reboot requeue resv-ports spread-job stepmgr test-only usage use-min-nodes verbose version wait
""".split())
WITH_OR_WITHOUT = set("exclusive get-user-env nice no-kill propagate resv-ports requeue-unless".split())
# Of srun alone.
STEP_VALUED = set("""
accel-bind bcast bcast-exclude compress cpu-bind cpus-per-task epilog het-group jobid label-format max-threads mpi
msg-timeout multi-prog prolog relative slurmd-debug task-epilog task-prolog threads tree-width treewidth wait
""".split()) - {"multi-prog", "compress"}
STEP_FLAGS = set("""
allocate disable-status exact external-launcher immediate interactive join kill-on-bad-exit label multi-prog no-allocate
overlap overcommit preserve-env pty quit-on-interrupt send-libs unbuffered use-min-nodes whole
""".split())
# Of plugins that centres have (SPANK).
PLUGINS = set("""
uenv view container-image container-mounts container-mount-home container-name container-save container-workdir
container-writable no-container-mount-home environment nvmps cuda-mps x11 repo
""".split())
SHORT = {"-A": "account", "-a": "array", "-b": "begin", "-B": "extra-node-info", "-c": "cpus-per-task",
         "-C": "constraint", "-D": "chdir", "-d": "dependency", "-e": "error", "-F": "nodefile", "-G": "gpus",
         "-H": "hold", "-i": "input", "-J": "job-name", "-k": "no-kill", "-L": "licenses", "-M": "clusters",
         "-m": "distribution", "-N": "nodes", "-n": "ntasks", "-O": "overcommit", "-o": "output", "-p": "partition",
         "-q": "qos", "-Q": "quiet", "-s": "oversubscribe", "-S": "core-spec", "-t": "time", "-v": "verbose",
         "-W": "wait", "-w": "nodelist", "-x": "exclude"}
STEP_SHORT = {"-K": "kill-on-bad-exit", "-l": "label", "-u": "unbuffered", "-r": "relative", "-T": "threads",
              "-X": "disable-status", "-Z": "no-allocate", "-E": "preserve-env", "-I": "immediate"}
# What other systems and common sense call them.
MEANT = {"walltime": "time", "queue": "partition", "project": "account", "name": "job-name", "memory": "mem",
         "cpus": "cpus-per-task", "cores": "cpus-per-task", "threads": "cpus-per-task", "gpu": "gpus-per-node",
         "tasks": "ntasks", "ppn": "ntasks-per-node", "node": "nodes",
         "email": "mail-user", "stdout": "output", "stderr": "error", "log": "output", "workdir": "chdir"}
ALIASES = {"tasks-per-node": "ntasks-per-node"}
BATCH_OPTIONS = VALUED | FLAGS | WITH_OR_WITHOUT | PLUGINS
STEP_OPTIONS = BATCH_OPTIONS | STEP_VALUED | STEP_FLAGS


def full_name(name, known=frozenset(BATCH_OPTIONS)):
    """The option meant by name, of which getopt takes any beginning that is unique; None when there is none."""
    name = ALIASES.get(name, name)
    if name in known:
        return name
    fitting = [one for one in known if one.startswith(name)]
    return fitting[0] if len(fitting) == 1 and name else None


def nearest(name):
    if name in MEANT:
        return MEANT[name]
    found = difflib.get_close_matches(name.lower().replace("_", "-"), BATCH_OPTIONS, 1, 0.75)
    return found[0] if found else ""


def split_line(text):
    """The words of an #SBATCH line as Slurm sees them, and the quote that is not closed, or "". A comment ends it."""
    words, quote, word = [], "", None
    at = 0
    while at < len(text):
        character = text[at]
        if quote:
            if character == quote:
                quote = ""
            else:
                word += character
        elif character in "'\"":
            quote, word = character, word or ""
        elif character == "\\":
            at += 1
            if at < len(text):
                word = (word or "") + text[at]
        elif character in " \t\r":
            if word is not None:
                words.append(word)
            word = None
        elif character == "#" and word is None:
            break
        else:
            word = (word or "") + character
        at += 1
    if word is not None:
        words.append(word)
    return words, quote


def parse(words, line, step=False):
    """The options at the front of words, as a list, and what follows them."""
    found, rest = [], list(words)
    known = STEP_OPTIONS if step else BATCH_OPTIONS
    while rest and re.match(r"-.", rest[0]):
        word = rest.pop(0)
        if word == "--":
            break
        if word.startswith("--"):
            written, equals, value = word[2:].partition("=")
            name = full_name(written, known) or written
            # An option that nobody knows takes the next word only where another option follows it, or nothing.
            valued = name in VALUED or (step and name in STEP_VALUED) or name in PLUGINS
            unknown = name not in known and (len(rest) == 1 or rest[1:2] and rest[1].startswith("-"))
            if not equals and name not in FLAGS and (valued or unknown) and rest and (valued or rest[0][:1] != "-"):
                value = rest.pop(0)
            found.append(Option(line, name, value))
        else:
            name = SHORT.get(word[:2]) or (STEP_SHORT.get(word[:2]) if step else None) or word[1:2]
            value = word[2:]
            takes = name in VALUED or (step and name in STEP_VALUED and name != "wait")
            if takes and not value and rest:
                value = rest.pop(0)
            found.append(Option(line, name, value))
    return found, rest
