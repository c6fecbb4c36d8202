"""Side-by-side timings, in one process and interleaved: ``python -m benchmarks``. See README.md in this folder."""
