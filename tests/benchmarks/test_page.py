#!/usr/bin/env python3
"""The page of boxsum bench in a real browser: text, charts, colours, no errors, nothing from the network.

Skipped, visibly, where no Chromium is installed (scripts/install_packages browser). Screenshots are kept in
BOXSUM_SCREENSHOTS, where that names a folder, to be looked at.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import browser

PROGRAM = browser.find()
SHAPES = """[...document.querySelectorAll('svg.chart')].map(svg => {
  const frame = svg.getBoundingClientRect();
  const marks = [...svg.querySelectorAll('.mark, .bar')].map(m => m.getBoundingClientRect());
  const paths = [...svg.querySelectorAll('path.line')].map(p => p.getTotalLength());
  const texts = [...svg.querySelectorAll('text')].map(t => t.getBoundingClientRect());
  const inside = r => r.left >= frame.left - 1 && r.right <= frame.right + 1 && r.top >= frame.top - 1 &&
                      r.bottom <= frame.bottom + 1;
  return {width: frame.width, height: frame.height, marks: marks.length, inside: marks.every(inside),
          outside: [...svg.querySelectorAll('text')].filter(t => !inside(t.getBoundingClientRect())).map(t => t.textContent),
          shortest: paths.length ? Math.min(...paths) : null, name: svg.getAttribute('aria-label')};
})"""
CONTRAST = """(() => {
  const rgb = c => c.match(/[0-9.]+/g).slice(0, 3).map(Number).map(v => v / 255)
                    .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  const light = c => { const [r, g, b] = rgb(c); return .2126 * r + .7152 * g + .0722 * b; };
  const ratio = (a, b) => (Math.max(light(a), light(b)) + .05) / (Math.min(light(a), light(b)) + .05);
  const ground = getComputedStyle(document.documentElement).backgroundColor;
  const least = (selector, property) => Math.min(...[...document.querySelectorAll(selector)]
      .map(e => ratio(getComputedStyle(e)[property], ground)));
  return {ground, text: ratio(getComputedStyle(document.body).color, ground), line: least('svg path.line', 'stroke'),
          tick: least('svg .tick', 'fill'), note: least('.note, .summary, td.muted', 'color')};
})()"""


@unittest.skipUnless(PROGRAM, "no Chromium here: scripts/install_packages browser")
class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.dir = pathlib.Path(cls.folder.name)
        cls.page = cls.dir / "page.html"
        cls.histograms = cls.dir / "histograms.html"
        for kind, page in (("sat", cls.page), ("hist", cls.histograms)):
            subprocess.run([os.environ["BOXSUM_EXAMPLE_PAGE"], kind, page, cls.dir / "record.json"], check=True)
        cls.browser = browser.Browser(PROGRAM)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def shot(self, name):
        folder = os.environ.get("BOXSUM_SCREENSHOTS")
        path = pathlib.Path(folder or self.dir) / f"{name}.png"
        self.browser.screenshot(path)
        self.assertGreater(path.stat().st_size, 50_000, "a page of charts is no blank picture")

    def check_quiet(self):
        for kind, text in self.browser.messages:
            self.assertEqual(kind, "request", text)
            self.assertTrue(text.startswith(("file:", "data:")), text)

    def check_charts(self):
        charts = self.browser.evaluate(SHAPES)
        self.assertGreater(len(charts), 8)
        for chart in charts:
            self.assertGreater(chart["width"], 300, chart)
            self.assertGreater(chart["height"], 60, chart)
            self.assertGreater(chart["marks"], 2, chart)
            self.assertTrue(chart["inside"], chart)
            self.assertEqual(chart["outside"], [], chart)
            if chart["shortest"] is not None:
                self.assertGreater(chart["shortest"], 10, chart)

    def test_light_and_dark(self):
        grounds = {}
        for scheme in ("light", "dark"):
            self.browser.open(self.page, scheme)
            self.check_charts()
            colours = self.browser.evaluate(CONTRAST)
            grounds[scheme] = colours["ground"]
            self.assertGreater(colours["text"], 12, scheme)
            self.assertGreater(colours["tick"], 4.5, scheme)
            self.assertGreater(colours["note"], 4.5, scheme)
            self.assertGreater(colours["line"], 3, scheme)
            self.shot(scheme)
            self.check_quiet()
        self.assertEqual(grounds["light"], "rgb(255, 255, 255)")
        self.assertNotEqual(grounds["light"], grounds["dark"])

    def test_histograms(self):
        for scheme in ("light", "dark"):
            self.browser.open(self.histograms, scheme)
            self.check_charts()
            self.shot(f"histograms-{scheme}")
            self.check_quiet()
        text = self.browser.evaluate("document.body.innerText")
        for words in ("Figure 7", "300.4", "prescan_rows_kernel", "2 GPUs were present", "more than 65536 launches"):
            self.assertIn(words, text)

    def test_text(self):
        self.browser.open(self.page)
        text = self.browser.evaluate("document.body.innerText")
        for words in ("Table III", "1r1w-skss-lb", "5.7%", "figures 6 and 7", "T_BRLT-ScanRow > T_ScanRow-BRLT", "163840",
                      "Survey notes", "figure 5", "no GPU (made-up numbers <for tests>)", "2026-01-02"):
            self.assertIn(words, text)
        dead = self.browser.evaluate("""[...document.querySelectorAll('a[href^="#"]')]
            .filter(a => !document.getElementById(a.hash.slice(1))).length""")
        self.assertEqual(dead, 0)

    def test_a_narrow_window_scrolls_tables_only(self):
        self.browser.open(self.page, width=420)
        self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), 420)
        self.shot("narrow")

    def test_paper(self):
        self.browser.open(self.page, "dark")
        pdf = self.browser.pdf()
        self.assertTrue(pdf.startswith(b"%PDF"))
        folder = os.environ.get("BOXSUM_SCREENSHOTS")
        if folder:
            (pathlib.Path(folder) / "page.pdf").write_bytes(pdf)
        self.browser.call("Emulation.setEmulatedMedia", media="print",
                          features=[{"name": "prefers-color-scheme", "value": "dark"}])
        self.assertEqual(self.browser.evaluate("getComputedStyle(document.documentElement).backgroundColor"),
                         "rgb(255, 255, 255)", "paper is light, whatever the reader's screen is")

    def test_the_checks_see_a_broken_page(self):
        broken = self.dir / "broken.html"
        broken.write_text(self.page.read_text().replace("</body>", "<script>undefined_function()</script>"
                                                                   "<img src='missing.png'></body>"))
        self.browser.open(broken)
        kinds = {kind for kind, _ in self.browser.messages}
        self.assertIn("exception", kinds)


if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=2).result
    sys.exit(1 if not result.wasSuccessful() else 77 if PROGRAM is None else 0)
