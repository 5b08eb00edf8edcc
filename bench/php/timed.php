<?php
// A page that takes PHP a given time, /timed.php/MILLISECONDS/ANY-NAME, and reports when it was finished: X-Done-At, in
// seconds since 1970. The header is set after the body is created, so PHP only has to send both in one write. The timestamp
// is some tens of microseconds before that write, which the benchmark attributes to the server.
$milliseconds = min(60000, max(0, (int) (explode('/', $_SERVER['PATH_INFO'] ?? '')[1] ?? 300)));
usleep($milliseconds * 1000);
$page = '<!doctype html><title>timed</title><p>rendered in ' . $milliseconds . " ms</p>\n";
for ($line = 1; $line <= 60; $line++) {
    $page .= '<p>Line ' . $line . " of a page that took its time.</p>\n";
}
header('Content-Type: text/html; charset=UTF-8');
header(sprintf('X-Done-At: %.6F', microtime(true)));
echo $page;
