<?php
// Settings of MediaWiki for scripts/try-leaks: short addresses, pages that shared caches may store, and the selected leak on each page.

require_once '@FOLDER@/leaks.php';

$wgArticlePath = '/wiki/$1';
$wgUsePathInfo = true;
$wgUseCdn = true;
$wgJobRunRate = 0;
$wgMainCacheType = CACHE_NONE;
$wgServer = '';
$wgCanonicalServer = 'http://localhost';
if (isset($_SERVER['HTTP_HOST'])) {
    $wgServer = 'http://' . $_SERVER['HTTP_HOST'];
}
if (trial_leak_name() === 'gzip') {
    $wgDisableOutputCompression = true;
    ob_start('ob_gzhandler');
}
$wgHooks['BeforePageDisplay'][] = function ($out) { $out->addHTML(trial_leak()); };
