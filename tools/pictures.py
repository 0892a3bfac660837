"""The pictures of a report's head in the documents, light, dark and with numbered notes; only contributors make them.

    python tools/pictures.py artifacts/reports/RUN/index.html report             docs/images/report.png, report-dark.png
    python tools/pictures.py artifacts/reports/RUN/index.html tour --numbered    docs/images/tour.png, tour-dark.png
    python tools/pictures.py --check                                             which of them show an earlier head

Chromium draws the page without what follows its head; what is blank around it is cut off. Each picture holds a
fingerprint of the files that make a head; where these have changed since, `--check` and `make docs` name the picture.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from PIL import Image, ImageChops
from PIL.PngImagePlugin import PngInfo

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
PICTURES = ("report", "report-dark", "tour", "tour-dark")
HEAD_FILES = (
    "tasks/reporting/head.py",
    "tasks/reporting/report.css",
    "flows/report/head.py",
    "flows/report/scorecard.py",
)
"""What makes the head of a page look as it does."""
STAMP = "head"
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


def fingerprint() -> str:
    """Of the files that make a head, as they are today."""
    return hashlib.sha256(b"".join((ROOT / file).read_bytes() for file in HEAD_FILES)).hexdigest()[:16]


def stale(images: Path = IMAGES) -> list[str]:
    """The pictures that were drawn by other files than today's, or hold no fingerprint."""
    stamps = {name: Image.open(images / f"{name}.png").info.get(STAMP) for name in PICTURES}
    return [f"{name}.png" for name, stamp in stamps.items() if stamp != fingerprint()]


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
    stamp = PngInfo()
    stamp.add_text(STAMP, fingerprint())
    head.quantize(128, dither=Image.Dither.NONE).save(target, optimize=True, pnginfo=stamp)
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
    asked.add_argument("report", type=Path, nargs="?")
    asked.add_argument("name", nargs="?")
    asked.add_argument("--numbered", action="store_true", help="with a number beside every part of the head")
    asked.add_argument("--check", action="store_true", help="name the pictures that show an earlier head")
    given = asked.parse_args()
    if given.check:
        raise SystemExit(f"These show an earlier head: {', '.join(old)}" if (old := stale()) else 0)
    if given.report is None or given.name is None:
        asked.error("which report, and the name of its pictures?")
    picture(given.report, IMAGES / f"{given.name}.png", dark=False, numbered=given.numbered)
    picture(given.report, IMAGES / f"{given.name}-dark.png", dark=True, numbered=given.numbered)


if __name__ == "__main__":
    main()
