"""WP Fastest Cache, with its page cache turned on."""

from other_caches import check_copies


def prepare(trial):
    trial.site.evaluate("update_option('WpFastestCache', '{\"wpFastestCacheStatus\":\"on\",\"wpFastestCacheMinifyHtml\":\"on\",\"wpFastestCacheCombineCss\":\"on\"}'); return 1;")


def change(trial):
    check_copies(trial)
