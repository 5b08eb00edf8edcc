<?php
// A page that takes PHP a known time: /slow.php?ms=300. For tests and the bench; WordPress is not loaded.
$milliseconds = min(60000, max(0, (int) ($_GET['ms'] ?? 300)));
usleep($milliseconds * 1000);
header('Content-Type: text/html; charset=UTF-8');
echo '<!doctype html><title>slow</title><p>rendered in ', $milliseconds, " ms</p>\n";
for ($line = 1; $line <= 60; $line++) {
    echo '<p>Line ', $line, " of a page that took its time.</p>\n";
}
