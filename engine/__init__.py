"""The engine of SpecScope: decodes speculatively and plainly, and records every event. Knows no screen."""

import os

__version__ = "0.1.0"

# torch's threads wait for each other at the end of every operation, by default spinning. Beside a busy window or any
# other program that costs whole time slices (a forward of 60 ms took 2 s); spinning briefly and then sleeping costs
# next to nothing. libgomp reads this once, so it is set before torch can be imported.
os.environ.setdefault("GOMP_SPINCOUNT", "2000")
