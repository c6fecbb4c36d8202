"""Take the README's picture of the built book, `make book` first: a chapter page in a desktop window."""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
PAGE = "notebooks/03b_attention_is_a_gradient_step.html"
TARGET = ROOT / "book" / "_static" / "screenshot.png"


def main(site: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page(viewport={"width": 1280, "height": 820}, color_scheme="light")
        page.goto((site / PAGE).as_uri(), wait_until="networkidle")
        page.locator(".bd-article figure").first.evaluate("figure => figure.scrollIntoView({block: 'center'})")
        page.wait_for_timeout(500)
        page.screenshot(path=TARGET)
        browser.close()
    print(TARGET.name, TARGET.stat().st_size // 1024, "KB")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "_build" / "html")
