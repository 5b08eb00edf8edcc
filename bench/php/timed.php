<?php
// A page that takes PHP a known time, /timed.php/MILLISECONDS/ANY-NAME, and says when it was done: X-Done-At, in seconds
// since 1970. The field is set after the body is made, so all that is left to PHP is to hand both over in one write; the
// stamp lies some tens of microseconds before that, which the bench counts against the server.
$milliseconds = min(60000, max(0, (int) (explode('/', $_SERVER['PATH_INFO'] ?? '')[1] ?? 300)));
usleep($milliseconds * 1000);
$page = '<!doctype html><title>timed</title><p>rendered in ' . $milliseconds . " ms</p>\n";
for ($line = 1; $line <= 60; $line++) {
    $page .= '<p>Line ' . $line . " of a page that took its time.</p>\n";
}
header('Content-Type: text/html; charset=UTF-8');
header(sprintf('X-Done-At: %.6F', microtime(true)));
echo $page;
