<?php
// Must-use plugin for scripts/try-plugins: a site without mail and without limits for comments.

add_filter('pre_wp_mail', '__return_true');
add_filter('wp_is_comment_flood', '__return_false', 99);
add_filter('duplicate_comment_id', '__return_zero', 99);
