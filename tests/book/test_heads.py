"""What search engines and messengers see of a page, and the words of the links to chapters."""

import re

import course
import pytest
from helpers.built_book import NOTEBOOKS, PAGES, parsed

WHERE = course.repository()


def test_each_page_has_one_address_and_a_description_of_its_own(book):
    descriptions = []
    for path in PAGES:
        head = parsed(book.html / path).head
        said = {tag.get("name") or tag.get("property"): tag.get("content") for tag in head.select("meta[content]")}
        assert head.select_one("link[rel=canonical]")["href"] == said["og:url"] == WHERE.site + path
        assert said["description"] == said["og:description"]
        assert 40 <= len(said["description"]) <= 302, path
        assert not re.search(r"[\\${}]|\w\^", said["description"]), path
        assert said["og:title"] == parsed(book.html / path).h1.find(string=True)
        assert (book.html / said["og:image"].removeprefix(WHERE.site)).is_file()
        assert head.title.get_text().count("Attention as Physics") == 1, path
        descriptions.append(said["description"])
    assert len(set(descriptions)) == len(PAGES)


@pytest.mark.parametrize("source", NOTEBOOKS)
def test_description_is_the_claim_of_the_page(book, source):
    claim = parsed(book.html / f"{source}.html").select_one("article p strong")
    said = parsed(book.html / f"{source}.html").select_one("meta[name=description]")["content"]
    assert claim.find(string=True)[:60] in said


def test_table_of_chapters_names_pages_in_words(book):
    links = parsed(book.html / "book/index.html").select("article #the-plan table a")
    assert len(links) == len(NOTEBOOKS)
    for link in links:
        assert re.match(r"^[A-Za-z][a-z]{3,}", link.get_text()), link.get_text()
