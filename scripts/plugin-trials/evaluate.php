<?php
// Runs PHP code in WordPress as the administrator and prints its result as JSON. scripts/try-plugins sends the code directly to
// php-fpm. This file is outside of the document root.

define('WP_USE_THEMES', false);
$root = $_SERVER['DOCUMENT_ROOT'];
$code = file_get_contents('php://input');
ob_start();
require $root . '/wp-load.php';
wp_set_current_user(1);
$result = eval($code);
ob_end_clean();
header('Content-Type: application/json');
echo json_encode($result, JSON_PARTIAL_OUTPUT_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE);
