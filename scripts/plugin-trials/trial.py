"""Trial of one plugin: stores pages, changes the site, and compares each page with PHP's response."""

import collections
import re
import time

import forms
from comparison import first_difference, normalised

STORED = ("HIT", "STALE", "UPDATING", "REVALIDATED")
WAIT_FOR_TIMES = 1.1
MOST_RENDERINGS = 8
FATAL = re.compile(r"There has been a critical error|Fatal error</b>|Uncaught Error")


class Skipped(Exception):
    """Raised by a change that cannot be made, with the reason."""


def quoted(text):
    """Returns a text as a string of PHP."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


class Page:
    """Page of the site, with its last response from Myriad."""

    def __init__(self, url, label):
        self.url, self.label = url, label
        self.answer, self.first = None, {}


class Trial:
    """Site with a plugin, the pages that are compared, and the findings."""

    def __init__(self, name, site, deadline, most_pages):
        self.name, self.site, self.deadline, self.most_pages = name, site, deadline, most_pages
        self.anonymous, self.admin = site.bystander(), None
        self.pages, self.changes, self.rows = {}, [], []
        self.stale, self.private, self.errors, self.notes = [], [], [], []
        self.before, self.after, self.menu, self.entries = {}, {}, [], {}
        self.log_before = 0
        self.for_readers, self.reader_reasons = 0, collections.Counter()

    def add_page(self, url, label):
        """Adds a page to the compared ones, unless there are too many; returns it."""
        path = self.anonymous.path(url)
        if len(self.pages) >= self.most_pages and path not in self.pages:
            self.notes.append(f"not compared, because there are {self.most_pages} pages: {path}")
            return Page(path, label)
        return self.pages.setdefault(path, Page(path, label))

    def has_time(self, reserve=0):
        """Returns True if a change can be tried before the deadline."""
        return time.monotonic() + reserve < self.deadline

    def fetch(self, page):
        """Requests a page anonymously from Myriad. Each request is from a new visitor with the same address."""
        return self.site.bystander().send("GET", page.url)

    def nonce(self, action):
        """Returns a nonce of the administrator, as scripts find it in a screen."""
        return self.site.evaluate(f"return wp_create_nonce({quoted(action)});", self.admin)

    def ajax(self, action, data=None, visitor=None):
        """Sends an AJAX request as a script of a screen or page does; returns its response."""
        fields = {"X-Requested-With": "XMLHttpRequest"}
        answer = (visitor or self.admin).post("/wp-admin/admin-ajax.php", {"action": action, **(data or {})}, fields=fields)
        if answer.status >= 400 or answer.text in ("0", "-1") or '"success":false' in answer.text[:200]:
            raise Skipped(f"{action}: {answer.status} {answer.text[:160]}")
        return answer

    def submit(self, url, test, changes, button=None, visitor=None):
        """Opens a page, changes and submits the first form for which a function returns True; returns the response."""
        visitor = visitor or self.admin
        page = visitor.get(url)
        form = forms.find(page.text, test)
        if form is None:
            raise Skipped(f"{url} has no such form: {page.status}")
        pressed = next((field for field in form.submits() if field.name == button), None)
        return visitor.post(form.target(page.url), form.pairs(changes, pressed), form.is_multipart())

    def warm(self):
        """Requests all pages twice, and stores the last response of each. A first view that writes data of the page purges it: such a
        page is requested a third time.
        """
        for page in self.pages.values():
            first = self.fetch(page)
            page.answer = self.fetch(page)
            if page.answer.field("x-cache") == "EXPIRED":
                page.answer = self.fetch(page)
            page.first = {"cookies": first.cookies() or page.answer.cookies()}

    def change(self, label, make, is_required=False):
        """Makes a change, then compares all pages with PHP's responses. Returns what the change returned.

        If the change is required, its exceptions are raised.
        """
        record = {"change": label, "result": "", "visible": [], "hits": 0, "stale": 0}
        self.changes.append(record)
        begun, cron, visitors = time.monotonic(), self.site.cron_runs(), len(self.site.visitors)
        try:
            result = make()
        except Skipped as reason:
            if is_required:
                raise
            record["result"] = f"skipped: {reason}"
            return None
        except Exception as error:  # noqa: BLE001 -- a recipe may fail in any way; the trial continues.
            if is_required:
                raise
            record["result"] = f"failed: {type(error).__name__}: {error}"[:300]
            result = None
        if hasattr(result, "status"):
            record["result"] = record["result"] or f"{result.status} {result.field('location')}".strip()
            self._check_answer(label, result)
        for visitor in self.site.visitors[visitors:]:
            self._look_again(visitor)
        self._compare_all(label, record, cron)
        record["seconds"] = round(time.monotonic() - begun, 2)
        return result

    def _look_again(self, visitor):
        """Requests the pages of a visitor again that has sent something: what the visitor sees now must not be stored for others."""
        for path in dict.fromkeys(visitor.seen if visitor.has_posted else []):
            if path in self.pages:
                visitor.send("GET", path)

    def _check_answer(self, label, answer):
        if answer.status >= 500 or FATAL.search(answer.text[:200000]):
            self.errors.append({"change": label, "url": answer.url, "status": answer.status, "error": self.site.last_error()})

    def check_screen(self, answer):
        """Records an error of a screen of the back office."""
        if answer.status >= 500 or FATAL.search(answer.text):
            self.errors.append({"change": "screen", "url": answer.url, "status": answer.status, "error": self.site.last_error()})

    def _compare_all(self, label, record, cron):
        error = self.site.last_error()
        received = [(page, self.fetch(page)) for page in self.pages.values()]
        suspects = []
        for page, answer in received:
            is_stored = answer.field("x-cache") in STORED
            record["hits"] += is_stored
            has_failed = answer.status >= 500 or (answer.field("x-cache") == "STALE" and self.site.last_error() != error)
            if has_failed and self.site.php_page(page.url).status < 500:
                self.errors.append({"change": label, "url": page.url, "status": answer.status, "error": "PHP failed: " + self.site.last_error()})
            if not is_stored and page.answer is not None and self._is_visible(page, answer):
                record["visible"].append(page.url)
            if is_stored:
                expected = self.site.php_page(page.url)
                if self._differs(expected, answer):
                    suspects.append((page, answer, expected))
            page.answer = answer
        for page, answer, expected in suspects:
            self._check_suspect(label, record, page, answer, expected, cron)

    def _is_visible(self, page, answer):
        if answer.status != page.answer.status:
            return True
        if normalised(answer.text) == normalised(page.answer.text):
            return False
        return first_difference(answer.text, page.answer.text, [self.site.php_page(page.url).text]) is not None

    @staticmethod
    def _differs(expected, answer):
        if expected.status != answer.status or expected.field("location") != answer.field("location"):
            return True
        return normalised(expected.text) != normalised(answer.text)

    def _explain(self, page, answer, expected, delay):
        """Returns the first difference that is not noise."""
        if expected.status != answer.status or expected.field("location") != answer.field("location"):
            return f"{expected.status} {expected.field('location')}", f"{answer.status} {answer.field('location')}"
        others = [self.site.php_page(page.url).text]
        if delay and first_difference(expected.text, answer.text, others):
            time.sleep(delay)
            for _ in range(MOST_RENDERINGS):  # A random choice may be the same several times.
                others.append(self.site.php_page(page.url).text)
                if first_difference(expected.text, answer.text, others) is None:
                    break
        return first_difference(expected.text, answer.text, others)

    def _check_suspect(self, label, record, page, answer, expected, cron):
        found = self._explain(page, answer, expected, WAIT_FOR_TIMES)
        if found is None:
            return
        if self._is_counter(page, answer, expected, found):
            self.notes.append(f"{label}: {page.url}: a counter is older than in PHP's page: {found[0]}")
            return
        again = self.fetch(page)
        second = self.site.php_page(page.url)
        remains = self._differs(second, again) and self._explain(page, again, second, 0) is not None
        if not remains and self.site.cron_runs() > cron:
            self.notes.append(f"{label}: {page.url}: changed by a scheduled task during the comparison")
            return
        record["stale"] += 1
        self.stale.append({
            "change": label, "url": page.url, "page": page.label, "cache": answer.field("x-cache"), "remains": remains,
            "php": found[0], "myriad": found[1], "cache_status": answer.field("cache-status"), "age": answer.field("age"),
        })
        self.purge(page)

    def _is_counter(self, page, answer, expected, found):
        """Returns True if a difference is a number that also changes if all pages are viewed, without another change."""
        if not all(re.search(r"⟦[\d.,\s]+⟧", side) for side in found):
            return False
        for other in self.pages.values():
            self.site.php_page(other.url)
        return first_difference(expected.text, answer.text, [self.site.php_page(page.url).text]) is None

    def purge(self, page):
        """Purges a page through Myriad's plugin, and stores its present version."""
        self.site.evaluate(f"Myriad_Cache_Queue::add_url(home_url({page.url!r})); return Myriad_Cache_Queue::flush();")
        page.answer = self.fetch(page)

    def check_warm(self):
        """Compares all stored pages with PHP's responses without a change: they differ if Myriad alters a page."""
        self.change("no change", lambda: None)
