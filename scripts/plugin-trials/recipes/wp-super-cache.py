"""WP Super Cache, with its page cache turned on."""

from other_caches import check_copies

ENABLE = """
$configuration = ABSPATH . 'wp-config.php';
$text = file_get_contents($configuration);
if (strpos($text, 'WPCACHEHOME') === false) {
    file_put_contents($configuration, preg_replace('/^<\\?php/', "<?php\\ndefine('WP_CACHE', true);\\ndefine('WPCACHEHOME', '" . WP_PLUGIN_DIR . "/wp-super-cache/');", $text, 1));
}
copy(WP_PLUGIN_DIR . '/wp-super-cache/advanced-cache.php', WP_CONTENT_DIR . '/advanced-cache.php');
wp_cache_verify_config_file();
wp_cache_enable();
wp_super_cache_enable();
return file_exists(WP_CONTENT_DIR . '/wp-cache-config.php');
"""


def prepare(trial):
    if not trial.site.evaluate(ENABLE):
        trial.notes.append("the page cache is not turned on")


def change(trial):
    check_copies(trial)
