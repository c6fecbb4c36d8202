"""A page with live figures on it, for tests in a browser."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from helpers import browsers

pytestmark = browsers.needed

NEXT_FRAME = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


@dataclass
class Desk:
    """A page from a file, with figures on it, that lets nothing out and writes down whatever goes wrong."""

    context: Any
    folder: Path
    wrong: list[str] = field(default_factory=list)

    def open(self, *figures: str, head: str = "", html: str = "", body: str = "") -> Any:
        text = (
            f'<!doctype html><html lang="en" {html}><head><meta charset="utf-8"><title>Figures</title>'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">{head}</head>'
            f"<body {body}><main><h1>Figures</h1>{''.join(figures)}</main></body></html>"
        )
        path = self.folder / "page.html"
        path.write_text(text, encoding="utf-8")
        page = self.context.new_page()
        page.on("console", lambda said: self.wrong.append(f"console: {said.text}"))
        page.on("pageerror", lambda error: self.wrong.append(f"page error: {error}"))
        page.on("request", lambda request: self._look(request.url, path.as_uri()))
        page.goto(path.as_uri())
        return page

    def _look(self, url: str, own: str) -> None:
        if url != own and not url.startswith(("data:", "blob:")):
            self.wrong.append(f"request: {url}")


def same_numbers(shown: dict[str, Any], expected: dict[str, Any]) -> None:
    assert shown.keys() == expected.keys()
    for name, value in expected.items():
        found, wanted = (torch.tensor(numbers, dtype=torch.float64) for numbers in (shown[name], value))
        torch.testing.assert_close(found, wanted, atol=1e-6, rtol=1e-9, msg=lambda text, name=name: f"{name}: {text}")
