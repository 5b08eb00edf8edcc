"""Changes that PHP does not notice, by SQL and in a file of the theme, and the time until visitors see them."""

import os
import random
import subprocess
import threading
import time

# Ages of the pages at the time of the changes, in seconds.
AGES = (240, 120, 5)
MIN_VALIDITY, POLL_SECONDS = 60, 1
PAGES_PER_GROUP = 6
MARK_OF_FILE = "Changed in a file of the theme"


class Group:
    """Pages that were requested for the first time at the same time, and whose content is changed at the same time."""

    def __init__(self, age, posts, is_visited):
        self.age, self.posts, self.is_visited = age, posts, is_visited
        self.old_until, self.seen_after = dict.fromkeys(posts.values(), 0), dict.fromkeys(posts.values())

    def bound(self):
        """Returns the time within which the change must be seen, in seconds."""
        return max(MIN_VALIDITY, self.age / 2)


def _sql(site, statement):
    """Runs SQL with the client of the database, without PHP."""
    environment = {**os.environ, "MYSQL_PWD": site.secrets["DB_PASSWORD"]}
    command = ["mariadb", f"--socket={site.folder}/run/db.sock", "--user=wordpress", "wordpress", "--execute", statement]
    subprocess.run(command, env=environment, check=True, capture_output=True)


def _mark(number):
    return f"changed-by-sql-{number}"


def _request_until(site, group, until):
    """Requests the pages of a group now and then, as visitors of a busy page do; at least once, at its first view."""
    visitor = site.bystander()
    for path in group.posts.values():
        visitor.send("GET", path)
    while group.is_visited and time.monotonic() < until:
        time.sleep(5)
        for path in group.posts.values():
            site.bystander().send("GET", path)


def _watch(site, group, changed, mark_of):
    """Requests pages until each shows its mark, at most three times the bound; pages without visits are first requested when the bound is over."""
    if not group.is_visited:
        time.sleep(max(0, changed + group.bound() - time.monotonic()))
    missing = dict(group.posts)
    while missing and time.monotonic() < changed + 3 * group.bound():
        for number, path in list(missing.items()):
            since = round(time.monotonic() - changed, 1)
            if mark_of(number) in site.bystander().send("GET", path).text:
                group.seen_after[path] = since
                del missing[number]
            else:
                group.old_until[path] = since
        time.sleep(POLL_SECONDS)


def _together(calls):
    threads = [threading.Thread(target=call[0], args=call[1:]) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _result(kind, group):
    return {"change": kind, "age of the page in seconds": group.age, "visited meanwhile": group.is_visited, "must be seen within": group.bound(),
            "last request with old content": group.old_until, "first request with the change": group.seen_after}


def _by_sql(magazine, rng):
    """Changes posts by SQL that were requested some time ago."""
    site = magazine.site
    posts = site.evaluate("$all = array(); foreach (get_posts(array('numberposts' => -1)) as $post) { $all[$post->ID] = get_permalink($post); } return $all;")
    chosen = rng.sample(sorted(posts), 2 * len(AGES) * PAGES_PER_GROUP)
    groups = []
    for number, (age, is_visited) in enumerate((age, is_visited) for age in AGES for is_visited in (True, False)):
        part = chosen[number * PAGES_PER_GROUP : (number + 1) * PAGES_PER_GROUP]
        groups.append(Group(age, {post: site.bystander().path(posts[post]) for post in part}, is_visited))
    begun = time.monotonic()
    change_at = begun + max(AGES)

    def request(group):
        time.sleep(max(0, change_at - group.age - time.monotonic()))
        _request_until(site, group, change_at)

    _together([(request, group) for group in groups])
    time.sleep(max(0, change_at - time.monotonic()))
    for group in groups:
        for number in group.posts:
            _sql(site, f"UPDATE wp_posts SET post_content = CONCAT(post_content, '<p>{_mark(number)}</p>') WHERE ID = {int(number)}")
    changed = time.monotonic()
    _together([(_watch, site, group, changed, _mark) for group in groups])
    return [_result("SQL", group) for group in groups]


def _by_file(magazine, rng):
    """Changes a file of the theme as an FTP server does. The pages were requested some seconds ago."""
    site = magazine.site
    paths = rng.sample(magazine.paths[1:], PAGES_PER_GROUP)
    site.evaluate("Myriad_Cache_Queue::add('s'); return Myriad_Cache_Queue::flush();")
    time.sleep(11)  # A page that is created within ten seconds after a purge is valid for a shorter time.
    group = Group(5, dict(enumerate(paths)), True)
    _request_until(site, group, time.monotonic())
    time.sleep(group.age)
    footer = site.root / "wp-content/themes" / magazine.options.theme.name / "parts/footer.html"
    new = footer.with_suffix(".new")
    new.write_text(footer.read_text() + f"<!-- wp:paragraph --><p>{MARK_OF_FILE}</p><!-- /wp:paragraph -->")
    new.rename(footer)
    _watch(site, group, time.monotonic(), lambda _: MARK_OF_FILE)
    return [_result("file of the theme", group)]


def run(magazine, options):
    """Returns the times after which visitors saw the changes."""
    magazine.create().find_pages()
    rng = random.Random(options.seed)
    results = _by_sql(magazine, rng) + _by_file(magazine, rng)
    for result in results:
        print(result, flush=True)
    return {"changes": results}


def findings(results):
    """Returns the reasons why the trial failed."""
    found = []
    for result in results["changes"]:
        for path, seconds in result["last request with old content"].items():
            if seconds > result["must be seen within"] or result["first request with the change"][path] is None:
                found.append(f"{result['change']}: {path} of age {result['age of the page in seconds']} s: old content after {seconds} s")
    return found
