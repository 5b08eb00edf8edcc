"""Compares pages. Text that differs between two responses of PHP without a change is noise."""

import difflib
import re
import time

WORD = re.compile(r"\w+|\s+|[^\w\s]")
CHUNK = re.compile(r"<[^<\n]*|[^<\n]+|\n")
HTML_COMMENT = re.compile(r"<!--(?!\[if).*?-->", re.S)
CHARACTER = re.compile(r"&#0*(\d{2,3});")
NUMBER = re.compile(r"\b\d{10}(?:\d{3}|\.\d+)?\b")
AGE = re.compile(r"\b(?:\d+|an?) (?:sec(?:ond)?|min(?:ute)?|hour)s?(?:,? (?:and )?\d+ (?:sec(?:ond)?|min(?:ute)?)s?)? ago\b|\b(?:just|right) now\b", re.I)
NEAR_SECONDS = 7200
TIME_CHARACTERS = set("0123456789:-T ")
NEAR = 300
CONTEXT = 60


def normalised(text):
    """Removes HTML comments, which are not shown, decodes characters written as numbers, and replaces Unix times near the present time and ages.

    `antispambot()` of WordPress writes random characters of addresses as numbers.
    """
    now = time.time()

    def mask(match):
        return "TIME" if abs(int(match.group()[:10]) - now) < NEAR_SECONDS else match.group()

    return AGE.sub("AGE", NUMBER.sub(mask, CHARACTER.sub(lambda match: chr(int(match.group(1))), HTML_COMMENT.sub("", text))))


def _blocks(left, right):
    """Returns the ranges of two lists that differ."""
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    end = 0
    while end < min(len(left), len(right)) - start and left[-1 - end] == right[-1 - end]:
        end += 1
    inner = difflib.SequenceMatcher(None, left[start : len(left) - end], right[start : len(right) - end], autojunk=False)
    return [(start + a, start + b, start + c, start + d) for kind, a, b, c, d in inner.get_opcodes() if kind != "equal"]


def differences(left, right):
    """Returns the differences of two texts as ranges: its limits in the first and in the second text."""
    a, b = CHUNK.findall(left), CHUNK.findall(right)
    starts = [0]
    for chunk in a:
        starts.append(starts[-1] + len(chunk))
    other = [0]
    for chunk in b:
        other.append(other[-1] + len(chunk))
    found = []
    for a0, a1, b0, b1 in _blocks(a, b):
        found += _inner(left[starts[a0] : starts[a1]], right[other[b0] : other[b1]], starts[a0], other[b0])
    return found


def _inner(left, right, at, other):
    a, b = WORD.findall(left), WORD.findall(right)
    if len(a) * len(b) > 4_000_000:
        return [(at, at + len(left), other, other + len(right))]
    found = []
    for a0, a1, b0, b1 in _blocks(a, b):
        left_at, right_at = at + len("".join(a[:a0])), other + len("".join(b[:b0]))
        found.append((left_at, left_at + len("".join(a[a0:a1])), right_at, right_at + len("".join(b[b0:b1]))))
    return found


def _widened(text, noise):
    """Returns ranges of noise that cover whole times and dates."""
    ranges = []
    for low, high, _, _ in noise:
        while low > 0 and text[low - 1] in TIME_CHARACTERS:
            low -= 1
        while high < len(text) and text[high] in TIME_CHARACTERS:
            high += 1
        ranges.append((low, high, 0, 0))
    return ranges


def is_noise(found, noise):
    """Returns True if a difference lies within or next to the ranges of noise in the same text."""
    start, end = found[0], found[1]
    return any(start >= low - 1 and end <= high + 1 for low, high, _, _ in noise)


def is_random_choice(found, noise, received, known):
    """Returns True if a difference is near noise and shows only text that PHP has shown elsewhere, as in lists in random order."""
    is_near = any(found[0] <= high + NEAR and found[1] >= low - NEAR for low, high, _, _ in noise)
    start = max(received.rfind("<", 0, found[2] + 1), received.rfind("\n", 0, found[2] + 1), 0)
    chunks = CHUNK.findall(received[start : found[3]])
    return is_near and all(any(chunk in text for text in known) for chunk in chunks)


def first_difference(expected, received, others):
    """Returns the first difference between two pages that is not noise, with its context; None if they are equal.

    `others` are further responses of PHP for the expected page.
    """
    expected, received, others = normalised(expected), normalised(received), [normalised(other) for other in others]
    if received in (expected, *others):
        return None
    noise = _widened(expected, [found for other in others for found in differences(expected, other)])
    for found in differences(expected, received):
        if not is_noise(found, noise) and not is_random_choice(found, noise, received, [expected, *others]):
            return excerpt(expected, found[0], found[1]), excerpt(received, found[2], found[3])
    return None


def excerpt(text, start, end):
    """Returns a range of a text with its surroundings, on one line."""
    before, after = text[max(0, start - CONTEXT) : start], text[end : end + CONTEXT]
    inner = text[start:end] if end - start <= 160 else text[start : start + 160] + "…"
    return re.sub(r"\s+", " ", f"{before}⟦{inner}⟧{after}")
