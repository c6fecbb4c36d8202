"""What the browser tests of several live figures ask of each."""

import json
from typing import Any

from helpers import browsers

PHONE = {"viewport": {"width": 390, "height": 844}}
TOUCH = {"has_touch": True, "is_mobile": True} | PHONE


def loaded(page: Any, code: str) -> Any:
    """The page with the figure's module imported as a widget's front end does, as ``module``."""
    load = f"import(URL.createObjectURL(new Blob([{json.dumps(code)}], {{ type: 'text/javascript' }})))"
    page.evaluate(f"async () => {{ window.module = await {load}; }}")
    return page


def left_behind(page: Any, state: dict[str, Any]) -> list[list[int]]:
    """Elements and listeners of a figure while it is shown, and after it was closed."""
    return page.evaluate(
        """async (state) => {
        const calls = new Set(), el = document.body.appendChild(document.createElement("div"));
        const on = (name, call) => calls.add(call), off = (name, call) => calls.delete(call);
        const close = await module.default.render({ model: { get: (key) => state[key], on, off }, el });
        const before = [el.children.length, calls.size];
        close();
        return [before, [el.children.length, calls.size]];
    }""",
        state,
    )


def sticking_out(page: Any) -> list[str]:
    """What of a figure is beyond its card; the page itself may not scroll sideways."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    return page.locator(".card").first.evaluate(
        """card => {
        const edge = card.getBoundingClientRect();
        const out = (box) => box.width > 1 && (box.right > edge.right || box.left < edge.left);
        const parts = [...card.querySelectorAll("*")].filter((part) => out(part.getBoundingClientRect()));
        return parts.map((part) => part.outerHTML.slice(0, 100));
    }"""
    )


def faults(page: Any, *passed: str) -> list[tuple[str, str]]:
    """What axe finds; it must have looked at some rules."""
    found = browsers.axe(page)
    assert {"label", "button-name", "color-contrast", "svg-img-alt", *passed} <= {rule["id"] for rule in found["passes"]}
    return [(fault["id"], place["html"][:120]) for fault in found["violations"] for place in fault["nodes"]]
