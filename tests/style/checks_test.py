# SPDX-License-Identifier: Apache-2.0
"""Each check finds what it forbids, in a small tree made for it, and nothing in a clean one."""
import os
import pathlib
import tempfile
import unittest
import unittest.mock

import check_api
import check_drawing
import check_joined
import check_kernel_choice
import check_labels
import check_one_definition
import check_rooms
import check_sizes
import check_texts

ROOMS = """# a comment
base:
  errors
tensor: base
  views
layers: tensor
  layers: forward,
  backward
comm: base
  ranks

vendor Kokkos: tensor layers
"""


class CheckCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("src/rooms.txt", ROOMS)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def assert_found(self, check, *words):
        offences = check(self.root)
        self.assertEqual(len(offences), 1, offences)
        for word in words:
            self.assertIn(word, offences[0])

    def assert_clean(self, check):
        self.assertEqual(check(self.root), [])


class JoinedTest(CheckCase):
    FIRST = """namespace quern {

namespace {

using std::size_t;

constexpr double kFloat = 4;  // bytes

/// Twice.
template <class T>
T twice(const T& value, int times = 2) {
  return times * value;
}

struct Row final : Base {
  int kInside;
};

}  // namespace

}  // namespace quern
"""

    def second(self, text, room="layers", around="quern"):
        self.write(f"src/{room}/b.cpp", f"namespace {around} {{\n\nint kOutside = 1;\n\n"
                   f"namespace {{\n\n{text}\n\n}}  // namespace\n\n}}  // namespace {around}\n")

    def setUp(self):
        super().setUp()
        self.write("src/layers/a.cpp", self.FIRST)

    def test_constant(self):
        self.second("constexpr auto kFloat = 8;")
        self.assert_found(check_joined.check, "src/layers/b.cpp: kFloat", "src/layers/a.cpp")

    def test_type(self):
        self.second("class Row {};")
        self.assert_found(check_joined.check, "Row", "rename it")

    def test_function_of_the_same_parameters(self):
        self.second("template <class T>\nT twice(const T& other, int n) {\n  return other;\n}")
        self.assert_found(check_joined.check, "twice(const T&, int)")

    def test_after_a_function(self):
        self.second("int f() {\n  return 1;\n}\n\nconstexpr int kFloat = 8;")
        self.assert_found(check_joined.check, "kFloat")

    def test_local_constant_that_hides_another_file_s(self):
        self.second("int f() {\n  constexpr int kFloat = 8;\n  return kFloat;\n}")
        self.assert_found(check_joined.check, "src/layers/b.cpp: the local kFloat", "src/layers/a.cpp")
        self.write("src/layers/own.hpp", "inline constexpr int kRows = 6;\n")
        self.second("int f() {\n  constexpr int kRows = 8;\n  return kRows;\n}")
        self.assert_found(check_joined.check, "the local kRows", "src/layers/own.hpp", "rename it")

    def test_function_that_hides_a_header_s(self):
        self.write("src/base/text.hpp", "inline int twice(int value, int times) {\n}\n")
        self.second("int f() {\n  return twice(1, 2);\n}")
        self.assert_clean(check_joined.check)
        self.write("src/layers/b.cpp", '#include "base/text.hpp"\n' + (self.root / "src/layers/b.cpp").read_text())
        self.assert_found(check_joined.check, "src/layers/a.cpp: twice hides", "src/layers/b.cpp", "rename it")

    def test_what_may_stand_twice(self):
        self.second("using std::size_t;\n\nint twice(int value) {\n  int kFloat = 1;\n}\n\n"
                    "constexpr int kOutside = 1;  // kFloat\n\nstruct Other {\n  int kInside;\n};")
        self.assert_clean(check_joined.check)

    def test_other_rooms_and_namespaces(self):
        self.second("constexpr int kFloat = 8;", room="comm")
        self.assert_clean(check_joined.check)
        self.second("constexpr int kFloat = 8;", around="quern::device")
        self.assert_clean(check_joined.check)


class OneDefinitionTest(CheckCase):
    SECOND = "namespace quern {\n\n/// Another.\nclass Plan final : public Base {\n};\n\n}  // namespace quern\n"

    def setUp(self):
        super().setUp()
        self.write("src/layers/plan.hpp",
                   "namespace quern {\n\nclass Row;\n\nstruct Plan {  // of layers\n  struct Row {\n  };\n};\n\n"
                   "struct Plan::Part {\n};\n\n}  // namespace quern\n")
        self.assert_clean(check_one_definition.check)

    def test_same_name_in_another_room(self):
        self.write("src/tensor/plan.hpp", self.SECOND)
        self.assert_found(check_one_definition.check,
                          "src/tensor/plan.hpp: quern::Plan is also defined in src/layers/plan.hpp", "rename it")

    def test_in_a_source(self):
        self.write("src/tensor/view.cpp", "namespace quern {\n\nnamespace {\n\n}  // namespace\n\n"
                   "template <class T>\nstruct Plan {\n};\n\n}  // namespace quern\n")
        self.assert_found(check_one_definition.check, "src/tensor/view.cpp: quern::Plan")

    def test_what_may_stand_twice(self):
        self.write("src/layers/host/plan.hpp", self.SECOND.replace("namespace quern", "namespace quern::host"))
        self.write("src/layers/a.cpp", "namespace quern {\n\nnamespace {\n\nstruct Plan {\n};\n\n}  // namespace\n\n"
                   "}  // namespace quern\n")
        self.write("src/layers/b.cpp", "namespace quern {\n\nstruct Plan;\nenum class Plan : int;\n\n"
                   "struct Row {\n};\n\n}  // namespace quern\n")
        self.assert_clean(check_one_definition.check)


class RoomsTest(CheckCase):
    def setUp(self):
        super().setUp()
        self.write("src/base/a.hpp", "\n#pragma once\n#include <string>\n")
        self.write("src/tensor/view.hpp", "\n#pragma once\n#include <Kokkos_Core.hpp>\n#include \"base/a.hpp\"\n")
        self.write("src/layers/a.cpp", "#include <Kokkos_Core.hpp>\n#include \"tensor/view.hpp\"\n")
        self.write("src/comm/a.cpp", "#include \"base/a.hpp\"\n")

    def test_arrows_reach_through_rooms(self):
        self.write("src/layers/l.cpp", "#include \"tensor/view.hpp\"\n#include \"base/a.hpp\"\n")
        self.assert_clean(check_rooms.check)

    def test_forbidden_arrow(self):
        self.write("src/base/b.cpp", "// first line\n  #  include \"tensor/view.hpp\"\n")
        self.assert_found(check_rooms.check, "src/base/b.cpp:2", "room 'base' may not include")

    def test_sibling_room(self):
        self.write("src/comm/c.cpp", "#include \"tensor/view.hpp\"\n")
        self.assert_found(check_rooms.check, "room 'comm' may not include")

    def test_include_that_is_not_named_from_src_on(self):
        self.write("src/base/b.cpp", "#include \"a.hpp\"\n")
        self.assert_found(check_rooms.check, "is no file of src/")

    def test_vector_registers_are_for_host_folders(self):
        def offences():
            includes = check_rooms.read_includes(self.root)
            return [offence for path in includes for offence in check_rooms.check_host(path, includes)]

        self.write("src/linalg/host/tile.hpp", "#include \"linalg/host/simd.hpp\"\n")
        self.write("src/layers/host/l.cpp", "#include \"linalg/host/tile.hpp\"\n")
        self.assertEqual(offences(), [])
        self.write("src/layers/k.cpp", "#include \"linalg/host/tile.hpp\"\n")
        self.assertEqual(len(offences()), 1)
        self.assertIn("src/layers/k.cpp: uses", offences()[0])

    def test_header_without_pragma_once(self):
        self.write("src/base/b.hpp", "// #pragma once\n")
        self.assert_found(check_rooms.check, "src/base/b.hpp", "#pragma once")

    def test_own_header_in_angles(self):
        self.write("src/base/b.cpp", "#include <base/a.hpp>\n")
        self.assert_found(check_rooms.check, "quotes")

    def test_vendor_header_outside_its_room(self):
        self.write("src/base/b.cpp", "#include <Kokkos_Core.hpp>\n")
        self.assert_found(check_rooms.check, "<Kokkos_Core.hpp> is only for ['tensor', 'layers']")

    def test_vendor_line_that_names_files(self):
        self.write("src/rooms.txt", ROOMS + "vendor mpi.h: comm/mpi\n")
        self.write("src/comm/mpi_world.cpp", "#include <mpi.h>\n")
        self.write("src/comm/mpi/world.cpp", "#include <mpi.h>\n")
        self.assert_clean(check_rooms.check)
        self.write("src/comm/serial.cpp", "#include <mpi.h>\n")
        self.assert_found(check_rooms.check, "src/comm/serial.cpp:1")

    def test_vendor_place_without_anything_of_it(self):
        self.write("src/rooms.txt", ROOMS.replace("tensor layers\n", "tensor layers comm\n"))
        self.assert_found(check_rooms.check, "nothing in 'comm' is of vendor 'Kokkos'")

    def test_names_of_gpus(self):
        self.write("src/rooms.txt", ROOMS + "vendor GPU: tensor/driver\n")
        self.write("src/tensor/driver.hpp", "\n#pragma once\n#ifdef KOKKOS_ENABLE_CUDA\n")
        self.write("src/layers/l.cpp", "// cudaStream_t\n")
        self.assert_clean(check_rooms.check)
        for code in ("cudaStream_t s;", "hipFree(p);", "#ifdef __CUDA_ARCH__", "#if defined(KOKKOS_ENABLE_HIP)",
                     "Kokkos::Cuda().fence();"):
            with self.subTest(code):
                self.write("src/layers/l.cpp", "\n" + code)
                self.assert_found(check_rooms.check, "src/layers/l.cpp:2", "['tensor/driver']")

    def test_fmt_beside_kokkos_through_a_header(self):
        self.write("src/layers/l.cpp", "#include \"tensor/view.hpp\"\n#include <fmt/core.h>\n")
        self.assert_found(check_rooms.check, "src/layers/l.cpp", "<fmt/core.h>",
                          "src/tensor/view.hpp")

    def test_json_in_a_header_beside_kokkos(self):
        self.write("src/base/j.hpp", "\n#pragma once\n#include <nlohmann/json_fwd.hpp>\n")
        self.assert_clean(check_rooms.check)
        self.write("src/layers/l.cpp", "#include \"tensor/view.hpp\"\n#include \"base/j.hpp\"\n")
        self.assert_found(check_rooms.check, "<nlohmann/json_fwd.hpp>", "src/base/j.hpp")

    def test_file_in_no_room(self):
        self.write("src/attic/x.cpp", "")
        self.assert_found(check_rooms.check, "lies in no room")

    def test_circle_of_rooms(self):
        self.write("src/rooms.txt", ROOMS.replace("base:\n", "base: layers\n"))
        self.assertTrue(any("circle" in line for line in check_rooms.check(self.root)))

    def test_arrow_that_nobody_uses(self):
        self.write("src/rooms.txt", ROOMS.replace("comm: base", "comm: base tensor"))
        self.assert_found(check_rooms.check, "'comm' names 'tensor'")

    def test_room_without_a_meaning(self):
        self.write("src/rooms.txt", ROOMS.replace("  ranks\n", ""))
        self.assert_found(check_rooms.check, "room 'comm'")

    def test_unknown_room_in_an_arrow(self):
        self.write("src/rooms.txt", ROOMS.replace("comm: base", "comm: base bass"))
        self.assertIn("'comm' names an unknown room 'bass'", " ".join(check_rooms.check(self.root)))


class DrawingTest(CheckCase):
    def test_drawing(self):
        self.write("docs/architecture.md", f"before\n{check_drawing.BEGIN}{check_drawing.END}after\n")
        self.assert_found(check_drawing.check, "docs/architecture.md", "QUERN_UPDATE_DOCS")
        with unittest.mock.patch.dict(os.environ, QUERN_UPDATE_DOCS="1"):
            self.assert_clean(check_drawing.check)
        self.assertEqual((self.root / "docs/architecture.md").read_text(encoding="utf-8"),
                         "before\n" + check_drawing.BEGIN + """comm       ranks [base]
layers     layers: forward, backward
└─ tensor  views [base]
base       errors
""" + check_drawing.END + "after\n")
        self.assert_clean(check_drawing.check)

    def test_no_place_for_it(self):
        self.write("docs/architecture.md", "```\n```\n")
        self.assert_found(check_drawing.check, "no place")


class ApiTest(CheckCase):
    def setUp(self):
        super().setUp()
        self.write("src/public_headers.txt", "# a comment\nbase/a.hpp\nbase/b.hpp\n")
        self.write("docs/api.md", "| include | what |\n|---|---|\n| `base/a.hpp`, `base/b.hpp` | x |\n"
                                  "#include <quern/base/a.hpp>\n")
        self.write("src/base/a.hpp", "#include <string>\n#include \"base/c.hpp\"\n")
        self.write("src/base/b.hpp", "#include <Kokkos_Core.hpp>\n")
        self.write("src/base/c.hpp", "")

    def test_clean(self):
        self.assert_clean(check_api.check)

    def test_header_that_the_table_leaves_out(self):
        self.write("docs/api.md", "| `base/a.hpp` | `base/b.hpp` |\n")
        self.assert_found(check_api.check, "does not name base/b.hpp")

    def test_header_that_is_not_public(self):
        self.write("docs/api.md", "| `base/a.hpp`, `base/b.hpp`, `base/c.hpp` | x |\n")
        self.assert_found(check_api.check, "names base/c.hpp")

    def test_example_that_includes_more(self):
        self.write("examples/e.cpp", "#include <quern/base/b.hpp>\n#include <quern/base/c.hpp>\n")
        self.assert_found(check_api.check, "examples/e.cpp", "base/c.hpp")

    def test_no_such_header(self):
        (self.root / "src/base/b.hpp").unlink()
        self.assert_found(check_api.check, "base/b.hpp is no file")

    def test_vendor_through_a_header(self):
        self.write("src/base/c.hpp", "#include <hdf5.h>\n")
        self.assert_found(check_api.check, "base/a.hpp -> base/c.hpp", "<hdf5.h>")

    def test_private_through_a_header(self):
        self.write("src/base/c.hpp", "#include \"base/host/d.hpp\"\n")
        self.write("src/base/host/d.hpp", "")
        self.assert_found(check_api.check, "base/c.hpp -> base/host/d.hpp is private")


class SizesTest(CheckCase):
    def test_limits(self):
        self.write("src/base/a.cpp", "\n" * 500)
        self.write("tests/unit/a_test.cpp", "\n" * 600)
        self.write("src/base/CMakeLists.txt", "\n" * 60)
        self.assert_clean(check_sizes.check)

    def test_long_file(self):
        self.write("src/base/a.cpp", "\n" * 501)
        self.assert_found(check_sizes.check, "src/base/a.cpp: 501 lines")

    def test_long_pair(self):
        self.write("src/base/a.hpp", "\n" * 200)
        self.write("src/base/a.cpp", "\n" * 301)
        self.assert_found(check_sizes.check, "src/base/a.hpp and a.cpp: 501 lines together")

    def test_good_pairs(self):
        self.write("src/base/a.hpp", "\n" * 200)
        self.write("src/base/a.cpp", "\n" * 300)
        self.write("src/base/b.cpp", "\n" * 400)      # another stem
        self.write("src/tensor/a.cpp", "\n" * 400)    # another folder
        self.write("tests/unit/a.hpp", "\n" * 300)
        self.write("tests/unit/a.cpp", "\n" * 300)
        self.assert_clean(check_sizes.check)

    def test_long_test(self):
        self.write("tests/unit/a_test.cpp", "\n" * 601)
        self.assert_found(check_sizes.check, "601")

    def test_long_cmake_file(self):
        self.write("src/base/CMakeLists.txt", "\n" * 61)
        self.assert_found(check_sizes.check, "61")


class LabelsTest(CheckCase):
    def check_code(self, code):
        self.write("src/layers/k.cpp", code)
        return check_labels.check(self.root)

    def test_good_labels(self):
        self.assertEqual(self.check_code("""
            Kokkos::parallel_for(
                "quern::layers::relu", policy, body);  // parallel_for(policy)
            Kokkos::parallel_for(label, policy, body);
            FloatView y("quern::layers::" + name, 3);
            View<float> z(Kokkos::view_alloc("quern::layers::z", Kokkos::WithoutInitializing), n);
            exec.fence("quern::layers::read: the host looks");"""), [])

    def test_costs_name_kernels(self):
        self.write("src/bench/kernel_cost.cpp", """
            {"quern::layers::relu", 1}, {"quern::optim::clip_sums", 1},
            {"quern::optim::clip_chunks", 1}""")
        self.write("src/optim/clip.cpp", """
            View<double>("quern::optim::clip_sums", n);
            run("quern::optim::clip_chunks");""")
        self.assertEqual(self.check_code("f(\"quern::layers::tanh\");"), [
            "src/bench/kernel_cost.cpp:2: no kernel has the label \"quern::layers::relu\"",
            "src/bench/kernel_cost.cpp:2: no kernel has the label \"quern::optim::clip_sums\""])

    def test_bad_labels(self):
        for code in ("Kokkos::parallel_for(RangePolicy(exec, 0, n), body);",
                     "Kokkos::parallel_reduce(\"sum\", policy, body);",
                     "Kokkos::parallel_scan<T>(\n  n, body);",
                     "parallel_for(\"quern::loss::relu\", policy, body);",
                     "parallel_for(\"quern::layers::ReLU\", policy, body);",
                     "FloatView y(\"y\", 3);", "Kokkos::View<float*> y{\"y\", 3};",
                     "auto y = FloatView(\"y\", 3);", "f(Kokkos::view_alloc(\"y\"));",
                     "Kokkos::fence();", "exec.fence(\"wait\");"):
            with self.subTest(code):
                self.assertEqual(len(self.check_code(code)), 1)


class KernelChoiceTest(CheckCase):
    def test_clean(self):
        self.write("src/layers/a.cpp", """
            // if (runs_device_kernels()) device::a(x);
            const auto run = choose_kernels<decltype(device::a)>(
                {.host = host_set<host::a>(), .device = device::a, .device_bf16 =
                     device::b});""")
        self.write("src/layers/host/a.cpp", "void a(int x) { host::b(x); }")
        self.write("src/runtime/a.cpp", "if (kHostExecution) return;")
        self.assert_clean(check_kernel_choice.check)

    def test_other_ways_to_choose(self):
        for code in ("if (runs_device_kernels()) return;", "if constexpr (kHostExecution) return;",
                     "host::a(x);", "const auto run = &device::a;"):
            with self.subTest(code):
                self.write("src/layers/a.cpp", "\n" + code)
                self.assert_found(check_kernel_choice.check, "src/layers/a.cpp:2", "choose_kernels()")

    def test_a_place_that_is_listed_for_nothing(self):
        self.write("src/tensor/activation.cpp", "Layout flat_layout() { return Layout::nc; }")
        self.assert_found(check_kernel_choice.check, "src/tensor/activation.cpp is listed")


class TextsTest(CheckCase):
    licence = "// " + check_texts.SPDX + "\n"

    def test_clean(self):
        self.write("a.cpp", self.licence)
        self.write("run", "#!/bin/sh\n# " + check_texts.SPDX + "\n")
        self.write("docs/b.md", "# Other page\n")
        self.write("a.md", "[b](docs/b.md#other-page) [self](#top) [far](https://example.org)\n# Top\n")
        self.assert_clean(check_texts.check)

    def test_missing_licence(self):
        self.write("a.hpp", "\n\n" + self.licence)
        self.assert_found(check_texts.check, "a.hpp", "SPDX")

    def test_missing_licence_of_a_script(self):
        self.write("run", "#!/bin/sh\n")
        self.assert_found(check_texts.check, "run")

    def test_a_program_that_cannot_be_called(self):
        text = "#!/usr/bin/env python3\n# " + check_texts.SPDX + "\n"
        for name in ("benchmarks/a.py", "scripts/a", "jobs/a"):
            self.write(name, text)
            self.assert_found(check_texts.check, name, "executable")
            (self.root / name).chmod(0o755)
        self.write("tests/a.py", text)
        self.write("jobs/a.sbatch", text)
        self.assert_clean(check_texts.check)

    def test_missing_licence_of_settings(self):
        for name in ("CMakeLists.txt", "cmake/a.cmake", "a.cmake.in", "a.toml", "a.yaml", "CITATION.cff",
                     ".clang-format", "lib/a.sh"):
            with self.subTest(name):
                self.write(name, "# something else\n# " + check_texts.SPDX + "\n")
                self.assert_found(check_texts.check, name, "SPDX")
                self.write(name, "# " + check_texts.SPDX + "\n")
                self.assert_clean(check_texts.check)
        self.write("lib/a.sh", "# shellcheck shell=bash\n# " + check_texts.SPDX + "\n")
        self.assert_clean(check_texts.check)

    def test_registry_host(self):
        self.write("a.txt", f"x\nhttp://{check_texts.HOSTS[0]}/debian\n")
        self.assert_found(check_texts.check, "a.txt:2")

    def test_machine_path(self):
        for path in ("/ro" + "ot/x", "/ho" + "me/ada/quern", "/Us" + "ers/ada"):
            self.write("a.txt", f"cd {path}\n")
            self.assert_found(check_texts.check, "a.txt:1", path.rstrip("x").split("/quern")[0])
        self.write("a.txt", "cd /home/you/runs && ls build/root /opt/kokkos /scratch/project\n")
        self.assert_clean(check_texts.check)

    def test_diary(self):
        self.write("a.md", "# A\n\nNothing ran on a GPU so\nfar.\n")
        self.assert_found(check_texts.check, "a.md:3", "of a diary")
        self.write("a.md", "# A\n\nToday it takes 3 s.\n")
        self.assert_found(check_texts.check, "a.md:3", "'Today'")
        self.write("a.md", "# A\n\nIn ten runs on this Zen 3 it took 4 s.\n")
        self.assert_found(check_texts.check, "a.md:3", "'this Zen'")

    def test_other_words(self):
        self.write("src/a.cpp", "// SPDX-License-Identifier: Apache-2.0\nfail(\"no picture\");\n")
        self.assert_found(check_texts.check, "src/a.cpp:2", "'picture'")
        self.write("src/a.cpp", "// SPDX-License-Identifier: Apache-2.0\nfail(\"no image\");\n")
        self.assert_clean(check_texts.check)

    def test_dead_link(self):
        self.write("a.md", "[b](docs/b.md)\n")
        self.assert_found(check_texts.check, "docs/b.md")

    def test_dead_anchor(self):
        self.write("a.md", "# One\n[b](#two)\n")
        self.assert_found(check_texts.check, "#two")


if __name__ == "__main__":
    unittest.main(verbosity=2)
