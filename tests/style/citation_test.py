# SPDX-License-Identifier: Apache-2.0
"""CITATION.cff: the keys that the Citation File Format 1.2.0 requires, no unknown ones, and the version
of CMakeLists.txt."""
import re
import unittest

import tree

REQUIRED = {"authors", "cff-version", "message", "title"}
KNOWN = REQUIRED | {"abstract", "commit", "contact", "date-released", "doi", "identifiers", "keywords",
                    "license", "license-url", "preferred-citation", "references", "repository",
                    "repository-artifact", "repository-code", "type", "url", "version"}


class CitationTest(unittest.TestCase):
    def setUp(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("no PyYAML")
        self.text = yaml.safe_load((tree.ROOT / "CITATION.cff").read_text(encoding="utf-8"))

    def test_keys(self):
        self.assertLessEqual(REQUIRED, set(self.text))
        self.assertLessEqual(set(self.text), KNOWN)
        self.assertEqual(self.text["cff-version"], "1.2.0")
        self.assertEqual(self.text["type"], "software")
        self.assertEqual(self.text["license"], "Apache-2.0")
        for author in self.text["authors"]:
            self.assertTrue(author.get("name") or author.get("family-names"), author)

    def test_version(self):
        cmake = (tree.ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        self.assertEqual(self.text["version"], re.search(r"VERSION (\S+) LANGUAGES", cmake)[1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
