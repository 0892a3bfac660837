"""The pictures of a report's head in the documents, light, dark and with numbered notes; only contributors make them.

    python tools/pictures.py artifacts/reports/RUN/index.html report             docs/images/report.png, report-dark.png
    python tools/pictures.py artifacts/reports/RUN/index.html tour --numbered    docs/images/tour.png, tour-dark.png

Chromium draws the page without what follows its head; what is blank around it is cut off.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

from PIL import Image, ImageChops

IMAGES = Path(__file__).parents[1] / "docs" / "images"
WIDTH, TALL, MARGIN = 1120, 4000, 24
"""The picture's width, more height than a head needs, and what is left blank around it; pixels."""
DARK = "@media screen and (prefers-color-scheme: dark)"
HEAD = """
nav.toc, footer, main > :not(header), .kicker a {display: none !important}
.page {display: block; max-width: none}
"""
NUMBERED = """
header {padding-left: 44px}
#state, #changes, #scorecard, #verdicts, #next-h {position: relative; counter-increment: note}
#state::after, #changes::after, #scorecard::after, #verdicts::after, #next-h::after {
  content: counter(note); position: absolute; left: -44px; top: 2px; width: 28px; height: 28px; border-radius: 14px;
  background: #c2410c; color: #fff; font: 700 16px/28px sans-serif; text-align: center}
"""


def picture(report: Path, target: Path, *, dark: bool, numbered: bool) -> None:
    """The head of a report as a PNG of few colours."""
    page = report.read_text(encoding="utf-8")
    page = page.replace(DARK, "@media screen" if dark else "@media not all")
    page = page.replace("</head>", f"<style>{HEAD}{NUMBERED if numbered else ''}</style></head>", 1)
    with tempfile.TemporaryDirectory() as folder:
        there, drawn = Path(folder, "index.html"), Path(folder, "drawn.png")
        there.write_text(page, encoding="utf-8")
        draw(there, drawn)
        whole = Image.open(drawn).convert("RGB")
    blank = Image.new("RGB", whole.size, whole.getpixel((0, whole.height - 1)))
    *_, bottom = ImageChops.difference(whole, blank).getbbox() or (0, 0, 0, whole.height)
    head = whole.crop((0, 0, WIDTH, min(bottom + MARGIN, whole.height)))
    head.quantize(128, dither=Image.Dither.NONE).save(target, optimize=True)
    print(f"{target}: {head.width} x {head.height}, {target.stat().st_size / 1000:.0f} kB")


def draw(page: Path, target: Path) -> None:
    """A page as Chromium shows it in a tall window."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        raise SystemExit("The pictures are drawn by Chromium, and there is none: apt-get install chromium.")
    quiet = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={page.parent}")
    size = f"--window-size={WIDTH},{TALL}"
    subprocess.run([browser, *quiet, size, f"--screenshot={target}", page.as_uri()], check=True, capture_output=True)


def main() -> None:
    """Both pictures of a report, under the name that documents give them."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("report", type=Path)
    asked.add_argument("name")
    asked.add_argument("--numbered", action="store_true", help="with a number beside every part of the head")
    given = asked.parse_args()
    picture(given.report, IMAGES / f"{given.name}.png", dark=False, numbered=given.numbered)
    picture(given.report, IMAGES / f"{given.name}-dark.png", dark=True, numbered=given.numbered)


if __name__ == "__main__":
    main()
