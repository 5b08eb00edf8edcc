<?php
// Must-use plugin for scripts/try-leaks: adds the selected leak to pages, feeds and REST responses of WordPress.

require_once '@FOLDER@/leaks.php';

add_action('wp_footer', function () { echo trial_leak(); });

switch (trial_leak_name()) {
    case 'gzip':
        ob_start('ob_gzhandler');
        break;
    case 'token-in-header':
    case 'token-in-link-header':
    case 'session-header':
    case 'origin':
    case 'new-cookie-in-links':
    case 'new-cookie-json':
    case 'form-token':
    case 'csrf-meta':
        // WordPress sends its header before the footer.
        ob_start();
        break;
    case 'logged-in-class':
        add_filter('show_admin_bar', '__return_false');
        // The visitor is logged in, too.
    case 'admin-bar':
        // A single sign-on whose cookie no list contains, and which forgets to forbid caches to store the page.
        add_filter('nocache_headers', '__return_empty_array');
        add_filter('determine_current_user', function ($user) { return trial_member() ? username_exists(trial_member()['login']) : $user; }, 30);
        break;
    case 'feed-token':
        add_action('rss2_head', function () { echo '<docs>', esc_url(home_url('/my-feed/' . trial_cookie('visitor'))), '</docs>'; });
        break;
    case 'session-feed':
        add_action('rss2_head', function () { echo '<docs>Feed of ', trial_html(trial_member()['name'] ?? 'all'), '</docs>'; });
        break;
    case 'home-of-forwarded-host':
        add_filter('home_url', function ($url) { return trial_field('x-forwarded-host') ? preg_replace('#//[^/]+#', '//' . trial_field('x-forwarded-host'), $url, 1) : $url; });
        break;
}

add_action('rest_api_init', function () {
    register_rest_route('trial/v1', '/me', array('methods' => 'GET', 'permission_callback' => '__return_true', 'callback' => function () {
        return array('email' => trial_leak_name() === 'rest-email' ? trial_cookie('member_email') : trial_member()['email'] ?? null);
    }));
});
