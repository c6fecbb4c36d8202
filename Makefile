# Everything runs from here, in .venv, which the first call makes. Nothing else needs to be installed by hand.
PYTHON ?= python3
RUN := .venv/bin/python
WORKERS := -n auto --maxprocesses 4 --dist loadscope --no-loadscope-reorder
export OMP_NUM_THREADS := 1
# glibc keeps the memory of large arrays for the next ones: to ask the kernel for fresh pages each time is a tenth of a page's time.
export MALLOC_MMAP_THRESHOLD_ := 268435456
export MALLOC_TRIM_THRESHOLD_ := 536870912
# Python keeps what it compiles, for the hundreds of processes that a run starts.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help book pdf check test test-all test-versions lint lab notebooks pages serve bench assignments grade

help:  ## say what can be made
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

book: .venv/installed  ## build the book, warnings are errors
	.venv/bin/jupyter-book build . -W -n --keep-going
	@echo "The book is built: open _build/html/index.html, or run make serve."

pdf: book  ## print the book as one PDF, _build/html/course.pdf; needs a Chromium
	@$(RUN) tools/make_pdf.py

check: .venv/installed  ## look at what you are working on: lint, types, rules, unit tests, no page executed (a minute or two)
	@$(RUN) -m pytest --tier check $(WORKERS)

test: .venv/installed  ## test the package, the notebooks, the book, the site in a browser (about ten minutes)
	@$(RUN) -m pytest $(WORKERS)

test-all: .venv/installed  ## test everything, each page twice, whole sweeps, records, mutants, then every end of the versions (hours)
	@$(RUN) -m pytest --tier all $(WORKERS)
	@$(RUN) tools/versions.py $(ENDS)

test-versions: .venv/installed  ## run the tests on the oldest, Colab's and the newest Python and packages, browser apart
	@$(RUN) tools/versions.py $(ENDS)

lint: .venv/installed  ## mend the layout of the code, then say what else is wrong
	@$(RUN) -m ruff format . && $(RUN) -m pytest -q tests/house/test_house.py

lab: .venv/installed  ## open the notebooks in JupyterLab
	.venv/bin/jupyter-lab notebooks

notebooks: .venv/installed  ## execute notebooks twice, PAGES="02b 05a" or all; then write the page of claims
	$(RUN) tools/execute_notebooks.py $(PAGES) && $(RUN) tools/make_claims.py

pages: .venv/installed  ## write again what repeats _config.yml, the version and the notebooks
	$(RUN) tools/sync_pages.py && $(RUN) tools/make_claims.py

serve: book  ## build the book and show it at http://localhost:8000
	$(RUN) -m http.server --bind 127.0.0.1 --directory _build/html 8000

bench: .venv/installed  ## time the package against torch's own attention and against lower bounds
	$(RUN) -m benchmarks

assignments: .venv/installed  ## build each assignment: a notebook for students, a pack for teachers
	@$(RUN) tools/build_assignments.py

grade: .venv/installed  ## grade what a class handed in: make grade PACK=... SUBMISSIONS=... OUT=... (more: the page Classroom)
	@$(RUN) tools/grade_submissions.py "$(PACK)" "$(SUBMISSIONS)" "$(OUT)" $(GRADING)
GRADING = $(if $(ROSTER),--roster "$(ROSTER)") $(if $(DUE),--due "$(DUE)") $(if $(GRACE),--grace "$(GRACE)") \
	$(if $(LATE),--late "$(LATE)") $(if $(LATE_MOST),--late-most "$(LATE_MOST)") $(if $(TIMES),--times "$(TIMES)") \
	$(if $(CANVAS),--canvas "$(CANVAS)") $(if $(SEED),--seed "$(SEED)") $(if $(RESUME),--resume) \
	$(if $(WORKERS),--workers "$(WORKERS)") $(if $(MEMORY),--memory "$(MEMORY)") $(if $(UNPROTECTED),--unprotected)

# A new pip first: it settles what fits together in a third of the time that the one which comes with Python 3.11 takes.
# Not compiled: Python compiles what it imports, a fifth of what is installed. The checker of types reads torch here, once.
.venv/installed: requirements.txt pyproject.toml
	@$(PYTHON) tools/make_environment.py .venv
	$(RUN) -m pip install --upgrade pip
	$(RUN) -m pip install --no-compile -r requirements.txt -e ".[book,dev]"
	$(RUN) -m mypy -c "import torch" && touch $@
