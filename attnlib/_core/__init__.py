"""The floor that all rooms share, file by file: checks, values, numerics, convergence, autocast, systems of spins.

Nothing in it is public, so nothing is listed here: a room takes what it needs from the file that has it.
"""
