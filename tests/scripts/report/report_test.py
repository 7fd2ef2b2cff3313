#!/usr/bin/env python3
"""bench/report in parts: the figures that it computes, its charts as XML, the page as a whole."""
import html.parser
import pathlib
import sys
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "bench/report"), str(pathlib.Path(__file__).parent)]
import charts  # noqa: E402
import figures  # noqa: E402
import made_up  # noqa: E402
import page  # noqa: E402


class Figures(unittest.TestCase):
    def test_amdahl_finds_the_share_that_made_the_points(self):
        for share in (0.0, 0.03, 0.5):
            points = [(p, 1 / (share + (1 - share) / p)) for p in (1, 2, 4, 64)]
            self.assertAlmostEqual(figures.amdahl_share(points), share, places=12)
            self.assertAlmostEqual(figures.amdahl_efficiency(share, 4), points[2][1] / 4, places=12)
        self.assertIsNone(figures.amdahl_share([(1, 1.0)]))

    def test_link_fit_finds_alpha_and_beta(self):
        buckets = [{"bytes": n, "transfer_ms": (50 + n * 0.002) * 1e-3} for n in (1000, 50_000, 2_000_000, 9_000_000)]
        alpha, slope = figures.fit_link(buckets)
        self.assertAlmostEqual(alpha, 50, places=6)
        self.assertAlmostEqual(slope, 0.002, places=9)

    def test_link_fit_of_little_or_odd_data(self):
        self.assertIsNone(figures.fit_link([]))
        self.assertIsNone(figures.fit_link([{"bytes": 5, "transfer_ms": 0}]))
        one = [{"bytes": 1000, "transfer_ms": 2.0}] * 2
        self.assertEqual(figures.fit_link(one), (0.0, 2.0))
        falling = [{"bytes": 1000, "transfer_ms": 2.0}, {"bytes": 9000, "transfer_ms": 1.0}]
        alpha, slope = figures.fit_link(falling)
        self.assertEqual(slope, 0.0)
        self.assertTrue(1000 < alpha < 2000)
        steep = [{"bytes": 1000, "transfer_ms": 1.0}, {"bytes": 2000, "transfer_ms": 4.0}]
        self.assertEqual(figures.fit_link(steep)[0], 0.0)

    def test_ticks_are_round_and_inside(self):
        for low, high in [(0, 1), (0.43, 1.07), (0, 31.9), (-3, 7), (1e-6, 9e-6), (0, 123456)]:
            ticks = figures.ticks(low, high)
            self.assertTrue(3 <= len(ticks) <= 11, ticks)
            self.assertGreaterEqual(ticks[0], low - 1e-9 * abs(high))
            self.assertLessEqual(ticks[-1], high * (1 + 1e-9))
        self.assertEqual(figures.ticks(5, 5), [5])
        self.assertEqual(figures.log_ticks(1, 8, 2), [1, 2, 4, 8])

    def test_cascade_ends_at_the_measured_step(self):
        w = made_up.document()["waterfalls"][0]
        bars = figures.cascade(w["ideal_ms"], [(p["name"], p["ms"]) for p in w["parts"]], w["residual_ms"], w["step_ms"])
        self.assertEqual([b[0] for b in bars][0::len(bars) - 1], ["ideal", "measured"])
        for (_, _, end), (_, start, _) in zip(bars[:-2], bars[1:-1]):
            self.assertEqual(end, start)
        self.assertAlmostEqual(bars[-2][2], w["step_ms"])

    def test_what_a_gpu_was_bound_by(self):
        verdict = lambda **means: figures.utilisation_verdict([means] * 3)[0]
        self.assertEqual(verdict(util_pct=99, sm_pct=30, tensor_pct=5, dram_pct=10), "waiting")
        self.assertEqual(verdict(util_pct=99, sm_pct=90, tensor_pct=70, dram_pct=40), "compute")
        self.assertEqual(verdict(util_pct=99, sm_pct=80, tensor_pct=5, dram_pct=85), "memory")
        self.assertEqual(verdict(util_pct=60, sm_pct=20, tensor_pct=5, dram_pct=10), "latency")
        self.assertIsNone(figures.utilisation_verdict([{"util_pct": 99, "sm_pct": None}]))

    def test_gamma_needs_a_run_without_communication_that_is_the_same_otherwise(self):
        with_comm, alone, other = made_up.run("a"), made_up.run("b"), made_up.run("c")
        alone["communicate"], alone["summary"]["backward_ms"] = False, 12.0
        other["communicate"], other["batch"] = False, 16
        self.assertAlmostEqual(figures.gamma_of(with_comm, [with_comm, other, alone]), 1.25)
        self.assertIsNone(figures.gamma_of(with_comm, [with_comm, other]))


class Page(unittest.TestCase):
    def test_charts_are_well_formed(self):
        data = made_up.document()
        for drawn in [charts.efficiency(data["scaling"][0]["records"], "weak"), charts.waterfall(data["waterfalls"][0]), charts.step_series(data["runs"]),
                      charts.step_series(data["runs"][:1]), charts.heat_map(data["sweeps"][0]["records"]), charts.clock_series(data["runs"][0]),
                      charts.bus_bandwidth(page.collective_points(data["collectives"][0])), charts.device_means("waiting", data["runs"][0]["device"][0])]:
            xml.etree.ElementTree.fromstring(drawn.replace("<br>", "<br/>"))
            self.assertNotIn("nan", drawn)

    def test_the_page_needs_nothing_else_and_shows_every_figure(self):
        text = page.render(made_up.document())
        for outside in ("http://", "https://", "<link", "@import", " src="):
            self.assertNotIn(outside, text.replace("http://www.w3.org/2000/svg", ""))
        for shown in ("runs/broken/run.json", "87.1 ± 2.0%", "31.00 ± 0.40", "straggler: rank 1", "INJECTED slow=1:5", "two launches", "bound by waiting",
                      "a fault to order", "Amdahl"):
            self.assertIn(shown, text)
        self.assertNotIn("X </script>", text)
        html.parser.HTMLParser().feed(text)

    def test_a_run_without_figures_is_reported_all_the_same(self):
        data = made_up.document()
        broken = data["runs"][0]
        broken["summary"].update(window=None, step_ms=None, step_ms_ci=None, samples_per_s=None, exposed_comm_ms=None, overlap_ratio=None, skew=None,
                                 buckets=[], not_steady_because="12 steps are too few for a window")
        broken["series"] = broken["typical"] = broken["device"] = None
        data.update(scaling=[], waterfalls=[], sweeps=[], collectives=[], comparison=None)
        text = page.render(data)
        self.assertIn("12 steps are too few", text)
        self.assertNotIn('id="scaling"', text)


if __name__ == "__main__":
    unittest.main()
