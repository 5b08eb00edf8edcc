"""An hour of page views while three editors work."""

import collections
import concurrent.futures
import random
import threading
import time

import editors
from comparison import first_difference, normalised
from views import Purges, Views

STAFF = (("anna", "administrator"), ("boris", "editor"), ("clara", "editor"))
COMMENT_SECONDS, MENU_SECONDS, REPORT_SECONDS, LIMIT = 180, 1800, 60, 95
RANDOM_SAMPLE = 3
WAIT_FOR_TIMES = 1.1
THREADS = 12


class Desk:
    """State that the editors share: one change at a time, after which pages are compared with PHP's."""

    def __init__(self, magazine, views, seconds, seed):
        self.magazine, self.site, self.views, self.rng = magazine, magazine.site, views, random.Random(seed)
        self.begun, self.until = time.monotonic(), time.monotonic() + seconds
        self.changing, self.lock = threading.Lock(), threading.Lock()
        self.counts, self.compared, self.old_pages, self.failures = collections.Counter(), collections.Counter(), [], []
        self.next_menu = self.begun + MENU_SECONDS / 2
        self.posts = self.site.evaluate("return wp_list_pluck(get_posts(array('numberposts' => -1)), 'ID');")
        self.categories = self.site.evaluate("return array_values(wp_list_pluck(get_categories(), 'term_id'));")

    def is_over(self):
        """Returns True if the time of the trial is over."""
        return time.monotonic() >= self.until

    def count(self, name):
        """Counts an action of an editor."""
        with self.lock:
            self.counts[name] += 1

    def note_failure(self, name, error):
        """Records a request that failed."""
        with self.lock:
            self.failures.append(f"{name}: {type(error).__name__}: {error}"[:300])

    def choose_post(self, rng):
        """Returns a post to update: one of the 20 newest in half of the calls, otherwise any of the posts at the start."""
        with self.lock:
            return rng.choice(self.posts[:20] if rng.random() < 0.5 else self.posts)

    def choose_category(self, rng):
        """Returns the category of a new post."""
        return rng.choice(self.categories)

    def page_of_comment(self, number):
        """Returns the address of the post with a comment."""
        return self.site.evaluate(f"return get_permalink(get_comment({int(number)})->comment_post_ID);")

    def takes_menu_change(self):
        """Returns True if a change of the menu is due."""
        with self.lock:
            is_due = time.monotonic() >= self.next_menu
            self.next_menu += MENU_SECONDS if is_due else 0
            return is_due

    def change(self, kind, make, address):
        """Makes a change, then compares its page, lists and some other pages with PHP's. Returns the result of the change."""
        with self.changing:
            result = make()
            self.count(kind + "s")
            path = self.site.bystander().path(address(result))
            if path not in self.magazine.paths:
                self.magazine.paths.insert(1, path)
            with self.lock:
                sample = ["/", path, "/feed/", *self.rng.sample(self.magazine.paths, RANDOM_SAMPLE)]
            for one in dict.fromkeys(sample):
                self._compare(kind, one)
        return result

    def _compare(self, kind, path):
        answer = self.views.view(path)
        self.compared[answer.field("x-cache")] += 1
        expected = self.site.php_page(path)
        if normalised(expected.text) == normalised(answer.text) and expected.status == answer.status:
            return
        others = [self.site.php_page(path).text]
        if first_difference(expected.text, answer.text, others):
            time.sleep(WAIT_FOR_TIMES)
            found = first_difference(expected.text, answer.text, [*others, self.site.php_page(path).text])
            if found or expected.status != answer.status:
                self.old_pages.append({"change": kind, "path": path, "cache": answer.field("x-cache"), "difference": found})


def _page_views(desk, views, rate, seed):
    """Requests pages at random times, popular ones more often (Zipf's law), until the time is over."""
    rng, due = random.Random(seed), time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        while not desk.is_over():
            due += rng.expovariate(rate)
            time.sleep(max(0, due - time.monotonic()))
            paths = desk.magazine.paths
            weights = [1 / (rank + 1) for rank in range(len(paths))]
            pool.submit(_view, desk, views, rng.choices(paths, weights)[0])


def _view(desk, views, path):
    try:
        views.view(path)
    except OSError as error:
        desk.note_failure("visitor", error)


def _comments(desk, seed):
    """Writes comments, which await moderation, as visitors do."""
    rng = random.Random(seed)
    while not desk.is_over():
        for _ in range(COMMENT_SECONDS):
            time.sleep(0 if desk.is_over() else 1)
        number = desk.choose_post(rng)
        try:
            answer = desk.site.visitor().post("/wp-comments-post.php", editors.comment_form(number, rng))
            if answer.status != 302:
                raise editors.Failed(f"comment on {number}: {answer.status} {answer.text[-300:]}")
            desk.count("comments")
        except (editors.Failed, OSError) as error:
            desk.note_failure("commenter", error)


def _reports(desk, views, purges):
    while not desk.is_over():
        time.sleep(min(REPORT_SECONDS, max(0, desk.until - time.monotonic())))
        purges.update()
        hits, served = views.ratio()
        print(f"{(time.monotonic() - desk.begun) / 60:.0f} min: {sum(views.counts.values())} views, {hits}% hits, {served}% with stale pages, "
              f"{dict(views.causes)}, {dict(desk.counts)}, {len(desk.old_pages)} old pages", flush=True)


def _views_without_editors(magazine, options):
    quiet = Views(magazine.site, Purges(magazine.site))
    for path in magazine.paths:
        quiet.view(path)
    _page_views(Desk(magazine, quiet, 60 * options.warm_minutes, options.seed), quiet, options.rate, options.seed + 50)
    print(f"before the editors: {quiet.summary()}", flush=True)
    return quiet


def run(magazine, options):
    """Returns the figures of page views while editors work."""
    magazine.create().find_pages()
    staff = [(name, magazine.add_editor(name, role)) for name, role in STAFF]
    quiet = _views_without_editors(magazine, options)
    purges = Purges(magazine.site)
    views = Views(magazine.site, purges)
    views.last |= quiet.last
    desk = Desk(magazine, views, 60 * options.minutes, options.seed)
    people = [editors.Editor(name, visitor, options.seed + number, desk) for number, (name, visitor) in enumerate(staff)]
    people[0].changes_menu = True
    tasks = [threading.Thread(target=editor.work) for editor in people]
    tasks.append(threading.Thread(target=_comments, args=(desk, options.seed + 100)))
    tasks.append(threading.Thread(target=_reports, args=(desk, views, purges)))
    for task in tasks:
        task.start()
    _page_views(desk, views, options.rate, options.seed + 200)
    for task in tasks:
        task.join()
    purges.update()
    return views.summary() | {
        "pages": len(magazine.paths), "work of the editors": dict(desk.counts), "pages compared after changes": dict(desk.compared),
        "old pages after changes": desk.old_pages, "failed requests": desk.failures,
        "purges": [{key: purge[key] for key in ("at_ms", "by", "kind", "what", "pages")} for purge in sorted(purges.seen.values(), key=lambda purge: purge["at_ms"])],
    }


def findings(results):
    """Returns the reasons why the trial failed."""
    found = [f"old page after {one['change']}: {one['path']}: {one['difference']}" for one in results["old pages after changes"]]
    if results["hit ratio"] <= LIMIT:
        found.append(f"hit ratio {results['hit ratio']}%, which must be above {LIMIT}%: {results['causes of requests to PHP']}")
    return found + results["failed requests"] + results["failures"]

