# SPDX-License-Identifier: Apache-2.0
"""A folder for each test, which goes with it."""
import tempfile
import unittest
from pathlib import Path


class FolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
