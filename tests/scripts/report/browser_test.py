#!/usr/bin/env python3
"""The report's page in a headless Chromium: no error on its console, every chart drawn, the slider moves the prediction,
and the replay keeps the rules of core/telemetry/schedule.h.

    browser_test.py CHROMIUM
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

CHROMIUM = sys.argv.pop(1)
ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "bench/report"), str(pathlib.Path(__file__).parent)]
import made_up  # noqa: E402
import page  # noqa: E402

LISTEN = """<script>window.complaints = []; window.onerror = (message) => { complaints.push(String(message)); };
console.error = console.warn = (...words) => complaints.push(words.join(" "));</script>"""
# What the test does in the page, and what it reads there.
ACT = """<script>
const result = {charts: [...document.querySelectorAll("svg")].map((svg) => svg.childElementCount),
  width: Math.min(...[...document.querySelectorAll("figure.chart svg")].map((svg) => svg.getBoundingClientRect().width)), slider: []};
const section = document.querySelector("section.run-timeline"), slider = section.querySelector("input.cap");
for (const value of [0, 50, 100]) {
  slider.value = value;
  slider.dispatchEvent(new Event("input"));
  result.slider.push({cap: section.querySelector(".cap-text").textContent, prediction: section.querySelector(".prediction").textContent,
    boxes: section.querySelectorAll(".replayed rect.collective").length});
}
result.asRun = section.querySelector(".as-run").textContent;
const work = {gradients: [{bytes: 100, ready_us: 10, update_us: 3}, {bytes: 200, ready_us: 20, update_us: 4}], backward_end_us: 50, clip_us: 5, rest_us: 2};
const link = {alpha_us: 5, us_per_byte: 0.2};
result.rules = {
  plain: replay({...work, wait_for_all: false, overlap: true}, link, 1),
  after: replay({...work, wait_for_all: false, overlap: false}, link, 1),
  clipped: replay({...work, wait_for_all: true, overlap: false}, link, 1),
  slowed: replay({...work, wait_for_all: false, overlap: true}, link, 2)};
result.complaints = complaints;
const out = document.createElement("pre");
out.id = "result";
out.textContent = JSON.stringify(result);
document.body.appendChild(out);
</script>"""


class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        text = page.render(made_up.document())
        text = text.replace("<head>", "<head>" + LISTEN, 1).replace("</body>", ACT + "</body>", 1)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "page.html"
            path.write_text(text, encoding="utf-8")
            dump = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile", "--window-size=1200,900",
                                   "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=120)
        found = re.search(r'<pre id="result">(.*?)</pre>', dump.stdout, re.S)
        assert found, f"the page's own script did not get to its end: {dump.stderr[-2000:]}"
        cls.result = json.loads(found.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))

    def test_the_console_is_silent(self):
        self.assertEqual(self.result["complaints"], [])

    def test_charts_are_drawn(self):
        self.assertGreaterEqual(len(self.result["charts"]), 9)
        self.assertGreater(min(self.result["charts"]), 8)
        self.assertGreater(self.result["width"], 300)

    def test_the_slider_moves_the_prediction(self):
        small, middle, large = self.result["slider"]
        self.assertEqual(len({s["prediction"] for s in self.result["slider"]}), 3, self.result["slider"])
        self.assertEqual(large["cap"], "5.00 MiB")
        self.assertGreater(small["boxes"], middle["boxes"])
        self.assertEqual(large["boxes"], 2 * 2, "2 ranks, the first bucket under its own cap")

    def test_the_replay_gives_the_measured_step_for_the_measured_buckets(self):
        measured, replayed = map(float, re.findall(r"([0-9.]+) ms", self.result["asRun"]))
        self.assertAlmostEqual(replayed / measured, 1, delta=0.01)

    def test_the_rules(self):
        """Worked out by hand: collectives take 25 and 45 µs."""
        plain = self.result["rules"]["plain"]
        self.assertEqual([(b["start_us"], b["end_us"]) for b in plain["buckets"]], [(10, 35), (35, 80)])
        self.assertEqual(plain["step_us"], 80 + 4 + 2)  # 50 + 3, waits 27
        self.assertEqual(plain["exposed_us"], 27)
        after = self.result["rules"]["after"]
        self.assertEqual([(b["start_us"], b["end_us"]) for b in after["buckets"]], [(50, 75), (75, 120)])
        self.assertEqual(after["step_us"], 120 + 4 + 2)
        self.assertEqual(self.result["rules"]["clipped"]["step_us"], 120 + 5 + 3 + 4 + 2)
        slowed = self.result["rules"]["slowed"]
        self.assertEqual(slowed["buckets"][1]["ready_us"], 30)  # 10 µs of work take 20 beside the first collective
        self.assertEqual(slowed["backward_end_us"], 85)  # until 80 it has done 10 + 70/2 = 45


if __name__ == "__main__":
    unittest.main()
