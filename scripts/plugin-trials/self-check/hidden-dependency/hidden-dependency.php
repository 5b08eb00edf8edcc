<?php
/**
 * Plugin Name: Hidden dependency
 * Version: 1.0
 * Description: For scripts/try-plugins --self-check: a page that shows the text of a file, and a page that shows a cookie of the reader.
 */

function hidden_file() {
    return WP_CONTENT_DIR . '/uploads/hidden.txt';
}
add_shortcode('hidden-file', function () {
    return 'Text: ' . (is_file(hidden_file()) ? file_get_contents(hidden_file()) : 'none');
});
add_shortcode('hidden-reader', function () {
    foreach ($_COOKIE as $name => $value) {
        if (0 === strpos($name, 'wordpress_logged_in_')) {
            return 'Reader: ' . strtok($value, '|');
        }
    }
    return 'Reader: none';
});
add_action('admin_menu', function () {
    add_options_page('Hidden', 'Hidden', 'manage_options', 'hidden', 'hidden_screen');
});
function hidden_screen() {
    if (isset($_POST['hidden_text'])) {
        check_admin_referer('hidden');
        // Written by another process: Myriad's plugin observes the files that PHP writes.
        exec('printf %s ' . escapeshellarg(wp_unslash($_POST['hidden_text'] . ' ' . $_POST['hidden_number'])) . ' > ' . escapeshellarg(hidden_file()));
    }
    echo '<form method="post"><input name="hidden_text" value="A text"><input type="number" name="hidden_number" value="1"><input type="submit" name="save" value="Save">';
    wp_nonce_field('hidden');
    echo '</form>';
}
