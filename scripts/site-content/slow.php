<?php
// A page that takes PHP a given time: /slow.php?ms=300, or /slow.php/300/ANY-NAME if a query string would prevent
// caching. For tests and benchmarks; WordPress is not loaded.
$asked = $_GET['ms'] ?? explode('/', $_SERVER['PATH_INFO'] ?? '')[1] ?? 300;
$milliseconds = min(60000, max(0, (int) $asked));
usleep($milliseconds * 1000);
header('Content-Type: text/html; charset=UTF-8');
echo '<!doctype html><title>slow</title><p>rendered in ', $milliseconds, " ms</p>\n";
for ($line = 1; $line <= 60; $line++) {
    echo '<p>Line ', $line, " of a page that took its time.</p>\n";
}
