"""Compares the pages of visitors: a stored page must contain no data of another one, and a reader must get what PHP gives."""

import re
import time

from comparison import first_difference, normalised
from trial import STORED, WAIT_FOR_TIMES

PEOPLE = {
    "quillfeather": ("Zephyrine", "Quillfeather", "zephyrine.q@example.org"),
    "thornapple": ("Balthazar", "Thornapple", "balthazar.t@example.org"),
}
PASSWORD = "trial-Password-7"
TOKEN = re.compile(r"\b[0-9a-f]{10}\b")
LOG_OUT = re.compile(r"(logout[^\"'\s]*?[?&;]redirect_to=)[^&\"']*")
BODY_CLASS = re.compile(r"(<body[^>]*\bclass=[\"'])([^\"']*)")
LOADING = re.compile(r"\s(?:loading|fetchpriority|decoding)=(?:\"[^\"]*\"|'[^']*')")
PARTS = re.compile(r"<(style|script)\b.*?</\1>|<link\b[^>]*>", re.S)
COMMENT = re.compile(r"<!--.*?-->", re.S)


def create_readers(trial):
    """Creates two subscribers and logs them in; returns them by name."""
    readers = {}
    for name, (first, last, email) in PEOPLE.items():
        trial.site.evaluate(
            f"return wp_insert_user(array('user_login' => '{name}', 'user_pass' => '{PASSWORD}', 'user_email' => '{email}',"
            f"'first_name' => '{first}', 'last_name' => '{last}', 'display_name' => '{first} {last}', 'role' => 'subscriber'));")
        readers[name] = trial.site.visitor().log_in(name, PASSWORD)
    return readers


def markers(name):
    """Returns texts that only the pages of a reader may contain."""
    first, last, email = PEOPLE[name]
    return [name, first, last, email]


def parts_of(text):
    """Returns the styles, scripts and links of a page."""
    parts = (re.sub(r"\s+", " ", LOADING.sub("", part.group())) for part in PARTS.finditer(COMMENT.sub("", normalised(text))))
    return {part for part in parts if "speculationrules" not in part[:60]}


def shown_text(text, ignored=frozenset()):
    """Returns a page without HTML comments and with uniform space, with its styles and scripts sorted after it.

    For readers, sections for guests become comments, the styles of the admin bar are in another place of the head, and the link to log out
    has an address of Myriad's plugin, which returns to the page. The order of the classes of the body and the loading of images have no
    effect. WordPress prints speculation rules for anonymous visitors only.
    """
    parts = sorted(parts_of(text) - ignored)
    text = PARTS.sub("", COMMENT.sub("", normalised(text)))
    text = BODY_CLASS.sub(lambda match: match.group(1) + " ".join(sorted(match.group(2).split())), text)
    text = LOG_OUT.sub(r"\1", LOADING.sub("", text))
    text = re.sub(r">\s+|\s+<", lambda match: match.group().strip(), text)
    return re.sub(r"\s+", " ", text) + "\n" + "\n".join(parts)


def tokens_of(text):
    """Returns the words of a page that may be nonces."""
    return set(TOKEN.findall(normalised(text)))


def leaked(text, foreign, tokens):
    """Returns the first text in a page that belongs to another visitor; None if there is none."""
    found = [marker for marker in foreign if marker in text]
    return next(iter(found + sorted(tokens_of(text) & tokens)), None)


def prepare(trial):
    """Creates the readers. Parts that the home page of a reader lacks before the plugin is active are not attributed to the plugin."""
    trial.readers = create_readers(trial)
    reader = next(iter(trial.readers.values()))
    reader.send("GET", "/")
    answer, expected = reader.send("GET", "/"), trial.site.php_page("/", reader)
    trial.missing = parts_of(expected.text) ^ parts_of(answer.text)
    for part in sorted(trial.missing):
        trial.notes.append(f"WordPress without the plugin: a part differs for readers: {part[:120]}")


def check(trial):
    """Requests all pages as two readers and an anonymous visitor, and records differences from PHP's responses.

    Afterwards `trial.for_readers` is the number of pages that the second reader gets from the cache.
    """
    trial.for_readers = 0
    trial.site.evaluate("Myriad_Cache_Queue::add_all(); return Myriad_Cache_Queue::flush();")
    (first, one), (second, two) = trial.readers.items()
    for page in trial.pages.values():
        answers = [one.send("GET", page.url), trial.fetch(page), two.send("GET", page.url), trial.fetch(page)]
        expected = [trial.site.php_page(page.url, one), trial.site.php_page(page.url), trial.site.php_page(page.url, two)]
        page.answer = answers[3]
        is_stored = answers[2].field("x-cache") in STORED
        trial.for_readers += is_stored
        if not is_stored and answers[3].field("x-cache") in STORED:
            trial.reader_reasons[answers[2].field("cache-status")] += 1
        _check_leaks(trial, page, answers, expected, (first, second))
        for reader, answer, right in ((one, answers[0], expected[0]), (two, answers[2], expected[2])):
            _check_reader(trial, page, reader, answer, right)


def _check_leaks(trial, page, answers, expected, names):
    public = expected[1].text
    own = [tokens_of(expected[at].text) - tokens_of(public) for at in (0, 2)]
    foreign = [[marker for marker in markers(name) if marker not in public] for name in names]
    cases = [
        ("anonymous", answers[1], foreign[0] + foreign[1], own[0] | own[1]), ("anonymous", answers[3], foreign[0] + foreign[1], own[0] | own[1]),
        (names[0], answers[0], foreign[1], own[1] - own[0]), (names[1], answers[2], foreign[0], own[0] - own[1])]
    php = {names[0]: expected[0].text, names[1]: expected[2].text, "anonymous": public}
    for visitor, answer, texts, tokens in cases:
        found = leaked(answer.text, texts, tokens)
        if found and found not in php[visitor]:
            trial.private.append({"kind": "data of another visitor", "visitor": visitor, "url": page.url, "cache": answer.field("x-cache"), "myriad": found, "php": ""})


def _check_reader(trial, page, reader, answer, expected):
    def shown(text):
        return shown_text(text, trial.missing)

    if answer.field("x-cache") not in STORED or shown(answer.text) == shown(expected.text):
        return
    others = [shown(trial.site.php_page(page.url, reader).text)]
    if first_difference(shown(expected.text), shown(answer.text), others):
        time.sleep(WAIT_FOR_TIMES)
        others += [shown(trial.site.php_page(page.url, reader).text) for _ in range(4)]
    found = first_difference(shown(expected.text), shown(answer.text), others)
    if expected.status != answer.status:
        found = str(expected.status), str(answer.status)
    if found:
        trial.private.append({
            "kind": "a reader gets another page than PHP makes", "visitor": "reader", "url": page.url,
            "cache": answer.field("x-cache"), "php": found[0], "myriad": found[1]})
