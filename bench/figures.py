"""The README's figure from what was measured: python bench/figures.py RESULTS FILE.svg

Whole modules, single launches: torch.compile's and FACT's speed over eager's in the same process. Bars
are medians; the lines at their ends span what the 10th and 90th percentiles allow.
"""

import sys
from pathlib import Path
from xml.sax.saxutils import escape

from readme import MODULE_PARTS, MODULES, ends, runs

SERIES = (("torch.compile", "#d99a2b"), ("composed", "#2a6fb0"))
NAMES = {"composed": "FACT"}
LEFT, PLOT, RIGHT, TOP, ROW, BAR = 420, 420, 60, 56, 40, 14  # pixels


def speed(times, base):
    """How much faster than `base`, and the least and the most that the spreads allow."""
    (low, high), (base_low, base_high) = ends(times), ends(base)
    return base["median_us"] / times["median_us"], base_low / high, base_high / low


def measured(folder):
    """[(module's name, {series: speed})] in the order of the README's table."""
    found = runs(folder, *MODULE_PARTS)
    rows = []
    for run, name in MODULES.items():
        bench = {row["name"]: row for row in found.get(run, {}).get("bench", {}).get("rows", [])}
        eager = bench.get("eager", {}).get("single")
        speeds = {
            series: speed(bench[series]["single"], eager)
            for series, _ in SERIES
            if eager and bench.get(series, {}).get("single")
        }
        if speeds:
            rows.append((name.replace("`", ""), speeds))
    return rows


def text(x, y, words, anchor="start", size=13, color="#222222"):
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-size="{size}" fill="{color}">'
        f"{escape(words)}</text>"
    )


def line(x1, y1, x2, y2, color="#222222"):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}"/>'


def draw(rows):
    widest = max(most for _, speeds in rows for _, _, most in speeds.values())
    scale = PLOT / widest
    width, height = LEFT + PLOT + RIGHT, TOP + ROW * len(rows) + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        text(12, 24, "Times faster than eager, NVIDIA H200, single launches", size=15),
    ]
    for i, (series, color) in enumerate(SERIES):
        x = LEFT + 120 * i
        parts.append(f'<rect x="{x}" y="36" width="12" height="12" fill="{color}"/>')
        parts.append(text(x + 18, 47, NAMES.get(series, series)))
    for row, (name, speeds) in enumerate(rows):
        top = TOP + ROW * row
        parts.append(text(LEFT - 10, top + 20, name, "end"))
        for i, (series, color) in enumerate(SERIES):
            if series not in speeds:
                continue
            middle, least, most = speeds[series]
            y = top + 2 + i * (BAR + 2)
            parts.append(
                f'<rect x="{LEFT}" y="{y}" width="{middle * scale:.1f}" height="{BAR}" fill="{color}"/>'
            )
            parts.append(line(LEFT + least * scale, y + BAR / 2, LEFT + most * scale, y + BAR / 2))
            parts.append(text(LEFT + most * scale + 6, y + 12, f"{middle:.2f}x", size=12))
    # Eager's own speed: 1x.
    parts.append(line(LEFT + scale, TOP - 4, LEFT + scale, TOP + ROW * len(rows), "#888888"))
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    rows = measured(sys.argv[1])
    if not rows:
        sys.exit(f"{sys.argv[1]} has no module's times: run bench/all.sh first")
    Path(sys.argv[2]).write_text(draw(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
