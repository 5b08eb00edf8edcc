"""Trial of the seeded leaks: the requests of a visitor, of a second client during and after them, and the findings."""

import concurrent.futures
import gzip
import random
import re
import time

from leaks import CANARY, COMPARED, FIRST, LEAKS, OTHERS, SECOND, STORED
from server import get

# A second client requests the page this time after the first one, in seconds, while PHP renders the page.
DELAY = 0.02
SECONDS, REQUESTS = 60, 1000
# Time in seconds between two requests for a page while the trial waits for a finding.
PAUSE = 0.5
THREADS = 8
POLL_SECONDS = 1
# Results and reasons of responses that are not stored, whatever they contain.
REFUSED = ("BYPASS", "MISS private", "MISS personal cookie", "MISS set-cookie")


class Attempt:
    """A leak in an application, and what was observed."""

    def __init__(self, leak, application, port, is_preset=False):
        self.leak, self.application, self.port, self.is_preset = leak, application, port, is_preset
        self.text, self.begun, self.requests, self.seen_by_others, self.seconds, self.finding, self.problem, self.caches = "", 0, 0, 0, None, None, "", []
        self.seen_afterwards = 0
        self.random = random.Random(f"{application.name} {leak.name}")

    def target(self, person):
        """Returns the target of the visitor's request."""
        path, query = self.leak.path or self.application.page, self.leak.query_of(person)
        return f"{path}?{query}" if query else path

    def request(self, person):
        """Requests the page as a visitor; returns the response with a decoded body."""
        fields = self.leak.fields_of(person)
        if self.leak.name == "gzip":
            fields["Accept-Encoding"] = "gzip"
        answer = get(self.port, self.target(person), fields)
        self.requests += 1
        if answer.field("content-encoding") == "gzip":
            answer.text = gzip.decompress(answer.body).decode("utf-8", "replace")
        return answer

    def has_text(self, answer):
        """Returns True if a response contains the text that only the first visitor may get."""
        return bool(self.text) and self.text in (answer.head if self.leak.in_field else answer.text)

    def begin(self):
        """Requests the page as the first visitor, and at the same time and afterwards as the second client."""
        self.begun = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            first = pool.submit(self.request, FIRST)
            time.sleep(DELAY)
            during = pool.submit(self.request, SECOND)
            own, during = first.result(), during.result()
        self.text = self.expected_text(own)
        if not self.has_text(own) and not self.is_preset:
            self.problem = f"the first visitor did not get the text: {own.status} {own.field('x-cache')} {own.text[:200]!r}"
            return
        others = [during, self.request(SECOND), self.request(OTHERS)]
        self.seen_by_others += sum(map(self.has_text, others))
        self.caches = [f"{answer.field('x-cache')} {answer.field('x-reason')}".strip() for answer in (own, *others)]

    def expected_text(self, own):
        """Returns the text that only the first visitor may get."""
        if self.leak.pattern:
            found = re.search(self.leak.pattern, own.text)
            return found.group(1) if found else ""
        return self.leak.of("text", FIRST)

    def repeat(self):
        """Requests the page as one of the visitors; half of the requests are from clients without data. In a fixed order, the same visitor would always
        get the hits that are verified (8, 16, 32)."""
        person = self.random.choice((OTHERS, FIRST, OTHERS, SECOND))
        answer = self.request(person)
        if person is not FIRST:
            self.seen_by_others += self.has_text(answer)
        self.caches[4:] = [f"{answer.field('x-cache')} {answer.field('x-reason')}".strip()]

    def check_afterwards(self):
        """Requests the page as other clients after the finding."""
        self.seen_afterwards = sum(self.has_text(self.request(person)) for person in (SECOND, OTHERS))

    def look_up(self, findings):
        """Looks for a finding of the page that names the cookie, argument or field. Returns True if there is one."""
        # The host name is that of the leak.
        mine = [one for one in findings if one["zone"] == self.application.name and one["page"].startswith(f"{self.leak.name}.test/")]
        is_in_place = lambda one: not self.leak.in_field or self.leak.kind != STORED or "in field" in one["what"]  # noqa: E731
        named = [one for one in mine if self.leak.names.lower() in one["what"].lower() and is_in_place(one)]
        if named and self.finding is None:
            self.finding, self.seconds = named[0], time.monotonic() - self.begun
        return self.finding is not None

    def outcome(self):
        """Returns a word for the result: found, refused (the response may not be shared for another reason), prevented (by the preset), late, missed, or unusable."""
        if self.problem:
            return "unusable"
        if self.is_preset:
            return "missed" if self.seen_by_others else "prevented"
        if self.finding is None:
            return "missed" if self.seen_by_others or not self.is_refused() else "refused"
        # Content by browser, language or address is only reported.
        is_seen = self.seen_afterwards and self.finding["state"] != "unkeyed"
        is_late = self.seen_by_others if self.leak.kind == STORED else self.seconds > SECONDS or self.requests > REQUESTS or is_seen
        return "late" if is_late else "found"

    def is_refused(self):
        """Returns True if the response to the first visitor was not stored for another reason."""
        return self.caches[0].startswith(REFUSED)

    def result(self):
        """Returns a row of the report."""
        return {
            "application": self.application.name + (", preset" if self.is_preset else ""), "leak": self.leak.name, "kind": self.leak.kind, "outcome": self.outcome(),
            "seconds": None if self.seconds is None else round(self.seconds, 1), "requests": self.requests,
            "seen by others": self.seen_by_others, "seen after the finding": self.seen_afterwards,
            "finding": self.finding and self.finding["what"], "problem": self.problem, "caches": self.caches}


def _attempts(applications, server, kinds, names):
    return [Attempt(leak, application, server.ports[application.name]) for leak in LEAKS for application in applications
            if application.name in leak.sites and leak.kind in kinds and (not names or leak.name in names)]


def _poll(server, attempts):
    findings = server.findings()
    for attempt in attempts:
        attempt.look_up(findings)


def _try_stored(server, attempts):
    """Tries leaks that must be found before a second client gets the page."""
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(Attempt.begin, attempts))
    _poll(server, attempts)


def _try_sampled(server, attempts):
    """Tries leaks that must be found after a number of requests."""
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(Attempt.begin, attempts))
        begun = polled = time.monotonic()
        while time.monotonic() < begun + SECONDS + POLL_SECONDS:
            waiting = [attempt for attempt in attempts if attempt.finding is None and not attempt.problem]
            if not waiting:
                break
            round_begun = time.monotonic()
            list(pool.map(Attempt.repeat, [attempt for attempt in waiting if attempt.requests < REQUESTS]))
            if time.monotonic() > polled + POLL_SECONDS:
                _poll(server, waiting)
                polled = time.monotonic()
            time.sleep(max(0, round_begun + PAUSE - time.monotonic()))
        list(pool.map(Attempt.check_afterwards, [attempt for attempt in attempts if attempt.finding]))


def run_preset(wordpress, port, options):
    """Tries all leaks of WordPress with the preset, which sends no data of visitors to PHP for a shared page; returns the rows of the report."""
    attempts = [Attempt(leak, wordpress, port, is_preset=True) for leak in LEAKS if wordpress.name in leak.sites and (not options.leaks or leak.name in options.leaks)]
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(Attempt.begin, attempts))
    return [attempt.result() for attempt in attempts]


def run(applications, server, options):
    """Tries all leaks in all applications; returns the rows of the report."""
    stored = _attempts(applications, server, (STORED,), options.leaks)
    _try_stored(server, stored)
    sampled = [] if options.only_stored else _attempts(applications, server, (COMPARED, CANARY), options.leaks)
    for start in range(0, len(sampled), options.at_once):
        # A new process has its whole budget of time for verifications.
        server.restart()
        _try_sampled(server, sampled[start:start + options.at_once])
    return [attempt.result() for attempt in stored + sampled]


def summary(rows):
    """Returns the number of results of each kind in each application."""
    counts = {}
    for row in rows:
        of_kind = counts.setdefault(f"{row['application']}: {row['kind']}", {})
        of_kind[row["outcome"]] = of_kind.get(row["outcome"], 0) + 1
    return counts


def findings(rows):
    """Returns the leaks that were not found in time."""
    return [f"{row['application']}: {row['leak']} ({row['kind']}): {row['outcome']}, seen by {row['seen by others']} other requests {row['problem']}"
            for row in rows if row["outcome"] in ("missed", "late", "unusable")]
