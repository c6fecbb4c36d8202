"""The grammar of the generated corpus: German and English said together, each word with the unit of meaning it belongs to.

Longer than 250 lines: endings, order of words and kinds of sentences depend on each other, and describe one language.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import count

from attnlib.course.data._lexicon import (
    ADJECTIVES,
    LASTING,
    MODALS,
    NOUNS,
    NUMBERS,
    PERSONAL,
    PLACES,
    STATES,
    STATES_OF_MIND,
    TIMES,
    UNWILLED,
    VERBS,
)

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


def _verb(line: str) -> Verb:
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
    return tuple((word, frozenset(units)) for word in words.replace("_", " ").split())


class Speaker:
    """Says random sentences in both languages, from a random generator of Python's own."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.unit = rng, count()

    def sentence(self) -> tuple[list[Word], list[Word]]:
        """One sentence with its full stop or question mark: German words and English words."""
        rng = self.rng
        patterns = ("main", "object", "inverted", "question", "because", "that", "if")
        pattern = rng.choices(patterns, (26, 14, 22, 8, 12, 10, 8))[0]
        if pattern in ("main", "inverted", "question"):
            clause = self.clause(fronted=pattern == "inverted", question=pattern == "question")
            parts = [german(clause, pattern)], [english(clause, pattern)]
        elif pattern == "object":
            clause = self.clause()
            while not clause.topics():
                clause = self.clause()
            parts = [german(clause, topic=rng.choice(clause.topics()))], [english(clause, "main")]
        elif pattern == "because":
            main, reason, link = self.clause(short=True), self.clause(short=True), next(self.unit)
            topic = rng.choice(main.topics()) if main.topics() and rng.random() < 0.25 else None
            parts = (
                [german(main, topic=topic), said(","), said("weil", link), german(reason, "final")],
                [english(main, "main"), said("because", link), english(reason, "main")],
            )
        elif pattern == "that":
            thinker, thought, link = self.thinker(), self.clause(short=True), next(self.unit)
            parts = (
                [german(thinker, "main"), said(","), said("dass", link), german(thought, "final")],
                [english(thinker, "main"), said("that", link), english(thought, "main")],
            )
        else:
            condition, main, link, comma = self.clause(short=True), self.clause(short=True), next(self.unit), next(self.unit)
            parts = (
                [said("wenn", link), german(condition, "final"), said(",", comma), german(main, "question")],
                [said("if", link), english(condition, "main"), said(",", comma), english(main, "main")],
            )
        end = said("?" if pattern == "question" else ".", next(self.unit))
        return tuple([word for part in (*side, end) for word in part] for side in parts)  # type: ignore[return-value]

    def noun_phrase(self, noun_class: str, case: str, kinds: str, *, plain: bool = False, avoid: str = "") -> Phrase:
        """Determiner, perhaps an adjective, noun. Kinds is a string of determiners to choose from, avoid a noun not to say."""
        rng, kind = self.rng, self.rng.choice(kinds.split())
        noun = rng.choice([noun for noun in LEXICON[noun_class] if noun.german != avoid])
        plural = kind == "number" or (kind in ARTICLES and rng.random() < 0.25)
        gender, units = "pl" if plural else noun.gender, (next(self.unit), next(self.unit), next(self.unit))
        german_words, english_words = [], []
        adjective = "" if plain or rng.random() < 0.65 else rng.choice(_adjectives(noun_class))
        if adjective:
            stem, adjective = adjective.split()
            inflected = stem.removesuffix("e") + adjective_ending(kind, case, gender)
            german_words, english_words = [*said(inflected, units[1])], [*said(adjective, units[1])]
        english_words += said(noun.english_plural if plural else noun.english, units[2])
        if kind == "number":
            article, translated = rng.choice(list(NUMBERS.items()))
        else:
            article = determiner(kind, case, gender)
            vowel = english_words[0][0][0] in "aeiou"
            translated = {"ein": "an" if vowel else "a", "kein": "no"}.get(kind) or ARTICLES[kind][plural]
        german_words = [*said(article, units[0]), *german_words, *said(noun.decline(case, plural), units[2])]
        english_words = [*said(translated, units[0]), *english_words]
        marked = kind != "number" and (case == "dative" or gender == "m")
        person = "plural" if plural else "third"
        return Phrase(tuple(german_words), tuple(english_words), person, kind, noun.german, marked)

    def subject(self, classes: Iterable[str] = ("person",), *, plain: bool = False, kein: bool = True) -> Phrase:
        """A noun phrase in the nominative, or a pronoun (persons only); ``kein`` says whether it may be nobody."""
        noun_class = self.rng.choice(tuple(classes))
        if noun_class == "person" and self.rng.random() < 0.25:
            return self.pronoun("nominative")
        kinds = "def def def def ein ein dies mein mein number" + " kein" * kein
        return self.noun_phrase(noun_class, "nominative", kinds, plain=plain)

    def pronoun(self, case: str, subject: Phrase | None = None) -> Phrase:
        """A personal pronoun; as an object never one that speaks of the subject again."""
        unit, taken = next(self.unit), subject.kind if subject else ""
        allowed = [word for word, forms in PRONOUNS.items() if forms[4] != taken or case == "nominative"]
        word = self.rng.choice(allowed)
        accusative, dative, english_subject, english_object, kind, person = PRONOUNS[word]
        form = {"nominative": word, "accusative": accusative, "dative": dative}[case]
        translated = english_subject if case == "nominative" else english_object
        return Phrase(said(form, unit), said(translated, unit), person, kind, marked=form != "sie")

    def time(self, kind: str, *, clock: bool = True) -> Phrase:
        """An expression of time, ``fronted`` or ``frequency``, perhaps of the clock; the phrase's kind says which."""
        german_words: tuple[Word, ...] = ()
        english_words: tuple[Word, ...] = ()
        for word, translated in self.rng.choice([time for time in TIMES[kind] if clock or time[-1][0] != "Uhr"]):
            unit = next(self.unit)
            german_words, english_words = german_words + said(word, unit), english_words + said(translated, unit)
        return Phrase(german_words, english_words, kind=kind)

    def place(self, avoid: str = "") -> Phrase:
        """A preposition with its dative; ``in dem`` becomes ``im``. Avoid is a noun not to say."""
        preposition = self.rng.choice(("in", "in", "in", *PLACES))
        translated, classes = PLACES[preposition]
        where, unit = self.rng.choice(classes), next(self.unit)
        noun = self.noun_phrase(where, "dative", "def def def ein dies", avoid=avoid)
        german_words = said(preposition, unit) + noun.german
        if [word for word, _ in german_words[:2]] == ["in", "dem"]:
            german_words = (("im", german_words[0][1] | german_words[1][1]), *german_words[2:])
        return Phrase(german_words, said(translated, unit) + noun.english)

    def thinker(self) -> Clause:
        """Who knows, believes, says or hopes: the main clause before ``dass``."""
        verb = _verb(self.rng.choice(list(VERBS["that"])))
        return Clause(self.subject(plain=True), verb, (next(self.unit), next(self.unit), next(self.unit)))

    def clause(self, *, fronted: bool = False, question: bool = False, short: bool = False) -> Clause:
        """A clause; ``fronted`` has a time that can stand first, ``short`` has few ornaments."""
        rng = self.rng
        frame = rng.choices(("accusative", "dative", "both", "none", "state"), (46, 10, 10, 22, 12))[0]
        units = (next(self.unit), next(self.unit), next(self.unit))
        if frame == "state":
            clause = Clause(
                self.subject(plain=True, kein=not question), _verb("sein ist be is"), units, state=self.state(passing=fronted)
            )
        else:
            known = [(line, classes) for line, classes in VERBS[frame].items() if not fronted or not _lasts(line)]
            line, classes = rng.choice(known)
            subject = self.subject(classes if frame == "none" else ("person",), plain=short, kein=not question)
            clause = Clause(subject, _verb(line), units)
            clause = self.with_objects(clause, frame, line.split()[0], classes, short)
        clause = self.with_negation(clause)
        lasts = clause.verb.infinitive in STATES_OF_MIND or any(word in LASTING for word, _ in clause.state.german)
        lexical = frame != "state" and not clause.negation
        if fronted:
            clause = replace(clause, time=self.time("fronted", clock=frame != "state"))
        elif not lasts and rng.random() < (0.1 if short else 0.3):
            never_no = lexical and clause.subject.kind != "kein"
            kind = "frequency" if never_no and rng.random() < 0.5 else "fronted"
            clause = replace(clause, time=self.time(kind, clock=frame != "state"))
        willed = clause.verb.infinitive not in UNWILLED and clause.time.kind != "frequency" and clause.subject.kind != "kein"
        if lexical and willed and rng.random() < 0.2:
            clause = replace(clause, modal=rng.choice(list(MODALS)))
        if lexical and not lasts and frame in ("accusative", "none") and not short and rng.random() < 0.35:
            clause = replace(clause, place=self.place(clause.objects[-1].noun if clause.objects else ""))
        return clause

    def with_objects(self, clause: Clause, frame: str, infinitive: str, classes: tuple[str, ...], short: bool) -> Clause:
        """Give the verb what it governs."""
        if frame == "none":
            return clause
        personal = (frame == "accusative" and infinitive in PERSONAL) or (frame == "dative" and infinitive != "gratulieren")
        if personal and self.rng.random() < 0.3:
            return replace(clause, pronoun=self.pronoun(frame, clause.subject))
        avoid = clause.subject.noun
        receiver = (
            (self.noun_phrase("person", "dative", "def def ein mein", plain=True, avoid=avoid),) if frame == "both" else ()
        )
        case = "dative" if frame == "dative" else "accusative"
        thing = self.noun_phrase(self.rng.choice(classes), case, "def def ein ein dies mein number", plain=short, avoid=avoid)
        return replace(clause, objects=(*receiver, thing))

    def with_negation(self, clause: Clause) -> Clause:
        """Perhaps deny it: ``kein`` for an indefinite accusative object, ``nicht`` otherwise; never with a number."""
        if clause.subject.kind == "kein" or self.rng.random() > 0.16:
            return clause
        last = clause.objects[-1] if clause.objects else None
        if last is None or last.kind in ARTICLES:
            return replace(clause, negation="nicht")
        if last.kind == "ein":
            (article, unit), *rest = last.german
            denied = replace(last, german=(("k" + article, unit | {clause.units[2]}), *rest))
            return replace(clause, objects=(*clause.objects[:-1], denied), negation="kein")
        return clause

    def state(self, *, passing: bool = False) -> Phrase:
        """An adjective after ``sein``, which has no ending; a passing one can be said of a day."""
        word, unit = self.rng.choice([word for word in STATES if not passing or word not in LASTING]), next(self.unit)
        translated = next(line.split()[1] for line in ADJECTIVES if line.split()[0] == word)
        return Phrase(said(word, unit), said(translated, unit))


def _adjectives(noun_class: str) -> list[str]:
    return [line for line, classes in ADJECTIVES.items() if noun_class in classes]


def _lasts(line: str) -> bool:
    return line.split()[0] in STATES_OF_MIND


def german(clause: Clause, order: str = "main", *, topic: Phrase | None = None) -> tuple[Word, ...]:
    """Put a clause in German order: ``main`` (verb second), ``inverted`` (time first), ``question``, ``final``.

    In a main clause one of its objects may be the topic: it stands first, and the subject behind the verb.
    """
    verb, (unit, modal_unit, negation_unit) = clause.verb, clause.units
    person = clause.subject.person
    last: tuple[Word, ...] = ()
    if clause.modal:
        finite = said(MODALS[clause.modal][0] if person == "plural" else clause.modal, modal_unit)
        last = said(verb.prefix + verb.infinitive, unit)
    elif verb.infinitive == "sein":
        finite = said({"first": "bin", "third": "ist", "plural": "sind"}[person], unit)
    else:
        form = verb.form(person)
        finite = said(verb.prefix + form if order == "final" else form, unit)
        last = said(verb.prefix, unit) if verb.prefix and order != "final" else ()
    time = () if order == "inverted" else clause.time.german
    objects = tuple(word for thing in clause.objects if thing is not topic for word in thing.german)
    pronoun = () if clause.pronoun is topic else clause.pronoun.german
    nicht = said("nicht", negation_unit) if clause.negation == "nicht" else ()
    middle = pronoun + (objects + time if nicht else time + objects)
    middle += nicht + clause.place.german + clause.state.german
    if topic:
        return topic.german + finite + clause.subject.german + middle + last
    if order == "main":
        return clause.subject.german + finite + middle + last
    if order == "inverted":
        return clause.time.german + finite + clause.subject.german + middle + last
    if order == "question":
        return finite + clause.subject.german + middle + last
    return clause.subject.german + middle + last + finite


def english(clause: Clause, order: str) -> tuple[Word, ...]:
    """Put a clause in English order: ``main`` and ``inverted`` differ in where the time stands; ``question``."""
    verb, (unit, modal_unit, negation_unit) = clause.verb, clause.units
    subject, third = clause.subject.english, clause.subject.person == "third"
    often = clause.time.english if clause.time.kind == "frequency" else ()
    not_ = said("not", negation_unit) if clause.negation else ()
    late = verb.particle and (verb.late or clause.pronoun.english)
    behind = said(verb.particle, unit) if late else ()
    close = () if late else said(verb.particle, unit)
    base = often + said(verb.english, unit) + close
    if clause.state.english:
        be = said({"first": "am", "third": "is", "plural": "are"}[clause.subject.person], unit)
        head = be + subject + not_ if order == "question" else subject + be + not_
        head += clause.state.english
    elif clause.modal in ("kann", "muss"):
        modal = said(MODALS[clause.modal][1], modal_unit)
        head = (modal + subject if order == "question" else subject + modal) + base
    elif order == "question" or not_:
        do = said("does" if third else "do", modal_unit if clause.modal else unit)
        want = said("want_to", modal_unit) if clause.modal else ()
        head = do + subject + not_ + want + base if order == "question" else subject + do + not_ + base
    elif clause.modal:
        head = subject + said("wants to" if third else "want to", modal_unit) + base
    else:
        head = subject + often + said(verb.english_third if third else verb.english, unit) + close
    time = clause.time.english if not often else ()
    objects = tuple(word for thing in clause.objects for word in thing.english)
    tail = clause.pronoun.english + objects + behind + clause.place.english
    return time + head + tail if order == "inverted" else head + tail + time
