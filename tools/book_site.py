"""What Jupyter Book leaves to be done on the pages of the site: their weight, and what stands in their heads.

A Sphinx extension; ``_config.yml`` names it. Markdown pages may hold live figures, by a directive. Each page gets its address,
and its first sentence as the description that search engines and messengers show. Afterwards the built pages lose what they pay
for and do not use: a script of 1.5 MB that draws the icons which a font draws too, the two thousand icons of that font that no
page shows, nine style sheets where one does, MathJax where there is no formula, and its other editions.
"""

import base64
import gc
import hashlib
import html
import io
import itertools
import os
import re
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import book_lines
import course
import yaml
from docutils import nodes
from docutils.parsers.rst import Directive
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from PIL import Image

import attnlib.course.live

CARD = "_static/card.png"  # 1200 x 630, what a messenger shows beside a link
SHEET = "book.css"  # all style sheets of a page, below _static
MOST = 300  # characters of a description
_ICON = re.compile(r'class="[^"]*?\b(?:fas|fab|fa-solid|fa-brands)\b[^"]*"')
_ICON_RULE = re.compile(r'(?P<names>(?:\.fa-[a-z0-9-]+:before,?)+)\{content:"\\(?P<point>[0-9a-f]+)"\}')
_ICON_SCRIPT = re.compile(r'\s*<!-- So that users can add custom icons -->\s*<script src="[^"]*fontawesome\.js[^"]*"></script>')
_SHEET = re.compile(r'\s*<link (?=[^>]*rel="stylesheet")[^>]*href="(?P<root>[^"]*)_static/(?P<file>[^"?]+)[^"]*"[^>]*>')
_PRELOAD = re.compile(r'\s*<!-- Pre-loaded scripts[^>]*-->|\s*<link rel="preload" as="script"[^>]*>')
_OPTIONS = re.compile(r'<script src="[^"]*_static/documentation_options\.js[^"]*"></script>')
_ENGINE = re.compile(r'<script (?=[^>]*\bsrc="(?P<src>[^"]*_static/mathjax/[^"]*)")[^>]*></script>')
_IMPORT = re.compile(r'@import "([^"]+)";')
_IMAGE = re.compile(r'<img\b[^>]*?\bsrc="(?P<folder>[^"]*_images/)(?P<name>[^"/]+)"[^>]*>')
_PICTURE_LINK = re.compile(r'href="[^"]*_images/(?P<name>[^"/]+)"')
_CLAIMS = re.compile(r'(?:<div class="output text_html"><div class="claim\b.*?</div></div>\s*)+', re.DOTALL)
_CLAIM = re.compile(r'<div class="output text_html"><div class="claim(?P<key> key)?".*?</div></div>', re.DOTALL)
_SHOWN = re.compile(r'\sstyle="width: (\d+)px; height: (\d+)px;"')
_FONTS = {"Font Awesome\\ 6 Free": ("fa-solid-900.ttf", 900), "Font Awesome\\ 6 Brands": ("fa-brands-400.ttf", 400)}
# Drawn by a style sheet or a script, so that no page names them: a chevron and a cross.
_UNNAMED = {"chevron-down", "angle-down", "xmark"}


class Live(Directive):
    """A live figure on a Markdown page: its class, and below it, as YAML, the traits that are not to have their defaults."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        kind, traits = self.arguments[0], yaml.safe_load("\n".join(self.content)) or {}
        figure = getattr(attnlib.course.live, kind, None)
        if not (isinstance(figure, type) and issubclass(figure, attnlib.course.live.LiveFigure)):
            raise self.error(f"live figure {kind!r}; expected one of {', '.join(attnlib.course.live.__all__)}")
        try:
            page = figure(**traits).page()
        except (TypeError, ValueError) as error:
            raise self.error(f"live figure {kind}: {error}") from error
        for part in Path(attnlib.course.live.__file__).parent.iterdir():
            self.state.document.settings.record_dependencies.add(str(part))
        return [nodes.raw("", page, format="html")]


def address(app: Any, config: Any) -> None:
    """The site's address follows from the repository's, which ``_config.yml`` alone states."""
    config.html_baseurl = course.repository().site
    path = config.notfound_urls_prefix = urlsplit(config.html_baseurl).path
    links = f'<a href="{path}book/index.html">first page</a>, or <a href="{path}search.html">search the book</a>'
    body = f"<h1>This page is not there</h1><p>It may have moved, or the address has a slip. Begin at the {links}.</p>"
    config.notfound_context = {"title": "This page is not there", "body": body}


repository = cache(course.repository)


def description(body: str) -> str:
    """The first paragraph of a page in plain words, whole sentences of it if it is long."""
    first = re.search(r"<p>(.*?)</p>", body, re.DOTALL)
    words = html.unescape(re.sub(r"<[^>]*>", "", first[1])) if first else ""
    for sign, plain in ((r"\\[()]", ""), (r"\\sqrt\{([^{}]*)\}", "\u221a(\\1)"), (r"\\[,;! ]", " "), (r"\\(\w+)", r"\1")):
        words = re.sub(sign, plain, words)
    words = " ".join(words.split())
    if len(words) <= MOST:
        return words
    whole = words[:MOST].rfind(". ") + 1
    return words[:whole] if whole else words[: words[:MOST].rfind(" ")] + " \u2026"


def claims(body: str) -> str:
    """A page's claims in the site's style: formulas to be set, the key claims of a cell first, the others folded if many.

    The first three of a page stay in sight: they show what a claim is.
    """
    seen = itertools.count()

    def cell(shown: re.Match[str]) -> str:
        key, other = [], []
        for found in _CLAIM.finditer(shown[0]):
            line = re.sub(r' style="[^"]*"', "", found[0])  # what a notebook brings along because it has no style sheet
            line = re.sub(r"\$([^$]+)\$", r'<span class="math notranslate nohighlight">\\(\1\\)</span>', line)
            (key if next(seen) < 3 or found["key"] else other).append(book_lines.kept(line))
        if len(other) > (1 if key else 2):
            summary = f"<summary>{len(other)} {'more ' if key else ''}checks</summary>"
            other = [f'<details class="checks">{summary}', *other, "</details>"]
        return "".join(key + other) + "\n"

    return _CLAIMS.sub(cell, body)


def head(app: Any, name: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Claims, description, social card, and MathJax only where something is to be set."""
    if context.get("body"):
        context["body"] = claims(context["body"])
    formulas = re.search(r'class="math\b', context.get("body") or "")
    if not formulas:
        context["script_files"] = [script for script in context["script_files"] if "mathjax/" not in str(script.filename or "")]
    title = re.sub(r"<[^>]*>", "", context.get("title") or "")
    if doctree is None:
        return
    root = app.config.html_baseurl
    named = {"description": description(context["body"]), "twitter:card": "summary_large_image"}
    graph = {
        "og:type": "website" if name == app.config.root_doc else "article",
        "og:site_name": app.config.html_title,
        "og:title": html.unescape(title),
        "og:description": named["description"],
        "og:url": f"{root}{name}.html",
        "og:image": root + CARD,
        "og:image:alt": "A map of an energy: two queries walk downhill, each into the nearest memory.",
    }
    tags = [f'<meta name="{key}" content="{html.escape(value)}" />' for key, value in named.items() if value]
    tags += [f'<meta property="{key}" content="{html.escape(value)}" />' for key, value in graph.items() if value]
    context["metatags"] = context.get("metatags", "") + "\n    " + "\n    ".join(tags)
    if formulas:
        context["body"] = context["body"].replace("</h1>", f"</h1>{_unset(name)}", 1)


def _unset(name: str) -> str:
    """What a page with formulas says where nothing can set them."""
    where = repository()
    notebook = f"{where.url}/blob/{where.branch}/{name}.ipynb"
    there = f' In <a href="{notebook}">the notebook</a> they are set.' if (course.ROOT / f"{name}.ipynb").exists() else ""
    return f"<noscript><p>Formulas are set by JavaScript; without it they stand here as they were typed.{there}</p></noscript>"


def icons(site: Path, rules: str, pages: list[str]) -> tuple[str, str]:
    """The theme's rules without those for icons that no page shows, and the icons that are shown, cut out of the theme's fonts.

    A range of characters stands with them: one that is not in it still comes from the whole font.
    """
    shown = {
        icon for page in pages for used in _ICON.findall(page) for icon in re.findall(r"\bfa-([a-z0-9-]+)", used)
    } | _UNNAMED
    points = set()

    def keep(rule: re.Match[str]) -> str:
        names = [name for name in re.findall(r"\.fa-([a-z0-9-]+)", rule["names"]) if name in shown]
        points.update([int(rule["point"], 16)] * bool(names))
        return rule[0] if names else ""

    rules, faces = _ICON_RULE.sub(keep, rules), []
    for family, (file, weight) in _FONTS.items():
        place = next(site.glob(f"_static/vendor/fontawesome/**/webfonts/{file}"))  # older themes name the version in the path
        font = TTFont(place, recalcTimestamp=False)
        here = sorted(points & set(font.getBestCmap()))
        cut = Subsetter(Options(layout_features=[], hinting=False, name_IDs=[]))
        cut.populate(unicodes=here)
        cut.subset(font)
        font.flavor = "woff"
        data = io.BytesIO()
        font.save(data)
        source = base64.b64encode(data.getvalue()).decode()
        faces.append(
            f"@font-face{{font-family:{family};font-weight:{weight};font-display:block;"
            f"unicode-range:{','.join(f'U+{point:x}' for point in here)};"
            f'src:url("data:font/woff;base64,{source}") format("woff")}}'
        )
    return rules, "\n".join(faces)


def sheet(site: Path, files: list[str], pages: list[str]) -> str:
    """Write all style sheets into one, in their order, and say its name: each would be a request before the first paint."""

    def text(path: Path) -> str:
        rules = path.read_text(encoding="utf-8").replace("\ufeff", "")
        rules = re.sub(r"/\*# sourceMappingURL=.*?\*/|@charset [^;]*;", "", rules)
        rules = _IMPORT.sub(lambda found: text((path.parent / found[1]).resolve()), rules)
        place = Path(os.path.relpath(path.parent, site / "_static"))
        return re.sub(
            r"url\((?![\"']?(?:data:|https?:|#|/))[\"']?([^\"')]+)[\"']?\)",
            lambda u: f'url("{(place / u[1]).as_posix()}")',
            rules,
        )

    rules, faces = icons(site, "\n".join(text((site / "_static" / file).resolve()) for file in files), pages)
    whole = f"/* {' '.join(files)} */\n{rules}\n{faces}"
    (site / "_static" / SHEET).write_text(whole, encoding="utf-8")
    return f"{SHEET}?v={hashlib.sha256(whole.encode()).hexdigest()[:8]}"


def pictures(site: Path) -> dict[str, tuple[str, int, int]]:
    """Each picture's name, width and height; PNG is packed again as WebP, no pixel changed, in half the bytes."""
    for path in (site / "_images").glob("*.png"):
        with Image.open(path) as picture:
            picture.save(path.with_suffix(".webp"), lossless=True, quality=25, method=2, exact=True)
        path.unlink()
    sizes = {}
    for path in (site / "_images").glob("*.webp"):
        with Image.open(path) as picture:
            sizes[path.stem] = (path.name, *picture.size)
    return sizes


def light(page: str, sizes: dict[str, tuple[str, int, int]], name: str, options: str, copies: str) -> str:
    """A page with one style sheet and no script that holds up the text; pictures come after it, when they are near."""

    def image(found: re.Match[str]) -> str:
        file, width, height = sizes.get(Path(found["name"]).stem, (found["name"], 0, 0))
        tag = found[0].replace(found["folder"] + found["name"], found["folder"] + file)
        shown = _SHOWN.search(tag)
        if shown:  # a notebook says how large its dense picture is to be; as attributes, so that it can shrink in proportion
            tag, width, height = tag.replace(shown[0], ""), int(shown[1]), int(shown[2])
        said = re.search(r'\swidth="(\d+)"', tag)
        width = int(said[1]) if said else width
        more = f' width="{width}" height="{height}"' if width and not re.search(r"\s(?:width|height)=", tag) else ""
        more += "" if "loading=" in tag else ' loading="lazy"'
        return tag.replace("<img", f"<img{more}", 1)

    def picture(found: re.Match[str]) -> str:
        return found[0].replace(found["name"], sizes.get(Path(found["name"]).stem, (found["name"],))[0])

    end = page.find("</head>")
    top, body = page[:end], _PICTURE_LINK.sub(picture, _IMAGE.sub(image, page[end:]))
    first = _SHEET.search(top)
    if first:
        link = f'\n  <link rel="stylesheet" href="{first["root"]}_static/{name}" />'
        top = top[: first.start()] + link + _SHEET.sub("", top[first.start() :])
        # What the notebooks call a download is an address on the network; a copy lies beside the page.
        here = f'href="{first["root"]}_sources/\\1" download=""'
        body = re.sub(rf'href="{re.escape(copies)}(notebooks/\w+\.ipynb)"', here, body)
    top = re.sub(r"<title>(.+?) &#8212; \1</title>", r"<title>\1</title>", top)  # the first page bears the course's own name
    top = _PRELOAD.sub("", _ICON_SCRIPT.sub("", top))
    top = _OPTIONS.sub(lambda _: f"<script>{options}</script>", top)
    page = _ENGINE.sub(lambda found: f'<script data-later="{found["src"]}"></script>', top + body)
    return re.sub(r"<script (?![^>]*\bdefer\b)(?=[^>]*\bsrc=)", '<script defer="defer" ', page)


def finish(app: Any, trouble: Exception | None) -> None:
    if trouble or app.builder.name != "html":
        return
    site = Path(app.outdir)
    built = [path for path in site.rglob("*.html") if "_static" not in path.relative_to(site).parts]
    pages = {path: path.read_text(encoding="utf-8") for path in built}
    heads = [page[: page.find("</head>")] for page in pages.values()]
    files = max(([found["file"] for found in _SHEET.finditer(head)] for head in heads), key=len)
    if files == [SHEET]:  # nothing was written anew since the last build, which noted the files in the sheet
        files = (site / "_static" / SHEET).read_text(encoding="utf-8").splitlines()[0].split()[1:-1]
    name = sheet(site, files, list(pages.values()))
    sizes, options = pictures(site), (site / "_static/documentation_options.js").read_text(encoding="utf-8")
    where = course.repository()
    copies = f"{where.url}/raw/{where.branch}/"
    for path, page in pages.items():
        path.write_text(light(page, sizes, name, options, copies), encoding="utf-8")
    for edition in (site / "_static/mathjax").glob("*.js"):  # a page loads one; the others are the same in other combinations
        if edition.name != Path(app.config.mathjax_path).name:
            edition.unlink()
    for unused in {*site.glob("_static/scripts/fontawesome.js*"), *site.glob("_static/**/*.map")}:
        unused.unlink()


def hurry(app: Any, config: Any) -> None:
    """Look for no garbage: among the trees of a million nodes that the pages are is none. That took a third of the time."""
    gc.disable()


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("live", Live)
    app.connect("config-inited", hurry)
    app.connect("config-inited", address, priority=100)
    app.connect("html-page-context", head, priority=900)
    app.connect("build-finished", finish, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
