"""Models: find, load, check and describe them (built-in, folder, hub, GGUF)."""

from engine.models.builtin import Fetched, fetch
from engine.models.loading import load
from engine.models.memory import MemoryPlan, Need, estimate
from engine.models.model import Model
from engine.models.pair import Pair, check_pair
from engine.models.progress import Progress
from engine.models.refuse import refusal

__all__ = ["Fetched", "MemoryPlan", "Model", "Need", "Pair", "Progress", "check_pair", "estimate", "fetch", "load",
           "refusal"]
