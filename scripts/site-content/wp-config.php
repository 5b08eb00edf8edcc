<?php
// The configuration of a site made by scripts/site. Secrets stay outside the document root, in DIR/site.env.
$site = parse_ini_file(dirname(__DIR__) . '/site.env', false, INI_SCANNER_RAW);

define('DB_NAME', 'wordpress');
define('DB_USER', 'wordpress');
define('DB_PASSWORD', $site['DB_PASSWORD']);
define('DB_HOST', 'localhost:' . dirname(__DIR__) . '/run/db.sock');
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
$table_prefix = 'wp_';

foreach (array('AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE') as $purpose) {
    define($purpose . '_KEY', hash('sha256', $site['SALT'] . $purpose . 'key'));
    define($purpose . '_SALT', hash('sha256', $site['SALT'] . $purpose . 'salt'));
}

// The site accepts any host name and port, so that any server on any port can be placed in front of it.
$host = isset($_SERVER['HTTP_HOST']) ? strtolower($_SERVER['HTTP_HOST']) : '';
if (!preg_match('/^(?:[a-z0-9.-]+|\[[0-9a-f:]+\])(?::[0-9]{1,5})?$/', $host)) {
    $host = 'localhost';
}
$scheme = empty($_SERVER['HTTPS']) || $_SERVER['HTTPS'] === 'off' ? 'http' : 'https';
define('WP_HOME', $scheme . '://' . $host);
define('WP_SITEURL', WP_HOME);
unset($site, $purpose, $host, $scheme);

// A site for tests and measurements: it makes no outgoing requests and runs no background tasks.
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('DISABLE_WP_CRON', true);
define('WP_DEBUG', false);

if (!defined('ABSPATH')) {
    define('ABSPATH', __DIR__ . '/');
}
require_once ABSPATH . 'wp-settings.php';
