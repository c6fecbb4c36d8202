"""The order of words in the generated corpus: one clause put in German order and in English order."""

from attnlib.course.data._grammar import Clause, Phrase, Word, said
from attnlib.course.data._lexicon import MODALS


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
