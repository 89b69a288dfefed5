"""Twenty prompts of several kinds, for the checks and figures that decode with the built-in model."""

from __future__ import annotations

from typing import NamedTuple


class Prompt(NamedTuple):
    kind: str
    text: str


_STACK = '''class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def pop(self):
        if not self.items:
            raise IndexError("pop from an empty stack")
        return self.items.pop()

    def peek(self):
        return self.items[-1]

    def is_empty(self):
        return len(self.items) == 0
'''

_CONFIG = '''{
  "name": "harbour",
  "version": "1.4.2",
  "servers": [
    {"host": "alpha.example", "port": 8080, "weight": 3, "enabled": true},
    {"host": "beta.example", "port": 8081, "weight": 2, "enabled": true},
    {"host": "gamma.example", "port": 8082, "weight": 1, "enabled": false}
  ],
  "timeout": 30,
  "retries": 5
}
'''

_PRIMES = '''def primes(limit):
    sieve = [True] * (limit + 1)
    sieve[0] = sieve[1] = False
    for number in range(2, int(limit ** 0.5) + 1):
        if sieve[number]:
            for multiple in range(number * number, limit + 1, number):
                sieve[multiple] = False
    return [number for number in range(limit + 1) if sieve[number]]
'''

_LIGHTHOUSE = (
    "The lighthouse on Sule Rock was lit for the first time in the autumn of 1871. It stands on a reef that is "
    "covered at every high tide, eleven miles from the nearest harbour. The builders could work for only three "
    "hours a day, and in the first year they laid no more than nine stones. Every block was cut on the mainland, "
    "numbered, and fitted to its neighbours before it was shipped. For more than a century three keepers lived "
    "there, six weeks at a time, and wrote down the weather every three hours. The lamp has been automatic since "
    "1988, and nobody has lived in the tower since then.")

_BEES = (
    "Honey bees tell each other where food is by dancing. A bee that has found flowers returns to the hive and runs"
    " in a straight line while shaking her body, then circles back and runs again. The angle of the line against "
    "the vertical gives the direction of the flowers against the sun. The length of the run gives the distance: "
    "about one second for each kilometre. Other bees follow her with their antennae in the dark, and then fly out "
    "to the place she has described. Karl von Frisch worked this out in the 1940s and received the Nobel Prize for "
    "it in 1973.")

_TIDES = (
    "The tides are caused by the pull of the moon and the sun on the oceans. The moon is smaller than the sun but "
    "much nearer, so its effect is about twice as strong. When sun, moon and earth stand in one line, at new moon "
    "and full moon, the two effects add up and the tides are especially high. These are called spring tides. When "
    "the moon stands at a right angle to the sun, the tides are weak and are called neap tides. In a narrow bay the"
    " water piles up: in the Bay of Fundy it rises by sixteen metres twice a day.")

_QUOTE = ("Summarise the passage by quoting its most important sentences word for word, in their order, each on a line "
          "of its own and in quotation marks.")

PROMPTS: tuple[Prompt, ...] = (
    Prompt("edit", f"Rename the class Stack to Pile in this code and return all of the code.\n\n{_STACK}"),
    Prompt("edit", f"Change the timeout to 60 in this file and return the whole file.\n\n{_CONFIG}"),
    Prompt("edit", f"Add a comment at the top of this code and return all of the code.\n\n{_PRIMES}"),
    Prompt("edit", f"Add a method size to this class and return all of the code.\n\n```python\n{_STACK}```"),
    Prompt("edit", f"Add a server delta.example to this file and return the whole file.\n\n{_CONFIG}"),
    Prompt("quotes", f"Here is a passage:\n\n{_LIGHTHOUSE}\n\n{_QUOTE}"),
    Prompt("quotes", f"Here is a passage:\n\n{_BEES}\n\n{_QUOTE}"),
    Prompt("quotes", f"Here is a passage:\n\n{_TIDES}\n\n{_QUOTE}"),
    Prompt("quotes", f"{_LIGHTHOUSE}\n\nSummarize the passage above by quoting its sentences word for word."),
    Prompt("quotes", f"List the facts in this text, each as a quote from it.\n\n{_LIGHTHOUSE}"),
    Prompt("chat", "Explain in three sentences why the sky is blue."),
    Prompt("chat", "What should I pack for a weekend of hiking in the rain?"),
    Prompt("chat", "Give me three tips for learning to play the piano as an adult."),
    Prompt("chat", "What is the difference between weather and climate?"),
    Prompt("chat", "Write a polite email asking to move a meeting from Monday to Wednesday."),
    Prompt("code", "Write a Python function that returns the n-th Fibonacci number."),
    Prompt("code", "Write an SQL query that counts the orders of each customer in 2023."),
    Prompt("list", "List the planets of the solar system with one fact about each."),
    Prompt("story", "Tell a short story about a clockmaker who finds a clock that runs backwards."),
    Prompt("language", "Translate into French: The library opens at nine and closes at six."),
)
