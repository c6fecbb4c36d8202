"""What is said in the generated corpus: random sentences in German and English at once, clause by clause."""

import random
from collections.abc import Iterable
from dataclasses import replace
from itertools import count

from attnlib.course.data._grammar import (
    ARTICLES,
    LEXICON,
    PRONOUNS,
    Clause,
    Phrase,
    Word,
    adjective_ending,
    determiner,
    said,
    verb_of,
)
from attnlib.course.data._lexicon import (
    ADJECTIVES,
    LASTING,
    MODALS,
    NUMBERS,
    PERSONAL,
    PLACES,
    STATES,
    STATES_OF_MIND,
    TIMES,
    UNWILLED,
    VERBS,
)
from attnlib.course.data._order import english, german


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
        verb = verb_of(self.rng.choice(list(VERBS["that"])))
        return Clause(self.subject(plain=True), verb, (next(self.unit), next(self.unit), next(self.unit)))

    def clause(self, *, fronted: bool = False, question: bool = False, short: bool = False) -> Clause:
        """A clause; ``fronted`` has a time that can stand first, ``short`` has few ornaments."""
        rng = self.rng
        frame = rng.choices(("accusative", "dative", "both", "none", "state"), (46, 10, 10, 22, 12))[0]
        units = (next(self.unit), next(self.unit), next(self.unit))
        if frame == "state":
            clause = Clause(
                self.subject(plain=True, kein=not question), verb_of("sein ist be is"), units, state=self.state(passing=fronted)
            )
        else:
            known = [(line, classes) for line, classes in VERBS[frame].items() if not fronted or not _lasts(line)]
            line, classes = rng.choice(known)
            subject = self.subject(classes if frame == "none" else ("person",), plain=short, kein=not question)
            clause = Clause(subject, verb_of(line), units)
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
