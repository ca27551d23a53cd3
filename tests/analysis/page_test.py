# SPDX-License-Identifier: Apache-2.0
"""Names of any letters in links and in Markdown."""
import re
import unittest
from urllib.parse import unquote

from example_run import write_run
from report_test import Page, ReportCase

from quern_report import blocks, markdown, page


class NamesTest(ReportCase):
    def test_names_in_links_and_markdown(self):
        runs = [write_run(self.folder / name, seed=seed, name="<script>x</script>") for seed, name in
                enumerate(("a b", "c|d", "\u5b9e\u9a8c\u4e00", "\u5b9e\u9a8c\u4e8c"))]
        self.report(*runs, "--out", "all")
        self.page(self.folder / "all" / "report.html")
        ids = Page((self.folder / "all" / "report.html").read_text()).ids
        self.assertEqual(len(ids), len(set(ids)))
        self.assertIn("section-2", ids)
        text = (self.folder / "all" / "report.md").read_text()
        pictures = re.findall(r"!\[[^]]*\]\(([^\s<>()|]+)\)", text)
        self.assertEqual(len(pictures), text.count("!["))
        for picture in pictures:
            self.assertTrue((self.folder / "all" / unquote(picture)).exists(), picture)
        outside = re.sub(r"^```\n.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
        self.assertNotIn("<script>", outside)
        self.assertIn("- recipe: &lt;script>x&lt;/script>\n", outside)
        self.assertIn('name = "<script>x</script>"', text)


class MarkdownTest(unittest.TestCase):
    def test_a_header_has_as_many_columns_as_its_rows(self):
        head, rule, row = markdown.table(["setting", "a|b"], [["x|y", "1"]], 1).splitlines()
        self.assertEqual((head, row), ("| setting | a\\|b |", "| x\\|y | 1 |"))
        self.assertEqual(rule, "| --- | ---: |")

    def test_a_listing_ends_at_its_end(self):
        self.assertEqual(markdown.listing(blocks.Listing("<b>", "a\n```\n<c>\n")), "&lt;b>:\n\n````\na\n```\n<c>\n````")


class PageTest(unittest.TestCase):
    def test_sections_have_names_of_their_own(self):
        """Also those without a Latin letter; a section without a title needs none."""
        titles = ("A b", "a-b", "a b 2", "", "\u4e00", "", "\u4e8c")
        drawn = Page(page.html_of(blocks.Report("a", "b", "c", [blocks.Section(title) for title in titles])))
        self.assertEqual(drawn.ids, ["a-b", "a-b-2", "a-b-2-2", "section", "section-2"])
        self.assertEqual(drawn.links, [f"#{name}" for name in drawn.ids])

if __name__ == "__main__":
    unittest.main(verbosity=2)
