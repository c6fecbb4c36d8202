"""The grammar of the generated corpus: forms of words in German and English, and what a phrase and a clause are made of.

Each word is kept with the units of meaning that it belongs to.
"""

from dataclasses import dataclass, field

from attnlib.course.data._lexicon import NOUNS

Word = tuple[str, frozenset[int]]
"""A word and the units of meaning that it says; words of the two languages that share a unit are aligned."""

ARTICLES = {"def": ("the", "the"), "dies": ("this", "these"), "mein": ("my", "my")}
"""Determiners that exist in both numbers: English singular and plural. The others are ``ein``, ``kein`` and numbers."""

GENDERS = ("m", "f", "n", "pl")
DEF = {
    "nominative": dict(zip(GENDERS, ("der", "die", "das", "die"), strict=True)),
    "accusative": dict(zip(GENDERS, ("den", "die", "das", "die"), strict=True)),
    "dative": dict(zip(GENDERS, ("dem", "der", "dem", "den"), strict=True)),
}
EIN = {
    "nominative": dict(zip(GENDERS, ("", "e", "", "e"), strict=True)),
    "accusative": dict(zip(GENDERS, ("en", "e", "", "e"), strict=True)),
    "dative": dict(zip(GENDERS, ("em", "er", "em", "en"), strict=True)),
}
PRONOUNS = {
    # nominative, accusative, dative, English subject and object, who is spoken of, form of the verb
    "ich": ("mich", "mir", "I", "me", "we", "first"),
    "wir": ("uns", "uns", "we", "us", "we", "plural"),
    "er": ("ihn", "ihm", "he", "him", "he", "third"),
    "sie": ("sie", "ihr", "she", "her", "she", "third"),
}


def determiner(kind: str, case: str, gender: str) -> str:
    """The German determiner of a kind: ``def``, ``dies``, ``ein``, ``kein`` or ``mein``; gender ``pl`` is the plural."""
    if kind == "def":
        return DEF[case][gender]
    if kind == "dies":
        ending = DEF[case][gender][1:]
        return "dies" + ("e" if ending == "ie" else "es" if ending == "as" else ending)
    return kind + EIN[case][gender]


def adjective_ending(kind: str, case: str, gender: str) -> str:
    """Weak endings after der-words, mixed after ein-words, strong after numbers (which are plural here)."""
    if kind == "number":
        return "en" if case == "dative" else "e"
    if gender == "pl" or case == "dative" or (gender == "m" and case == "accusative"):
        return "en"
    if kind in ("def", "dies"):
        return "e"
    return {"m": "er", "f": "e", "n": "es"}[gender]


@dataclass(frozen=True)
class Noun:
    """A noun in both languages; ``weak`` nouns take their plural form in the singular's oblique cases."""

    german: str
    gender: str
    plural: str
    english: str
    english_plural: str
    weak: bool

    def decline(self, case: str, plural: bool) -> str:
        """The German form in a case and number."""
        if plural:
            return self.plural + ("n" if case == "dative" and self.plural[-1] not in "ns" else "")
        return self.plural if self.weak and case != "nominative" else self.german


@dataclass(frozen=True)
class Verb:
    """A verb in both languages: forms of the German stem, separable prefix (or nothing), English base and third person.

    ``particle`` is the English counterpart of the prefix where it can leave its verb: behind a pronoun, or, if it is ``late``,
    behind any object.
    """

    infinitive: str
    third: str
    prefix: str
    english: str
    english_third: str
    particle: str = ""
    late: bool = False

    def form(self, person: str) -> str:
        """The finite form without its prefix: person is ``first``, ``third`` or ``plural``."""
        if person == "first":
            stem = self.infinitive[:-2] if self.infinitive.endswith("en") else self.infinitive[:-1]
            return self.third if self.infinitive == "wissen" else stem + "e"
        return self.third if person == "third" else self.infinitive


def _noun(line: str) -> Noun:
    german, gender, plural, english, english_plural = line.split()
    return Noun(german.rstrip("+"), gender, plural, english, english_plural, german.endswith("+"))


def verb_of(line: str) -> Verb:
    """A verb from its line in the lexicon."""
    infinitive, third, english, english_third = line.split()
    prefix, _, stem = infinitive.rpartition("|")
    base, *_ = english.split("|")
    says, *particle = english_third.replace("||", "|").split("|")
    return Verb(stem, third, prefix, base, says, "".join(particle), "||" in english)


LEXICON = {name: [_noun(line) for line in lines.split("\n") if line.strip()] for name, lines in NOUNS.items()}


@dataclass(frozen=True)
class Phrase:
    """Words in both languages; for a subject, the form of the verb it asks for; whether the German words show the case."""

    german: tuple[Word, ...] = ()
    english: tuple[Word, ...] = ()
    person: str = "third"
    kind: str = ""
    noun: str = ""
    marked: bool = False


@dataclass(frozen=True)
class Clause:
    """The parts of a clause before they are put in order."""

    subject: Phrase
    verb: Verb
    units: tuple[int, int, int]
    objects: tuple[Phrase, ...] = ()
    pronoun: Phrase = field(default_factory=Phrase)
    time: Phrase = field(default_factory=Phrase)
    place: Phrase = field(default_factory=Phrase)
    modal: str = ""
    negation: str = ""
    state: Phrase = field(default_factory=Phrase)

    def topics(self) -> list[Phrase]:
        """The objects that may stand first: those after which it is still plain who acts, by the form of one or the other."""
        things = (*self.objects, self.pronoun) if self.pronoun.german else self.objects
        return [thing for thing in things if thing.marked or self.subject.marked]


def said(words: str, *units: int) -> tuple[Word, ...]:
    """The words of a string (an underscore counts as a space), all with the same units."""
    meant = frozenset(units)
    return tuple([(word, meant) for word in words.replace("_", " ").split()])
