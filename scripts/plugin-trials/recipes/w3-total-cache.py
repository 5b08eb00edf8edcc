"""W3 Total Cache, with its page cache in files turned on."""

from other_caches import check_copies

ENABLE = """
$configuration = ABSPATH . 'wp-config.php';
$text = file_get_contents($configuration);
if (strpos($text, 'WP_CACHE') === false) {
    file_put_contents($configuration, preg_replace('/^<\\?php/', "<?php\\ndefine('WP_CACHE', true);", $text, 1));
}
copy(WP_PLUGIN_DIR . '/w3-total-cache/wp-content/advanced-cache.php', WP_CONTENT_DIR . '/advanced-cache.php');
$settings = new \\W3TC\\Config();
$settings->set('pgcache.enabled', true);
$settings->set('pgcache.engine', 'file');
$settings->save();
return file_exists(WP_CONTENT_DIR . '/advanced-cache.php');
"""


def prepare(trial):
    if not trial.site.evaluate(ENABLE):
        trial.notes.append("the page cache is not turned on")


def change(trial):
    check_copies(trial)
