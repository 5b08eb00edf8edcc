<?php
// Reads what compose.yaml sets, as the image's own wp-config.php does.
define('DB_NAME', getenv('WORDPRESS_DB_NAME'));
define('DB_USER', getenv('WORDPRESS_DB_USER'));
define('DB_PASSWORD', getenv('WORDPRESS_DB_PASSWORD'));
define('DB_HOST', getenv('WORDPRESS_DB_HOST'));
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
$table_prefix = 'wp_';
foreach (array('AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE') as $purpose) {
    define($purpose . '_KEY', hash('sha256', DB_PASSWORD . $purpose . 'key'));
    define($purpose . '_SALT', hash('sha256', DB_PASSWORD . $purpose . 'salt'));
}
if (strpos($_SERVER['HTTP_X_FORWARDED_PROTO'] ?? '', 'https') !== false) {
    $_SERVER['HTTPS'] = 'on';
}
eval(getenv('WORDPRESS_CONFIG_EXTRA') ?: '');
if (!defined('ABSPATH')) {
    define('ABSPATH', __DIR__ . '/');
}
require_once ABSPATH . 'wp-settings.php';
