"""Numbers with their noun, as people write them: 1 round, 2 rounds, 1,200 tokens."""


def counted(number: int, noun: str) -> str:
    return f"{number:,} {plural(number, noun)}"


def plural(number: int, noun: str) -> str:
    return noun if number == 1 else f"{noun}s"
