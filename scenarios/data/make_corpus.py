#!/usr/bin/env python3
"""Makes the training corpus of the scenarios: stories.txt and dialogues.jsonl. The same bytes on every machine.

usage: make_corpus.py [FOLDER]      default: the folder of this file

Nothing in it comes from anywhere else: a grammar of a few dozen words, in which much of each sentence follows from its beginning
(an animal has one home, a thing has one colour, sums are right), so that a model of a few hundred thousand parameters learns it
and a drafter of a few dozen steps has something to guess. Script and output are under CC0 1.0 (see LICENSE.md).
"""
import json
import pathlib
import sys

ANIMALS = {"Mia": ("fox", "forest"), "Tom": ("cat", "house"), "Ada": ("owl", "tower"), "Ben": ("frog", "river"),
           "Ida": ("mouse", "garden"), "Max": ("bear", "cave")}
THINGS = {"boat": "red", "leaf": "green", "lamp": "yellow", "stone": "grey", "flower": "blue", "box": "brown"}
NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


class Draws:
    """A linear congruential generator (Knuth's MMIX constants): Python's own choice() may change between versions."""

    def __init__(self, seed):
        self.state = seed

    def below(self, bound):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % bound

    def pick(self, items):
        return sorted(items)[self.below(len(items))]


def other(draws, items, taken):
    return draws.pick([item for item in items if item != taken])


def story(draws):
    name = draws.pick(ANIMALS)
    friend = other(draws, ANIMALS, name)
    animal, home = ANIMALS[name]
    friend_animal, friend_home = ANIMALS[friend]
    thing = draws.pick(THINGS)
    lines = [f"{name} the {animal} lives in the {home}.", f"One day {name} went to the {friend_home} to see {friend} the {friend_animal}.",
             f"On the way {name} found a {thing}. The {thing} was {THINGS[thing]}."]
    if draws.below(2):
        lines.append(f'"Look at my {thing}," said {name}. "It is {THINGS[thing]}," said {friend}.')
    else:
        lines.append(f"{name} gave the {thing} to {friend}. {friend} was happy.")
    lines.append(f"Then {name} went home to the {home}.")
    return " ".join(lines) + "\n"


def counting(draws):
    first = draws.below(4)
    names = NUMBERS[first:first + 7]
    return "Count with me: " + ", ".join(names) + ".\n"


def total(draws):
    a = draws.below(6)
    b = draws.below(5)
    return f"{NUMBERS[a]} and {NUMBERS[b]} make {NUMBERS[a + b]}"


def text(draws, size):
    parts = []
    while sum(map(len, parts)) < size:
        kind = draws.below(6)
        parts.append(story(draws) if kind < 4 else counting(draws) if kind < 5 else total(draws).capitalize() + ".\n")
    return "".join(parts)


def dialogue(draws):
    kind = draws.below(3)
    if kind == 0:
        name = draws.pick(ANIMALS)
        animal, home = ANIMALS[name]
        return f"Where does {name} the {animal} live?", f"{name} the {animal} lives in the {home}."
    if kind == 1:
        thing = draws.pick(THINGS)
        return f"What colour is the {thing}?", f"The {thing} is {THINGS[thing]}."
    question, answer = total(draws).split(" make ")
    return f"What do {question} make?", f"{question.capitalize()} make {answer}."


def dialogues(draws, count):
    lines = []
    for number in range(count):
        turns = []
        for _ in range(2):
            question, answer = dialogue(draws)
            turns += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
        lines.append(json.dumps({"id": f"dialogue-{number}", "conversations": turns}))
    return "\n".join(lines) + "\n"


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    (folder / "stories.txt").write_text(text(Draws(1), 240_000), encoding="ascii", newline="\n")
    (folder / "dialogues.jsonl").write_text(dialogues(Draws(2), 400), encoding="ascii", newline="\n")


if __name__ == "__main__":
    main()
