<?php
// Must-use plugin for scripts/try-plugins: a site without mail and without limits for comments.

add_filter('pre_wp_mail', '__return_true');

// Page caches of other plugins must not store the pages with which those of Myriad are compared.
if (isset($_SERVER['TRIAL_DIRECT'])) {
    define('DONOTCACHEPAGE', true);
    add_filter('w3tc_can_cache', '__return_false', PHP_INT_MAX);
    add_action('template_redirect', function () { function_exists('wpfc_exclude_current_page') && wpfc_exclude_current_page(); });
}
add_filter('wp_is_comment_flood', '__return_false', 99);
add_filter('duplicate_comment_id', '__return_zero', 99);
