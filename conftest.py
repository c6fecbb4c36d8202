"""For every test and every kernel that runs a notebook, wherever pytest is started: one thread, no progress bars."""

import os

os.environ.update(OMP_NUM_THREADS="1", TQDM_DISABLE="1")
