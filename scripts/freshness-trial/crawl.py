"""Crawls of a site with plugins that count views, with the requests that their scripts send from browsers."""

import base64
import collections
import concurrent.futures
import json
import random
import re
import time
import urllib.parse

import editors
from views import Purges, Views

PLUGINS = ("post-views-counter", "wp-statistics", "wp-postratings")
POST_VIEWS = re.compile(r"var pvcArgsFrontend = (\{.*?\});?\s*\n")
STATISTICS = re.compile(r"var WP_Statistics_Tracker_Object = (\{.*?\});\s*\n")
RATING = re.compile(r'id="wp-postratings-(\d+)"[^>]*data-nonce="([0-9a-zA-Z]+)"')
COMMENTED_POST = re.compile(r"name='comment_post_ID' value='(\d+)'")
THREADS, LIMIT = 6, 98
# Mean number of views per vote, in the first crawl and later, and per comment. Myriad's plugin ignores writes of counters after ten requests of scripts.
VIEWS_PER_FIRST_VOTE, VIEWS_PER_VOTE, VIEWS_PER_COMMENT = 10, 100, 40
SET_UP = """
foreach (array('post-views-counter/post-views-counter.php', 'wp-statistics/wp-statistics.php', 'wp-postratings/wp-postratings.php') as $plugin) {
    if (is_wp_error(activate_plugin($plugin))) {
        return $plugin;
    }
}
return '';
"""
COUNT_BY_SCRIPT = """
$settings = get_option('post_views_counter_settings_general');
update_option('post_views_counter_settings_general', array_merge($settings ?: array(), array('counter_mode' => 'js')));
return 1;
"""
TOTALS = """
global $wpdb;
return array('post-views-counter' => (int) $wpdb->get_var("SELECT SUM(count) FROM {$wpdb->prefix}post_views WHERE type = 4"),
    'wp-statistics' => (int) $wpdb->get_var("SELECT SUM(count) FROM {$wpdb->prefix}statistics_pages"),
    'wp-postratings' => (int) $wpdb->get_var("SELECT COUNT(*) FROM {$wpdb->prefix}ratings"));
"""


def _run_scripts(site, path, text, counts):
    """Sends the requests of the plugins' scripts on a page, from a browser without cookies."""
    visitor = site.visitor()
    found = POST_VIEWS.search(text)
    if found:
        data = json.loads(found.group(1))
        form = {"action": "pvc-check-post", "pvc_nonce": data["nonce"], "id": data["postID"], "storage_type": "cookies", "storage_data": "a"}
        _send(visitor, "post-views-counter", data["requestURL"], form, counts)
    found = STATISTICS.search(text)
    if found:
        data = json.loads(found.group(1))
        form = {**data["hitParams"], "referred": "", "page_uri": base64.b64encode(path.encode()).decode()}
        _send(visitor, "wp-statistics", f"{data['requestUrl']}/{data['hitParams'].get('endpoint', '')}", form, counts)
    return visitor


def _send(visitor, name, url, form, counts):
    answer = visitor.post(urllib.parse.urlsplit(url).path, form)
    is_accepted = answer.status == 200 and '"success":false' not in answer.text and '"status":false' not in answer.text
    counts[f"{name}: {'accepted' if is_accepted else f'refused, {answer.status}'}"] += 1


def _visit(site, views, path, number, counts, seed):
    answer = views.view(path)
    visitor = _run_scripts(site, path, answer.text, counts)
    rng = random.Random(f"{seed} {number} {path}")
    found = RATING.search(answer.text)
    if found and rng.randrange(VIEWS_PER_FIRST_VOTE if number == 1 else VIEWS_PER_VOTE) == 0:
        post, nonce = found.groups()
        form = {"action": "wp_postratings", "pid": post, "rate": str(rng.randrange(1, 6)), f"wp_postratings_{post}_nonce": nonce}
        _send(visitor, "wp-postratings", "/wp-admin/admin-ajax.php", form, counts)
    found = COMMENTED_POST.search(answer.text)
    if found and rng.randrange(VIEWS_PER_COMMENT) == 0:
        visitor.post("/wp-comments-post.php", editors.comment_form(found.group(1), rng))
        counts["comments"] += 1


def _crawl(magazine, purges, number, seed):
    """Requests all pages once; returns the figures."""
    views, counts = Views(magazine.site, purges), collections.Counter()
    views.last |= magazine.last_views
    begun = time.time()
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        tasks = [pool.submit(_visit, magazine.site, views, path, number, counts, seed) for path in magazine.paths]
        for task in tasks:
            task.result()
    magazine.last_views = views.last
    purges.update()
    during = [purge for purge in purges.seen.values() if purge["at_ms"] > 1000 * begun]
    results = views.summary() | {
        "requests of scripts": dict(counts), "seconds": round(time.time() - begun),
        "purges": [f"{purge['by']}, {purge['pages']} pages: {purge['what'][:200]}" for purge in during]}
    print(f"crawl {number}: {results}", flush=True)
    return results


def run(magazine, options):
    """Returns the figures of successive crawls. The last one must have hits.

    A page with counters is valid for half the time for which it has been equal except for numbers, up to ten minutes.
    """
    magazine.create([options.plugins / name for name in PLUGINS], "<!-- wp:shortcode -->[ratings]<!-- /wp:shortcode -->")
    refused = magazine.site.evaluate("require_once ABSPATH . 'wp-admin/includes/plugin.php';" + SET_UP)
    if refused:
        raise RuntimeError(f"{refused} cannot be activated")
    magazine.site.evaluate(COUNT_BY_SCRIPT)
    magazine.open_first_screens()
    magazine.find_pages()
    purges = Purges(magazine.site)
    begun, crawls = time.monotonic(), []
    while not crawls or time.monotonic() < begun + 60 * options.crawl_minutes:
        crawls.append(_crawl(magazine, purges, len(crawls) + 1, options.seed))
    crawls.append(_crawl(magazine, purges, len(crawls) + 1, options.seed))
    return {"crawls": crawls, "counted": magazine.site.evaluate(TOTALS)}


def findings(results):
    """Returns the reasons why the trial failed."""
    measured, found = results["crawls"][-1], []
    if measured["hit ratio"] <= LIMIT:
        found.append(f"hit ratio {measured['hit ratio']}%, which must be above {LIMIT}%: {measured['causes of requests to PHP']}")
    for name, count in results["counted"].items():
        if not count:
            found.append(f"{name} has counted nothing")
    return found + [text for crawl in results["crawls"] for text in crawl["failures"]]
