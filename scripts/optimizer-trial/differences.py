"""Finds the differences between captures of a page with and without the optimizer."""

import difflib

import captures

# Maximum number of differences of one kind that are stored, and of characters of each.
MAX_SHOWN, MAX_CHARACTERS = 8, 400
TRIES = 3
KINDS = ("pixels", "dom", "rules", "console")


def lines(original, optimized, again):
    """Returns the places at which two lists of lines differ, as texts. Lines that differ between two captures of the original do not count."""
    unstable = {at for before, _, place in _changes(original, again) for at in place} if again is not None else set()
    found = [(before, after) for before, after, place in _changes(original, optimized) if not unstable.issuperset(place)]
    return [f"{_joined(before)} → {_joined(after)}" for before, after in found]


def _changes(one, other):
    """Returns the changes from a list of lines to another one: old lines, new lines, and numbers of the old lines (of the next one for an insertion)."""
    start = next((at for at, pair in enumerate(zip(one, other)) if pair[0] != pair[1]), min(len(one), len(other)))
    end = 0
    while end < min(len(one), len(other)) - start and one[-1 - end] == other[-1 - end]:
        end += 1
    one, other = one[start : len(one) - end], other[start : len(other) - end]
    codes = difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    return [(one[a:b], other[c:d], range(start + a, start + max(b, a + 1))) for tag, a, b, c, d in codes if tag != "equal"]


def _joined(some):
    text = " ".join(some) or "nothing"
    return text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS] + "…"


def _new_messages(original, optimized, again):
    """Returns the messages of the optimized page that are more frequent than in both captures of the original."""
    known = {text: max(original.count(text), (again or []).count(text)) for text in set(optimized)}
    return [text for text in sorted(known) for _ in range(optimized.count(text) - known[text])]


def find(original, optimized, again=None):
    """Returns the differences between two captures, a list of texts for each of KINDS; without pixels."""
    return {
        "dom": lines(original.dom, optimized.dom, again and again.dom), "rules": lines(original.rules, optimized.rules, again and again.rules),
        "console": _new_messages(original.console, optimized.console, again and again.console)}


def _compare_once(take_original, optimized, browser):
    """Compares an optimized page with the original, which a function captures. A second original is captured if the first one differs.

    Returns the first original, the differences, and the comparison of the pixels (None if all are equal).
    """
    original, pixels = take_original(), None
    found = find(original, optimized)
    if original.shot != optimized.shot or any(found.values()):
        again = take_original()
        found = find(original, optimized, again)
        if optimized.shot not in (original.shot, again.shot):
            pixels = captures.differing_pixels(browser, original.shot, optimized.shot, again.shot)
    count = pixels["count"] if pixels else 0
    found["pixels"] = [f"{count} pixels differ, from {pixels['place']} to line {pixels['last']}; {pixels['masked']} are not compared; sizes {' '.join(pixels['sizes'])}"] if count else []
    return original, {kind: found[kind][:MAX_SHOWN] for kind in KINDS if found[kind]}, pixels


def compare(take_original, take_optimized, browser):
    """Compares an optimized page with the original, which functions capture. A kind of difference counts if it is found TRIES times in succession:
    layouts that scripts compute depend on the time at which images are loaded.

    Returns the last captures of both, the differences, the kinds of difference that do not count, and the comparison of the pixels (None if all are equal).
    """
    counted, every = set(KINDS), set()
    for _ in range(TRIES):
        optimized = take_optimized()
        original, found, pixels = _compare_once(take_original, optimized, browser)
        counted, every = counted & set(found), every | set(found)
        if not counted:
            break
    return original, optimized, {kind: found[kind] for kind in KINDS if kind in counted}, sorted(every - counted), pixels
