<?php
// Theme for scripts/try-plugins: a classic theme, because block themes have no sidebars.

add_action('after_setup_theme', function () {
    foreach (array('title-tag', 'post-thumbnails', 'automatic-feed-links', 'woocommerce', 'widgets') as $feature) {
        add_theme_support($feature);
    }
    add_theme_support('html5', array('comment-list', 'comment-form', 'search-form', 'gallery', 'caption'));
    register_nav_menus(array('main' => 'Main menu'));
});
add_action('widgets_init', function () {
    register_sidebar(array('id' => 'sidebar-1', 'name' => 'Sidebar', 'before_widget' => '<section id="%1$s" class="widget %2$s">',
        'after_widget' => '</section>', 'before_title' => '<h2>', 'after_title' => '</h2>'));
});
add_action('wp_enqueue_scripts', function () {
    wp_enqueue_style('trial', get_stylesheet_uri(), array(), '1.0');
    if (is_singular() && comments_open()) {
        wp_enqueue_script('comment-reply');
    }
});
