"""Assignments: built from a text master, graded by running submissions in a cage and judging what comes out of it.

**One source.** ``assignments/CHAPTER/master.py`` is a notebook as text (py:percent): prose, answers with their solutions, and
teacher's cells with the questions. It is also a Python module, so that the reference is code that runs and is linted. From it:

- the **student's notebook**: the solutions are dots, the teacher's cells are gone. It carries its public checks as numbers:
  inputs, what is expected, and what each known mistake gives on them. It holds no code of an answer, and needs torch only.
- the **teacher's pack**: the master, the notebook with solutions and rubrics, and a description.

**Grading.** A submission runs in one process (:mod:`classroom.runner`), in a cage (:mod:`classroom.cage`), watched by a warden
(:mod:`classroom.warden`), which a keeper has started (:mod:`classroom.keeper`). It gets inputs and says what its functions
return. Another process (:mod:`classroom.judge`) compares: there is no reference, no check and no test where the submission
runs, so nothing to patch. A step that hangs, exits or asks for too much is left out, and the rest is run again without it.
Inputs are drawn anew for each run of the grader.

**Around it.** An inbox becomes a row for every hand-in (:mod:`classroom.files`, :mod:`classroom.names`,
:mod:`classroom.roster`, :mod:`classroom.hand_ins`). Results are written down as they come (:mod:`classroom.ledger`,
:mod:`classroom.batch`). What a teacher enters stays (:mod:`classroom.rows`, :mod:`classroom.hand`). Pages, a digest and tables
for platforms come out (:mod:`classroom.report`, :mod:`classroom.pages`, :mod:`classroom.digest`, :mod:`classroom.platforms`).

**Why not otter-grader.** Version 7.0.0 was tried with a submission whose answers are wrong: see ``book/classroom.md``.
"""
