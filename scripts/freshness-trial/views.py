"""Page views of anonymous visitors, and the causes of those that PHP answered."""

import collections
import json
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from comparison import normalised

FROM_CACHE = ("HIT", "STALE", "UPDATING", "REVALIDATED")
DASHBOARD = re.compile(r"dashboard (http://\S+?),? on this machine only; its secret: (\S+)")
# Purges are recorded by the server up to this time before the response of the request that caused them is received, in seconds.
PURGE_MARGIN = 1
# Purges that are read at once: more than those of a minute.
LATEST_PURGES = 40
TRIES = 20


class Purges:
    """Purges of a running server, read from the API of its dashboard."""

    def __init__(self, site):
        address, secret = DASHBOARD.search((site.folder / "log/myriad.log").read_text()).groups()
        self.address, self.secret, self.base, self.seen, self.lock = address, secret, f"http://localhost:{site.port}", {}, threading.Lock()

    def _get(self, path):
        with open(self.secret) as file:
            request = urllib.request.Request(self.address + path, headers={"Authorization": f"Bearer {file.read().strip()}"})
        for attempt in range(TRIES):
            try:
                with urllib.request.urlopen(request, timeout=20) as response:
                    return json.load(response)
            except urllib.error.HTTPError as error:
                # The server accepts a limited number of such requests at once.
                if error.code != 503 or attempt == TRIES - 1:
                    raise
                time.sleep(0.2)
        return None

    def update(self):
        """Reads the latest purges."""
        found = self._get(f"api/purges?limit={LATEST_PURGES}")["purges"]
        with self.lock:
            self.seen.update((purge["number"], purge) for purge in found)

    def of_page(self, path, since, until):
        """Returns the purges between two times that covered a stored page by its tags or its address, or all pages."""
        self.update()
        tags = {entry["tag"] for entry in self._get(f"api/tags?limit=1000&page={urllib.parse.quote(self.base + path)}")["tags"]}
        with self.lock:
            purges = [purge for purge in self.seen.values() if since - PURGE_MARGIN <= purge["at_ms"] / 1000 <= until]
        return [purge for purge in purges if self._covers(purge, path, tags)]

    @staticmethod
    def _covers(purge, path, tags):
        if purge["kind"] == "tags":
            return bool(tags & set(purge["what"].split()))
        return purge["kind"] == "all" or (purge["kind"] == "url" and purge["what"].endswith(path))


class Views:
    """Counts page views, and compares each page that PHP has created with the page of the view before."""

    def __init__(self, site, purges=None):
        self.site, self.purges = site, purges
        self.counts, self.causes, self.last = collections.Counter(), collections.Counter(), {}
        self.unneeded, self.failures, self.lock = collections.Counter(), [], threading.Lock()
        self.minutes, self.begun = collections.defaultdict(collections.Counter), time.monotonic()

    def view(self, path):
        """Requests a page as a new anonymous visitor; returns the response."""
        at = time.time()
        answer = self.site.bystander().send("GET", path)
        status = answer.field("x-cache") or "none"
        text = hash(normalised(answer.text))
        with self.lock:
            before = self.last.get(path)
            self.last[path] = (at, text)
            self.counts[status] += 1
            self.minutes[int((time.monotonic() - self.begun) / 60)][status] += 1
            if answer.status >= 400:
                self.failures.append(f"{path}: {answer.status}")
        if status not in FROM_CACHE and self.purges:
            self._explain(path, status, before, at, text)
        return answer

    def _explain(self, path, status, before, at, text):
        if before is None:
            cause = "first view"
        else:
            purges = self.purges.of_page(path, before[0], time.time())
            is_same = before[1] == text
            cause = f"{'same' if is_same else 'changed'} page, {'after a purge' if purges else 'expired'}"
            for purge in purges[:1] if is_same else []:
                with self.lock:
                    self.unneeded[f"{purge['by']}: {purge['what'][:160]}"] += 1
        with self.lock:
            self.causes[f"{status}: {cause}"] += 1

    def ratio(self):
        """Returns the share of views that were hits, and the share that did not wait for PHP, in percent."""
        total = sum(self.counts.values()) or 1
        served = sum(self.counts[status] for status in FROM_CACHE)
        return round(100 * self.counts["HIT"] / total, 2), round(100 * served / total, 2)

    def summary(self):
        """Returns the counts, ratios and causes."""
        hits, served = self.ratio()
        return {
            "views": sum(self.counts.values()), "hit ratio": hits, "hits and stale pages": served,
            "cache status": dict(self.counts), "causes of requests to PHP": dict(self.causes.most_common()),
            "purges without a change of the page": dict(self.unneeded.most_common(20)), "failures": self.failures[:20],
            "hits by minute": {minute: f"{counts['HIT']}/{sum(counts.values())}" for minute, counts in sorted(self.minutes.items())},
        }
