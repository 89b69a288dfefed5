"""The engine of SpecScope: decodes speculatively and plainly, and records every event. Knows no screen."""

import os

__version__ = "0.1.0"

# torch's threads wait for each other at the end of every operation, by default spinning. Beside a busy window or any
# other program that costs whole time slices (a forward of 50 ms took 2 s with one other busy process on two cores).
# Spinning briefly and then sleeping costs a few per cent on an idle machine and saves nine tenths on a busy one.
# libgomp reads this once, so it is set before torch can be imported.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")
