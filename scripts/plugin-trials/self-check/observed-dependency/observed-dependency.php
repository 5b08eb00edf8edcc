<?php
/**
 * Plugin Name: Observed dependency
 * Version: 1.0
 * Description: For scripts/try-plugins --self-check: a page that shows an option, a random number and the time.
 */

add_shortcode('observed', function () {
    return 'Text: ' . esc_html(get_option('observed_text', 'A text')) . ' ' . wp_rand() . ' ' . uniqid() . ' ' . gmdate('H:i:s');
});
add_action('admin_init', function () {
    register_setting('observed', 'observed_text');
});
add_action('admin_menu', function () {
    add_options_page('Observed', 'Observed', 'manage_options', 'observed', function () {
        echo '<form method="post" action="options.php"><input name="observed_text" value="' . esc_attr(get_option('observed_text', 'A text')) . '">';
        settings_fields('observed');
        submit_button();
        echo '</form>';
    });
});
