"""The generated corpus keeps the rules of German; splits leak nothing; loaders read what they should and refuse the rest."""

import random
from functools import cache
from itertools import chain

import jaxtyping
import pytest
import torch
from helpers.draw import examples
from hypothesis import given
from hypothesis import strategies as st

from attnlib.course.data import (
    Pair,
    Vocabulary,
    batches,
    generate_pairs,
    make_batch,
    read_parallel,
    read_tab_separated,
    split_pairs,
    tokenize,
    translation_corpus,
)
from attnlib.course.data._grammar import LEXICON, adjective_ending, determiner
from attnlib.course.data._lexicon import ADJECTIVES, MODALS, NUMBERS, PLACES, STATES, TIMES, VERBS
from attnlib.course.data._speaker import Speaker
from attnlib.course.models.seq2seq import BOS, EOS, PAD, UNKNOWN


def quickly(make):
    """Without jaxtyping's checks, which cost ten times what the grammar does."""
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        return make()
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)


@cache
def sampled():
    return quickly(lambda: generate_pairs(4000, seed=7))


CASES, GENDERS = ("nominative", "accusative", "dative"), ("m", "f", "n", "pl")


@pytest.fixture(scope="module")
def corpus():
    return quickly(translation_corpus)


# The tables below are written out from a grammar book, not from the code.

DER = ["der", "die", "das", "die", "den", "die", "das", "die", "dem", "der", "dem", "den"]
EIN = ["ein", "eine", "ein", "None", "einen", "eine", "ein", "None", "einem", "einer", "einem", "None"]
KEIN = ["kein", "keine", "kein", "keine", "keinen", "keine", "kein", "keine", "keinem", "keiner", "keinem", "keinen"]
DIES = ["dieser", "diese", "dieses", "diese", "diesen", "diese", "dieses", "diese", "diesem", "dieser", "diesem", "diesen"]
WEAK = ["e", "e", "e", "en", "en", "e", "e", "en", "en", "en", "en", "en"]
MIXED = ["er", "e", "es", "en", "en", "e", "es", "en", "en", "en", "en", "en"]


@pytest.mark.parametrize(("kind", "forms"), [("def", DER), ("ein", EIN), ("kein", KEIN), ("dies", DIES)])
def test_determiners(kind, forms):
    cells = [(case, gender) for case in CASES for gender in GENDERS]
    for (case, gender), form in zip(cells, forms, strict=True):
        if form != "None":
            assert determiner(kind, case, gender) == form


@pytest.mark.parametrize(("kind", "endings"), [("def", WEAK), ("dies", WEAK), ("ein", MIXED), ("mein", MIXED)])
def test_adjective_endings(kind, endings):
    cells = [(case, gender) for case in CASES for gender in GENDERS]
    assert [adjective_ending(kind, case, gender) for case, gender in cells] == endings


def test_strong_endings_after_numbers():
    assert [adjective_ending("number", case, "pl") for case in CASES] == ["e", "e", "en"]


def test_declension():
    nouns = {noun.german: noun for noun in chain.from_iterable(LEXICON.values())}
    assert nouns["Junge"].decline("nominative", False) == "Junge"
    assert nouns["Junge"].decline("accusative", False) == nouns["Junge"].decline("dative", False) == "Jungen"
    assert nouns["Mann"].decline("dative", False) == "Mann"
    assert [nouns[name].decline("dative", True) for name in ("Mann", "Frau", "Park", "Apfel")] == [
        "Männern",
        "Frauen",
        "Parks",
        "Äpfeln",
    ]


def noun_phrases():
    """Determiner, adjective and noun as the speaker says them, in every class and case."""
    speaker, genders = Speaker(random.Random(3)), {}
    for noun in chain.from_iterable(LEXICON.values()):
        genders.setdefault(noun.german, noun.gender)
    for noun_class in LEXICON:
        for case in CASES:
            for _ in range(40):
                phrase = speaker.noun_phrase(noun_class, case, "def ein dies mein kein number")
                yield noun_class, case, phrase


def test_noun_phrases_agree():
    tables = {"def": DER, "ein": EIN, "kein": KEIN, "dies": DIES, "mein": ["m" + form for form in EIN]}
    mein_plural = {"nominative": "meine", "accusative": "meine", "dative": "meinen"}
    seen = set()
    for noun_class, case, phrase in noun_phrases():
        words = [word for word, _ in phrase.german]
        plural = phrase.person == "plural"
        matching = [n for n in LEXICON[noun_class] if n.decline(case, plural) == words[-1]]
        assert matching, words
        (noun,) = {n.german: n for n in matching}.values()
        gender = "pl" if plural else noun.gender
        column = 4 * CASES.index(case) + GENDERS.index(gender)
        if phrase.kind == "number":
            assert words[0] in NUMBERS
        elif phrase.kind == "mein" and plural:
            assert words[0] == mein_plural[case]
        else:
            assert words[0] == tables[phrase.kind][column]
        if len(words) == 3:
            ending = (WEAK if phrase.kind in ("def", "dies") else MIXED)[column]
            ending = {"nominative": "e", "accusative": "e", "dative": "en"}[case] if phrase.kind == "number" else ending
            stems = {line.split()[0] for line in ADJECTIVES}
            assert any(stem.removesuffix("e") + ending == words[1] for stem in stems), words
        english = [word for word, _ in phrase.english]
        assert english[-1] == (noun.english_plural if plural else noun.english).split("_")[-1]
        assert "" not in words
        if english[0] in ("a", "an"):
            assert (english[0] == "an") == (english[1][0] in "aeiou")
        seen.add((phrase.kind, gender, case, len(words)))
    assert len(seen) > 80  # nearly every combination of kind, gender, case, with and without an adjective


FINITE = {form for lines in VERBS.values() for line in lines for form in (line.split()[1],)}
INFINITIVES = {line.split()[0].split("|")[-1] for lines in VERBS.values() for line in lines}
PREFIXES = {line.split("|")[0] for lines in VERBS.values() for line in lines if "|" in line}
SINGULAR_I = {i[:-2] + "e" if i.endswith("en") else i[:-1] + "e" for i in INFINITIVES} | {"weiß"}
VERB_FORMS = FINITE | INFINITIVES | SINGULAR_I | set(MODALS) | {form for form, _ in MODALS.values()} | {"bin", "ist", "sind"}
PLURAL_FORMS = INFINITIVES | {plural for plural, _ in MODALS.values()} | {"sind"}
TIMES_FIRST = [tuple(word for word, _ in time) for time in TIMES["fronted"]]


@pytest.mark.slow
def test_the_verb_stands_second_after_a_time():
    fronted = [pair for pair in sampled() if any(pair.source[: len(time)] == time for time in TIMES_FIRST)]
    assert len(fronted) > 400
    for pair in fronted:
        time = next(time for time in TIMES_FIRST if pair.source[: len(time)] == time)
        assert pair.source[len(time)] in VERB_FORMS, pair.source
        english = tuple(" ".join(dict(t for time in TIMES["fronted"] for t in time)[word] for word in time).split())
        assert pair.target[: len(english)] == english


@pytest.mark.parametrize(("word", "english"), [("weil", "because"), ("dass", "that"), ("wenn", "if")])
def test_the_verb_stands_last_in_a_subordinate_clause(word, english):
    subordinate = [pair for pair in sampled() if word in pair.source]
    assert len(subordinate) > 150
    for pair in subordinate:
        begin = pair.source.index(word)
        if word == "wenn":
            assert begin == 0
            end = pair.source.index(",")
            assert pair.source[end + 1] in VERB_FORMS  # and the main clause begins with its verb
        else:
            assert pair.source[begin - 1] == ","
            end = len(pair.source) - 1
        last = pair.source[end - 1]
        bare = {last} | {last.removeprefix(prefix) for prefix in PREFIXES if last.startswith(prefix)}
        assert bare & VERB_FORMS, pair.source
        assert english in pair.target


def test_separable_verbs_separate_in_main_clauses_only():
    apart = [p for p in sampled() if p.source[-2] in PREFIXES and p.source[-1] == "." and "," not in p.source]
    assert len(apart) > 50
    for pair in apart:
        assert set(pair.source) & (FINITE | INFINITIVES | SINGULAR_I)
        prefix = len(pair.source) - 2
        speakers = {j for i, j in pair.alignment if (i, prefix) in pair.alignment}
        assert len(speakers) == 2  # the English verb says both parts
    together = [
        p
        for p in sampled()
        if "weil" in p.source and p.source[-2].startswith(tuple(PREFIXES)) and p.source[-2] not in VERB_FORMS
    ]
    assert len(together) > 5


def test_negation():
    nicht, kein = ([p for p in sampled() if any(w.startswith(start) for w in p.source)] for start in ("nicht", "kein"))
    assert len(nicht) > 200
    assert len(kein) > 200
    for pair in nicht:
        assert "not" in pair.target
    for pair in kein:
        assert "not" in pair.target or "no" in pair.target


@pytest.mark.slow
def test_predicates_have_no_ending():
    for pair in sampled():
        if len(pair.source) == 4 and pair.source[1] in ("ist", "sind", "bin"):
            assert pair.source[2] in STATES


def test_contraction():
    bigrams = {pair.source[i : i + 2] for pair in sampled() for i in range(len(pair.source) - 1)}
    assert ("in", "dem") not in bigrams
    assert any(first == "im" for first, _ in bigrams)


def test_every_english_word_is_aligned_and_links_are_inside():
    for pair in sampled():
        assert {i for i, _ in pair.alignment} == set(range(len(pair.target)))
        assert {j for _, j in pair.alignment} <= set(range(len(pair.source)))
        unsaid = set(range(len(pair.source))) - {j for _, j in pair.alignment}
        assert [pair.source[j] for j in unsaid] == [","] * (len(unsaid))
        assert len(unsaid) == ("," in pair.source and "," not in pair.target)  # English says it in front of no "that"


def test_alignments_of_known_words():
    known = {"apple": "Apfel", "because": "weil", "tree": "baum", "today": "heute", "o'clock": "Uhr", "king": "König", "?": "?"}
    found = set()
    for pair in sampled():
        for i, j in pair.alignment:
            if pair.target[i] in known:
                assert known[pair.target[i]].lower() in pair.source[j].lower()
                found.add(pair.target[i])
    assert found == set(known)


# Sentences of the corpus with the translation and the links (English, German) that a person gave them.
BY_HAND = {
    "der Koch steht auf .": ("the cook gets up .", "00 11 22 23 32 33 44"),
    "ich schaue die Apfelkuchen nicht an .": ("I do not look at the apple cakes .", "00 11 15 24 31 35 41 45 52 63 73 86"),
    "ein Vater hofft , dass ich kein Schulbuch vorlese .": (
        "a father hopes that I do not read a school book aloud .",
        "00 11 22 34 45 58 66 78 86 97 107 118 129",
    ),
    "wenn er tanzen will , spielen die Wölfe .": ("if he wants to dance , the wolves play .", "00 11 23 33 42 54 66 77 85 98"),
    "die Gäste holen uns heute ab .": ("the guests pick us up today .", "00 11 22 25 33 42 45 54 66"),
    "den schweren Lederkoffer macht ein Gast auf .": (
        "a guest opens the heavy leather suitcase .",
        "04 15 23 26 30 41 52 62 77",
    ),
    "ihn findet mein alter Gärtner jede Woche .": ("my old gardener finds him every week .", "02 13 24 31 40 55 66 77"),
    "dem Kind zeigen zwei Söhne vier neue Schulbücher .": (
        "two sons show the child four new school books .",
        "03 14 22 30 41 55 66 77 87 98",
    ),
}


@pytest.mark.slow
def test_sentences_translated_and_aligned_by_hand(corpus):
    said = {" ".join(pair.source): pair for pair in corpus.train + corpus.validation + corpus.test}
    for german, (english, drawn) in BY_HAND.items():
        assert " ".join(said[german].target) == english
        assert said[german].alignment == {(int(link[:-1]), int(link[-1])) for link in drawn.split()}


# --- who acts: cases read off the words by the tables above, not by the code ---

PRONOUN_CASES = {
    "ich": "nominative",
    "mich": "accusative",
    "mir": "dative",
    "wir": "nominative",
    "uns": "accusative dative",
    "er": "nominative",
    "ihn": "accusative",
    "ihm": "dative",
    "sie": "nominative accusative",
    "ihr": "dative",
}
NOUNS = {n.german: n for n in chain.from_iterable(LEXICON.values())}.values()
MEIN = ["m" + form for form in EIN[:3]] + ["meine"] + ["m" + form for form in EIN[4:7]] + ["meine"]
MEIN += ["m" + form for form in EIN[8:11]] + ["meinen"]
DETERMINERS = {"d": (DER, WEAK), "dies": (DIES, WEAK), "ein": (EIN, MIXED), "kein": (KEIN, MIXED), "mein": (MEIN, MIXED)}
STEMS = {line.split()[0].removesuffix("e") for line in ADJECTIVES}
DATIVE_VERBS = {"help", "thank", "follow", "answer", "congratulate"}
GIVING = {"give", "show", "bring", "send", "sell"}


def readings(words):
    """What a noun phrase or pronoun can be by its words alone: cases, and whether plural."""
    if len(words) == 1:
        return {(case, words[0] == "wir") for case in PRONOUN_CASES[words[0]].split()}
    found = set()
    for noun in NOUNS:
        for place, (case, gender) in enumerate((case, gender) for case in CASES for gender in GENDERS):
            if gender not in (noun.gender, "pl") or noun.decline(case, gender == "pl") != words[-1]:
                continue
            families = [tables for tables in DETERMINERS.values() if tables[0][place] == words[0]]
            endings = [endings[place] for _, endings in families]
            if words[0] in NUMBERS and gender == "pl":
                endings.append("en" if case == "dative" else "e")
            if any(len(words) == 2 or (words[1].endswith(e) and words[1].removesuffix(e) in STEMS) for e in endings):
                found.add((case, gender == "pl"))
    return found


def object_first(pair):
    """German topic, finite verb, subject, by the gold links; nothing where no object stands first."""
    if (0, 0) in pair.alignment:
        return None
    finite = min(j for i, j in pair.alignment if i == 0) - 1
    count = min(i for i, j in pair.alignment if j == finite)
    adverbs = {time[0][0] for time in TIMES["frequency"]}
    subject = sorted({j for i, j in pair.alignment if i < count and pair.source[j] not in adverbs})
    assert subject == list(range(finite + 1, finite + 1 + len(subject)))
    return pair.source[:finite], pair.source[finite], tuple(pair.source[j] for j in subject)


@cache
def objects_first():
    return [pair for pair in sampled() if object_first(pair)]


def test_many_sentences_begin_with_an_object():
    assert len(objects_first()) > 400
    topics = [object_first(pair)[0] for pair in objects_first()]
    assert {len(topic) for topic in topics} == {1, 2, 3}
    assert {"mich", "ihn", "mir", "ihm", "ihr"} <= {topic[0] for topic in topics}


@pytest.mark.slow
def test_the_form_of_the_words_says_who_acts():
    """A topic that can be a subject stands before a subject that cannot be an object: only one reading is left."""
    decided_by = {"topic": 0, "subject": 0}
    for pair in objects_first():
        topic, finite, subject = object_first(pair)
        main = " ".join(pair.target).split(" because ")[0].split()
        governed = {word.removesuffix("s") for word in main} & (DATIVE_VERBS | GIVING)
        cases = {"dative"} if governed & DATIVE_VERBS else {"accusative", "dative"} if governed else {"accusative"}
        as_topic, as_subject = readings(topic), readings(subject)
        assert {case for case, _ in as_topic} & cases, pair
        numbers = {plural for case, plural in as_subject if case == "nominative"}
        assert len(numbers) == 1, pair
        if finite not in ("weiß",):
            assert (finite in PLURAL_FORMS) >= numbers.pop(), pair
        topic_shows = "nominative" not in {case for case, _ in as_topic}
        subject_shows = not {case for case, _ in as_subject} & {"accusative", "dative"} & cases
        assert topic_shows or subject_shows, pair
        decided_by["topic" if topic_shows else "subject"] += 1
    assert min(decided_by.values()) > 100


def test_the_english_does_not_show_the_order_of_the_german():
    """Subject, verb, object: turned about, the first English words are those behind the German verb."""
    for pair in objects_first():
        topic, _, subject = object_first(pair)
        first = {j for i, j in pair.alignment if i == 0}
        assert min(first) > len(topic)
        assert pair.source[min(first)] in subject


def test_english_particles_stand_behind_pronouns_and_aloud_behind_every_object():
    particles, objects = {"up", "off", "on", "away", "along"}, {"me", "us", "him", "her"}
    apart = aloud = 0
    for pair in sampled():
        for first, second in zip(pair.target, pair.target[1:], strict=False):
            assert not (first in particles and second in objects), pair
            assert not (first in ("read", "reads") and second == "aloud"), pair
            apart += first in objects and second == "up"
        aloud += "aloud" in pair.target
    assert apart > 0
    assert aloud > 20


def test_what_lasts_is_neither_wanted_nor_timed():
    modals = set(MODALS) | {plural for plural, _ in MODALS.values()}
    for pair in sampled():
        if {"brauchen", "lieben", "kennen", "braucht", "liebt", "kennt", "brauche", "liebe", "kenne"} & set(pair.source):
            clause = " ".join(pair.source).split(" , ")
            for part in clause:
                if any(stem in part for stem in ("brauch", "kenn")):
                    assert not modals & set(part.split()), pair
                    assert "Uhr" not in part.split(), pair
                    assert not any(f" {preposition} " in part for preposition in (*PLACES, "im")), pair
        if {"reich", "arm"} & set(pair.source) and "," not in pair.source:
            assert not {"Uhr", "heute", "Woche", "Tag", "Montag", "abends"} & set(pair.source), pair


def test_nobody_does_anything_to_the_same_word():
    for pair in sampled():
        for part in " ".join(pair.source).split(" , "):
            nouns = [word for word in part.split() if word[0].isupper() and word != "Uhr"]
            stems = {next((n.german for n in NOUNS if word in (n.german, n.plural)), word) for word in nouns}
            assert len(stems) == len(nouns), pair


@pytest.mark.slow
def test_three_german_words_mean_something_else_in_small_letters(corpus):
    """The boy and young, the shop and invite; all others can be typed in any case, and ``Vocabulary.encode`` finds them."""
    german, english = ({word for pair in corpus.train for word in getattr(pair, side)} for side in ("source", "target"))
    assert {word for word in german if word != word.lower() in german} == {"Junge", "Jungen", "Laden"}
    assert not {word for word in english if word != word.lower() in english}


@pytest.mark.slow
def test_a_sentence_as_it_is_written_is_understood(corpus):
    words = Vocabulary(pair.source for pair in corpus.train)
    numbers = words.encode(tokenize("Den jungen Hund sucht ein Junge im Laden.", lower=False), any_case=True)
    assert words.decode(numbers) == ["den", "jungen", "Hund", "sucht", "ein", "Junge", "im", "Laden", "."]
    small = words.encode(tokenize("DEN HUND SUCHT EIN KIND."), any_case=True)
    assert words.decode(small) == ["den", "Hund", "sucht", "ein", "Kind", "."]


@examples(60)
@given(st.integers(min_value=0, max_value=2**63))
def test_any_speaker_obeys(seed):
    """Whatever the seed: a verb form in every sentence, every English word linked, a case in front that can be read."""
    speaker = Speaker(random.Random(seed))
    for _ in range(10):
        german, english = speaker.sentence()
        source, target = (tuple(word for word, _ in side) for side in (german, english))
        links = frozenset((i, j) for i, (_, a) in enumerate(english) for j, (_, b) in enumerate(german) if a & b)
        assert {i for i, _ in links} == set(range(len(target)))
        assert "" not in source + target
        bare = {word.removeprefix(prefix) for word in source for prefix in ("", *PREFIXES)}
        assert bare & VERB_FORMS
        pair = Pair(source, target, links)
        if object_first(pair):
            topic, finite, subject = object_first(pair)
            assert finite in VERB_FORMS
            assert {case for case, _ in readings(topic)} & {"accusative", "dative"}
            assert "nominative" in {case for case, _ in readings(subject)}


@pytest.mark.slow
def test_the_corpus_is_large_distinct_and_deterministic(corpus):
    pairs = corpus.train + corpus.validation + corpus.test
    assert len(pairs) == 24_000
    assert len(corpus.validation) == len(corpus.test) == 1000
    assert len({pair.source for pair in pairs}) == len({pair.target for pair in pairs}) == 24_000
    for side in ("source", "target"):
        assert len({word for pair in pairs for word in getattr(pair, side)}) > 300
        assert max(len(getattr(pair, side)) for pair in pairs) <= 14
    assert generate_pairs(300, seed=1) == generate_pairs(300, seed=1)
    assert generate_pairs(300, seed=1) != generate_pairs(300, seed=2)


@pytest.mark.slow
def test_splits_share_no_sentence(corpus):
    for side in ("source", "target"):
        parts = [{getattr(pair, side) for pair in part} for part in (corpus.train, corpus.validation, corpus.test)]
        assert not parts[0] & parts[1]
        assert not parts[0] & parts[2]
        assert not parts[1] & parts[2]


def test_pairs_that_share_a_sentence_stay_together():
    pairs = [Pair((str(n // 2),), (str((n + 1) // 2),)) for n in range(10)]  # a chain: all hang together
    pairs += [Pair((f"s{n}",), (f"t{n}",)) for n in range(20)]
    split = split_pairs(pairs, validation=3, test=3, seed=5)
    assert sorted(map(str, split.train + split.validation + split.test)) == sorted(map(str, pairs))
    homes = [name for name in ("train", "validation", "test") for pair in getattr(split, name) if pair in pairs[:10]]
    assert len(homes) == 10
    assert len(set(homes)) == 1


# --- vocabulary and batches ---


def test_vocabulary():
    words = Vocabulary([["b", "a", "b"], ["c"]])
    assert words.words == ("<pad>", "<bos>", "<eos>", "<unk>", "b", "a", "c")
    assert len(words) == 7
    assert words.encode(["c", "x", "b"]) == [6, UNKNOWN, 4]
    assert words.decode([BOS, 6, 5, PAD, EOS, 4]) == ["c", "a"]
    assert Vocabulary([["b", "a", "b"]], least=2).words[4:] == ("b",)


def test_a_vocabulary_finds_words_in_any_case_if_asked():
    words = Vocabulary([["der", "Mann", "I", "Weg", "weg", "weg"]])
    der, mann, way, away = (words.numbers[word] for word in ("der", "Mann", "Weg", "weg"))
    assert words.encode(tokenize("Der MANN läuft weg"), any_case=True) == [der, mann, UNKNOWN, away]
    assert words.encode(["Der", "mann", "i"]) == [UNKNOWN] * 3
    assert words.encode(["WEG", "Weg", "weg"], any_case=True) == [away, way, away]  # as written, else the more frequent


def test_a_batch_is_padded_and_shifted():
    pairs = [Pair(("a", "b"), ("x",)), Pair(("a",), ("x", "y"))]
    source, target = Vocabulary([["a"], ["b"]]), Vocabulary([["x"], ["y"]])
    batch = make_batch(pairs, source, target)
    assert batch.source.tolist() == [[4, 5], [4, PAD]]
    assert batch.mask.tolist() == [[True, True], [True, False]]
    assert batch.given.tolist() == [[BOS, 4, PAD], [BOS, 4, 5]]
    assert batch.wanted.tolist() == [[4, EOS, PAD], [4, 5, EOS]]


def test_batches_hold_every_pair_once_and_waste_little():
    pairs = sampled()[:1000]
    source, target = (Vocabulary(getattr(p, side) for p in pairs) for side in ("source", "target"))
    first, second = (list(batches(pairs, source, target, 64, generator=torch.Generator().manual_seed(3))) for _ in range(2))
    assert [b.source.tolist() for b in first] == [b.source.tolist() for b in second]
    assert sorted(map(str, chain.from_iterable(b.pairs for b in first))) == sorted(map(str, pairs))
    padding = sum(int((~b.mask).sum()) for b in first) / sum(b.mask.numel() for b in first)
    assert padding < 0.1
    plain = list(batches(pairs, source, target, 64))
    assert [len(b.pairs) for b in plain] == [64] * 15 + [40]


# --- files ---


def write(path, data):
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def test_tokenize():
    assert tokenize("Der Mann, müde, schläft!") == ("der", "mann", ",", "müde", ",", "schläft", "!")
    assert tokenize("o'clock Nord-Süd 3") == ("o'clock", "nord-süd", "3")
    assert tokenize(" ") == ()
    assert tokenize("Der Mann, müde, schläft!", lower=False) == ("Der", "Mann", ",", "müde", ",", "schläft", "!")


def test_tab_separated(tmp_path):
    path = write(tmp_path / "deu.txt", "\ufeffGo!\tGeh!\tCC-BY\r\nThe dog.\tDer Hund.\tCC-BY\r\n")
    assert read_tab_separated(path) == [Pair(("geh", "!"), ("go", "!")), Pair(("der", "hund", "."), ("the", "dog", "."))]
    swapped = read_tab_separated(path, source_column=0, target_column=1)
    assert swapped[0] == Pair(("go", "!"), ("geh", "!"))


def test_odd_line_ends_inside_a_line_are_kept_together(tmp_path):
    path = write(tmp_path / "x.txt", "a\u2028b\tc\n")
    assert len(read_tab_separated(path)) == 1


def test_parallel_lines(tmp_path):
    german, english = write(tmp_path / "x.de", "Der Hund .\nDie Katze ."), write(tmp_path / "x.en", "The dog .\nThe cat .\n")
    assert [pair.target for pair in read_parallel(german, english)] == [("the", "dog", "."), ("the", "cat", ".")]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("a\tb\nonly one\n", r"bad.txt, line 2 has 1 columns; expected at least 2, between tabs"),
        ("a\tb\n\nc\td\n", r"bad.txt, line 2 has 1 columns; expected at least 2"),
        ("a\tb\nc\t \n", r"bad.txt, line 2 is empty or has an empty sentence; expected words"),
        ("a\tb\nc\tGrüße".encode("latin-1"), r"bad.txt, line 2 has the byte 0xfc, which is not UTF-8; expected UTF-8"),
        ("", r"bad.txt is empty; expected at least one line"),
        ("\n", r"bad.txt is empty; expected at least one line"),
    ],
)
def test_bad_tab_separated_files(tmp_path, data, words):
    path = write(tmp_path / "bad.txt", data)
    with pytest.raises(ValueError, match=words):
        read_tab_separated(path)


def test_bad_columns(tmp_path):
    path = write(tmp_path / "x.txt", "a\tb\n")
    with pytest.raises(ValueError, match="source_column and target_column are both 1; expected two columns"):
        read_tab_separated(path, target_column=1)
    with pytest.raises(ValueError, match="source_column is -1; expected an integer of at least 0"):
        read_tab_separated(path, source_column=-1)
    with pytest.raises(ValueError, match="has 2 columns; expected at least 3"):
        read_tab_separated(path, target_column=2)


def test_bad_parallel_files(tmp_path):
    two, one = write(tmp_path / "two", "a\nb\n"), write(tmp_path / "one", "a\n")
    gap, latin = write(tmp_path / "gap", "a\n\nb\n"), write(tmp_path / "latin", "a\n\xe4\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"two has 2 lines, .*one 1; expected equally many"):
        read_parallel(two, one)
    with pytest.raises(ValueError, match="gap, line 2 is empty"):
        read_parallel(gap, two)
    with pytest.raises(ValueError, match="latin, line 2 has the byte 0xe4"):
        read_parallel(two, latin)
    with pytest.raises(FileNotFoundError):
        read_parallel(two, tmp_path / "none")


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: generate_pairs(0), "size is 0; expected an integer of at least 1"),
        (lambda: generate_pairs(3, longest=5), "longest is 5; expected an integer of at least 8"),
        (lambda: translation_corpus(50), "pairs has 50 pairs; expected more than validation 1000"),
        (lambda: split_pairs(sampled(), validation=0, test=1), "validation is 0; expected an integer of at least 1"),
        (lambda: split_pairs(sampled(), validation=1, test=0), "test is 0; expected an integer of at least 1"),
        (lambda: Vocabulary([[]]), "sentences has no word that occurs 1 times"),
        (lambda: Vocabulary([["a"]]).encode(["a"], any_case=1), "any_case is .*; expected True or False"),
        (lambda: tokenize("a", lower=0), "lower is .*; expected True or False"),
        (lambda: Vocabulary([["a"]], least=0), "least is 0; expected an integer of at least 1"),
        (lambda: make_batch([], Vocabulary([["a"]]), Vocabulary([["a"]])), "pairs is empty; expected at least one pair"),
        (lambda: next(batches(sampled(), Vocabulary([["a"]]), Vocabulary([["a"]]), 0)), "size is 0; expected an integer"),
    ],
)
def test_bad_arguments(call, words):
    with pytest.raises(ValueError, match=words):
        call()
