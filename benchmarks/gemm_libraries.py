# SPDX-License-Identifier: Apache-2.0
"""The BLAS libraries of this machine, each with the kernels that its processor can run."""

from pathlib import Path

from contender import Process
from workloads import ProblemError

LIBRARIES = {"openblas": ("libopenblas.so.0", "libopenblas.so"),
             "blis": ("libblis.so.5", "libblis.so.4", "libblis.so.3", "libblis.so"),
             "onednn": ("libdnnl.so.3", "libdnnl.so.2", "libdnnl.so")}
# Kernels worth trying (as OpenBLAS and BLIS call them) and what the processor must have for them.
KERNELS = {"haswell": "avx2", "zen": "avx2", "zen3": "avx2", "zen4": "avx512f", "skx": "avx512f",
           "skylakex": "avx512f", "cooperlake": "avx512_bf16", "sapphirerapids": "amx_bf16"}
BLIS_NUMBERS = 26  # of its list of processors; versions differ in what a number means
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "BLIS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def processor_flags():
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return set()
    return {word for line in text.splitlines() if line.startswith("flags") for word in line.split()}


def runnable_kernels():
    flags = processor_flags()
    return {name for name, needed in KERNELS.items() if needed in flags}


def settings_of(library):
    """Environments to try; the first is the library's own choice."""
    if library.startswith("openblas"):
        return [{}, *({"OPENBLAS_CORETYPE": name.upper()} for name in sorted(runnable_kernels()))]
    if library.startswith("blis"):
        return [{}, *({"BLIS_ARCH_TYPE": str(number)} for number in range(BLIS_NUMBERS))]
    return [{}]


def start_first(program, files, environment):
    """(process, "") of the first library that can be used, or (None, why not)."""
    for file in files:
        try:
            return Process([program, file], {**ONE_THREAD, **environment}), ""
        except ProblemError as error:
            why = str(error)
    return None, why


def start_libraries(arguments):
    """({(library, kernels): process}, {library: why it is left out})"""
    given = dict(arguments.library)
    running, missing = {}, {}
    for name in dict.fromkeys([*LIBRARIES, *given]):
        files = [given[name]] if name in given else LIBRARIES[name]
        for environment in settings_of(name):
            process, why = start_first(arguments.program, files, environment)
            if process is None:
                if not environment:
                    missing[name] = why
                    break
                continue  # BLIS ends when it lacks the processor of a number
            label = (name, process.facts["core"])
            wanted = not environment or label[1].lower() in runnable_kernels()
            if wanted and label not in running:
                running[label] = process
            else:
                process.close()
    return running, missing
