"""Charts as inline SVG. Colours are classes of style.css (s0 … s7, axis, grid), so that light, dark and print differ there alone."""
import html
import math

import figures

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 16, 44


def number(value):
    if value == 0:
        return "0"
    if abs(value) >= 1e5 or abs(value) < 1e-3:
        return f"{value:.3g}"
    return f"{value:.4g}"


def text(x, y, content, anchor="middle", css=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{css}">{html.escape(str(content))}</text>'


def title(content):
    return f"<title>{html.escape(content)}</title>"


class Scale:
    """From values to pixels, linear or logarithmic."""

    def __init__(self, low, high, first, last, base=None):
        if not high > low:
            low, high = (low - 0.5, low + 0.5) if base is None else (low / 2, low * 2)
        self.low, self.high, self.first, self.last, self.base = low, high, first, last, base

    def __call__(self, value):
        if self.base:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.first + share * (self.last - self.first)

    def ticks(self):
        return figures.log_ticks(self.low, self.high, self.base) if self.base else figures.ticks(self.low, self.high)


class Chart:
    """A frame with two axes; what is added lies in it, in the values' own units."""

    def __init__(self, x, y, x_label, y_label, x_base=None, y_base=None, x_ticks=None, height=HEIGHT):
        self.height = height
        self.x = Scale(*x, LEFT, WIDTH - RIGHT, x_base)
        self.y = Scale(*y, height - BOTTOM, TOP, y_base)
        self.parts, self.legend = [], []
        for value in x_ticks if x_ticks is not None else self.x.ticks():
            at = self.x(value)
            self.parts.append(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{height - BOTTOM}"/>')
            self.parts.append(text(at, height - BOTTOM + 16, number(value)))
        for value in self.y.ticks():
            at = self.y(value)
            self.parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
            self.parts.append(text(LEFT - 6, at + 4, number(value), "end"))
        self.parts.append(text((LEFT + WIDTH - RIGHT) / 2, height - 8, x_label, css="label"))
        middle = (TOP + height - BOTTOM) / 2
        self.parts.append(f'<text class="label" text-anchor="middle" transform="translate(14 {middle}) rotate(-90)">{html.escape(y_label)}</text>')

    def line(self, points, css, name=None, dashed=False):
        path = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        self.parts.append(f'<polyline class="{css} line{" dashed" if dashed else ""}" points="{path}"/>')
        if name:
            self.legend.append((css, name))

    def dots(self, points, css, name=None):
        """points: (x, y, interval or None, what a pointer sees)."""
        for x, y, interval, hint in points:
            px, py = self.x(x), self.y(min(max(y, self.y.low), self.y.high))
            if interval:
                low, high = (self.y(min(max(end, self.y.low), self.y.high)) for end in interval)
                self.parts.append(f'<path class="{css} line" d="M{px:.1f} {low:.1f}V{high:.1f}M{px - 5:.1f} {low:.1f}h10M{px - 5:.1f} {high:.1f}h10"/>')
            self.parts.append(f'<circle class="{css} mark" cx="{px:.1f}" cy="{py:.1f}" r="4">{title(hint)}</circle>')
        if name:
            self.legend.append((css, name))

    def band(self, low, high, css, name):
        top, bottom = self.y(min(high, self.y.high)), self.y(max(low, self.y.low))
        if bottom <= top:
            return
        self.parts.append(f'<rect class="band {css}" x="{LEFT}" width="{WIDTH - LEFT - RIGHT}" y="{top:.1f}" height="{bottom - top:.1f}"/>')
        if bottom - top >= 11:
            self.parts.append(text(LEFT + 4, (top + bottom) / 2 + 4, name, "start", "small"))

    def bar(self, low, high, first, last, css, hint):
        """A bar over y from `low` to `high`, over x from `first` to `last`."""
        top, bottom = sorted((self.y(low), self.y(high)))
        left, right = self.x(first), self.x(last)
        self.parts.append(f'<rect class="{css} fill" x="{left:.1f}" width="{right - left:.1f}" y="{top:.1f}" height="{max(bottom - top, 1):.1f}">{title(hint)}</rect>')

    def rule(self, x, css, hint):
        at = self.x(x)
        self.parts.append(f'<line class="{css} line event" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{self.height - BOTTOM}">{title(hint)}</line>')

    def note(self, x, y, content, css=""):
        self.parts.append(text(self.x(x), self.y(y), content, css=css))

    def svg(self, name):
        legend = "".join(f'<span class="key"><i class="{css}"></i>{html.escape(label)}</span>' for css, label in self.legend)
        return (f'<figure class="chart"><svg viewBox="0 0 {WIDTH} {self.height}" role="img" aria-label="{html.escape(name)}">{"".join(self.parts)}</svg>'
                f'<figcaption>{legend}</figcaption></figure>')
