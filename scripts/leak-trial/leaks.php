<?php
// Leaks of scripts/try-leaks. The first part of the host name of a request selects a function of this list, which returns the HTML that the application adds to
// the page. The applications load this file: WordPress by wordpress.php, MediaWiki by mediawiki.php, DokuWiki by dokuwiki.php.

/** Returns the name of the selected leak. */
function trial_leak_name()
{
    return explode('.', $_SERVER['HTTP_HOST'] ?? '')[0];
}

/** Returns a cookie of the request. WordPress adds backslashes to cookies. */
function trial_cookie($name)
{
    $value = isset($_COOKIE[$name]) ? (string) $_COOKIE[$name] : '';
    return function_exists('wp_unslash') ? wp_unslash($value) : $value;
}

/** Returns a header field of the request. */
function trial_field($name)
{
    $name = 'HTTP_' . strtoupper(str_replace('-', '_', $name));
    return isset($_SERVER[$name]) ? (string) $_SERVER[$name] : '';
}

/** Returns the data of the member whose session the request has: name, address and others; null without one. The session cookie has no well-known name. */
function trial_member()
{
    static $people = null;
    $people = $people ?? json_decode(file_get_contents(__DIR__ . '/people.json'), true);
    return $people[trial_cookie('member')] ?? null;
}

/** Returns a text of the member's data in HTML, or a text for anonymous visitors. */
function trial_for_member($text, $otherwise)
{
    $member = trial_member();
    return '<p>' . ($member ? $text($member) : $otherwise) . '</p>';
}

/** Returns a text, encoded for HTML. */
function trial_html($text)
{
    return htmlspecialchars($text, ENT_QUOTES);
}

/** Returns a list in HTML. */
function trial_list($title, $entries)
{
    return "<h3>$title</h3><ul>" . implode('', array_map(function ($entry) { return '<li>' . trial_html($entry) . '</li>'; }, $entries)) . '</ul>';
}

/** Returns the HTML that the selected leak adds to the page. */
function trial_leak()
{
    $leaks = trial_leaks();
    $name = trial_leak_name();
    return isset($leaks[$name]) ? "\n<!-- trial -->" . $leaks[$name]() . "<!-- /trial -->\n" : '';
}

/** Returns the functions of the leaks by name. */
function trial_leaks()
{
    return trial_leaks_of_values() + trial_leaks_of_sessions() + trial_leaks_of_variants() + trial_leaks_of_fields();
}

/** Returns leaks of values that the request or the response contains. */
function trial_leaks_of_values()
{
    return array(
        'cookie-name' => function () { return '<p>Hello, ' . trial_html(trial_cookie('member_name')) . '</p>'; },
        'cookie-email-json' => function () { return '<script>var account = ' . json_encode(array('email' => trial_cookie('member_email'))) . ';</script>'; },
        'cookie-url' => function () { return '<a href="/out?to=' . urlencode(trial_cookie('member_name')) . '">invite</a>'; },
        'cookie-raw-url' => function () { return '<img src="/pixel?who=' . rawurlencode(trial_cookie('member_name')) . '">'; },
        'cookie-base64' => function () { return '<p data-user="' . base64_encode('v1:' . trial_cookie('member_email') . ':end') . '"></p>'; },
        'cookie-json' => function () { return '<script>var user = ' . json_encode(array('name' => trial_cookie('member_name'))) . ';</script>'; },
        'cookie-json-attribute' => function () { return '<p data-user="' . trial_html(json_encode(array('name' => trial_cookie('member_name')))) . '"></p>'; },
        'cookie-numeric-html' => function () { return '<p>' . mb_encode_numericentity(trial_html(trial_cookie('member_name')), array(0x80, 0x10ffff, 0, 0x1fffff), 'UTF-8') . '</p>'; },
        'cookie-named-html' => function () { return '<p>' . htmlentities(trial_cookie('member_name'), ENT_QUOTES) . '</p>'; },
        'cookie-double-url' => function () { return '<a href="/login?next=' . rawurlencode('/out?to=' . rawurlencode(trial_cookie('member_email'))) . '">next</a>'; },
        'cookie-in-script' => function () { return "<script>window.visitor = '" . addslashes(trial_cookie('visitor')) . "';</script>"; },
        'cookie-in-comment' => function () { return '<!-- rendered for ' . trial_html(trial_cookie('visitor')) . ' -->'; },
        'cookie-in-field-of-form' => function () { return '<form><input type="hidden" name="who" value="' . trial_html(trial_cookie('visitor')) . '"></form>'; },
        'session-in-links' => function () { return '<a href="/?sid=' . urlencode(trial_cookie('shopsid')) . '">cart</a>'; },
        'token-in-header' => function () { header('X-Member-Token: ' . trial_cookie('visitor')); return ''; },
        'token-in-link-header' => function () { header('Link: </me.json?v=' . urlencode(trial_cookie('visitor')) . '>; rel=prefetch', false); return ''; },
        'gzip' => function () { return '<p>Hello, ' . trial_html(trial_cookie('member_name')) . '</p>'; },
        'flushes' => function () { return trial_flushed(trial_cookie('visitor')); },
        'address' => function () { return '<p>Your address is ' . trial_html($_SERVER['REMOTE_ADDR']) . '</p>'; },
        'agent' => function () { return '<p>Your browser is ' . trial_html(trial_field('user-agent')) . '</p>'; },
        'credentials' => function () { return '<p>Signed in as ' . trial_html($_SERVER['PHP_AUTH_USER'] ?? '') . '</p>'; },
        'argument-email' => function () { return '<p>We will write to ' . trial_html($_GET['mail'] ?? '') . '</p>'; },
        'argument-token' => function () { return '<a href="/unsubscribe/' . urlencode($_GET['token'] ?? '') . '">unsubscribe</a>'; },
        'new-cookie-in-links' => function () { $id = trial_new_cookie('visit'); return "<a href=\"/?visit=$id\">cart</a>"; },
        'new-cookie-json' => function () { $id = trial_new_cookie('cid'); return '<script>var config = ' . json_encode(array('client' => $id)) . ';</script>'; },
        'form-token' => function () { trial_new_cookie('laravel_session'); return '<form method="post"><input type="hidden" name="_token" value="' . bin2hex(random_bytes(20)) . '"></form>'; },
        'csrf-meta' => function () { trial_new_cookie('connect.sid'); return '<meta name="csrf-token" content="' . bin2hex(random_bytes(20)) . '">'; },
        // These are for WordPress, which prints parts for logged-in members, or sends another type of document than HTML.
        'admin-bar' => function () { return ''; },
        'logged-in-class' => function () { return ''; },
        'rest-email' => function () { return ''; },
        'feed-token' => function () { return ''; },
        'session-feed' => function () { return ''; },
        'session-rest' => function () { return ''; },
        'home-of-forwarded-host' => function () { return ''; },
    );
}

/** Sets a new cookie with a random value, if the visitor has none; returns its value. */
function trial_new_cookie($name)
{
    $value = bin2hex(random_bytes(12));
    setcookie($name, $value, 0, '/');
    return $value;
}

/** Sends the page so far, and a text in two parts; returns the rest. */
function trial_flushed($text)
{
    $middle = intdiv(strlen($text), 2);
    echo '<p>Visitor ', substr($text, 0, $middle);
    while (ob_get_level()) {
        ob_end_flush();
    }
    flush();
    usleep(200000);
    echo substr($text, $middle), '</p>';
    flush();
    return '';
}

/** Returns leaks of data that belong to the session of a member. The request does not contain them. */
function trial_leaks_of_sessions()
{
    return array(
        'session-greeting' => function () { return trial_for_member(function ($member) { return 'Howdy, ' . trial_html($member['name']); }, 'Welcome, guest'); },
        'session-cart' => function () { return trial_for_member(function ($member) { return trial_list('Your cart', $member['cart']); }, 'Your cart is empty'); },
        'session-address' => function () { return trial_for_member(function ($member) { return 'Deliver to ' . trial_html($member['address']); }, 'Choose an address'); },
        'session-telephone' => function () { return trial_for_member(function ($member) { return 'We call ' . trial_html($member['telephone']); }, 'Leave your number'); },
        'session-email-json' => function () { return '<script>var account = ' . json_encode(array('email' => trial_member()['email'] ?? null)) . ';</script>'; },
        'session-orders' => function () { return trial_for_member(function ($member) { return trial_list('Your orders', $member['orders']); }, 'No orders'); },
        'session-wishlist' => function () { return trial_for_member(function ($member) { return trial_list('Your wishes', $member['wishes']); }, 'No wishes'); },
        'session-points' => function () { return trial_for_member(function ($member) { return 'You have ' . $member['points'] . ' points'; }, 'You have 0 points'); },
        'session-unread' => function () { return trial_for_member(function ($member) { return '<a href="/inbox">' . $member['unread'] . ' messages</a>'; }, '<a href="/inbox">0 messages</a>'); },
        'session-token' => function () { return '<script>var nonce = "' . substr(md5('nonce ' . trial_cookie('member')), 0, 10) . '";</script>'; },
        'session-title' => function () { return '<script>document.title = ' . json_encode((trial_member()['name'] ?? 'Guest') . ' – account') . ';</script>'; },
        'session-header' => function () { header('X-Account: ' . rawurlencode(trial_member()['name'] ?? 'guest')); return ''; },
    );
}

/** Returns leaks of texts that depend on a cookie, the address or a header field of a visitor, but do not contain it. */
function trial_leaks_of_variants()
{
    $claim = function () { return json_decode((string) base64_decode(strtr(explode('.', trial_cookie('jwt') . '..')[1], '-_', '+/')), true)['name'] ?? 'guest'; };
    return array(
        'price-of-group' => function () { return '<p>Price: ' . (trial_cookie('group') === 'wholesale' ? '61.37' : '99.90') . ' EUR</p>'; },
        'currency' => function () { return '<p>Price: ' . (trial_cookie('cur') === 'CHF' ? 'CHF 94.15' : 'EUR 99.90') . '</p>'; },
        'ab-test' => function () { return trial_cookie('exp') === 'b' ? '<h2>Try the new editor today</h2>' : '<h2>Meet our editor</h2>'; },
        'recently-viewed' => function () { return trial_list('Recently viewed', array_map(function ($id) { return "Product number $id of the catalogue"; }, array_filter(explode('|', trial_cookie('rv'))))); },
        'jwt-claim' => function () use ($claim) { return '<p>Hello, ' . trial_html($claim()) . '</p>'; },
        'cookie-json-part' => function () { return '<p>Hello, ' . trial_html(json_decode(trial_cookie('profile'), true)['name'] ?? 'guest') . '</p>'; },
        'cookie-part' => function () { return '<p>Hello, ' . trial_html(explode('|', trial_cookie('ident'))[1] ?? 'guest') . '</p>'; },
        'short-name' => function () { return '<p>Hello, ' . trial_html(trial_cookie('nick') ?: 'guest') . '</p>'; },
        'upper-case-name' => function () { return '<p>Hello, ' . trial_html(mb_strtoupper(trial_cookie('member_name')) ?: 'GUEST') . '</p>'; },
        'order-number' => function () { return '<p>Your last order: ' . trial_html(trial_cookie('order') ?: 'none') . '</p>'; },
        'dark-mode' => function () { return '<div class="' . (trial_cookie('mode') === 'dark' ? 'page-dark' : 'page-light') . '"></div>'; },
        'time-zone' => function () { return '<p>All times are in ' . (trial_cookie('tz') === '540' ? 'Tokyo time' : 'London time') . '</p>'; },
        'city-of-address' => function () { return '<p>Shops near ' . (strpos($_SERVER['REMOTE_ADDR'], '203.0.113.') === 0 ? 'Winterthur' : 'your city') . '</p>'; },
        'language-of-country' => function () { return trial_field('x-country') === 'DE' ? '<p>Willkommen in unserem Laden</p>' : '<p>Welcome to our shop</p>'; },
        'accept-language' => function () { return strpos(trial_field('accept-language'), 'de') === 0 ? '<p>Guten Tag und herzlich willkommen</p>' : '<p>Good day and welcome</p>'; },
        'accept-language-without-vary' => function () { header_remove('Vary'); return '<html lang="' . trial_html(substr(trial_field('accept-language'), 0, 2)) . '">'; },
        'agent-mobile' => function () { return strpos(trial_field('user-agent'), 'iPhone') ? '<nav class="mobile-menu">Menu for telephones</nav>' : '<nav class="wide-menu">Menu</nav>'; },
        'search-of-referrer' => function () { parse_str((string) parse_url(trial_field('referer'), PHP_URL_QUERY), $search); return '<p>You searched for ' . trial_html($search['q'] ?? 'nothing') . '</p>'; },
    );
}

/** Returns leaks of header fields that are not in the key, by which a client can change the page of others. */
function trial_leaks_of_fields()
{
    $reflect = function ($field, $before = '<a href="', $after = '/account">account</a>', $default = '') {
        return function () use ($field, $before, $after, $default) { return $before . trial_html(trial_field($field) ?: $default) . $after; };
    };
    return array(
        'forwarded-host' => $reflect('x-forwarded-host', '<link rel="canonical" href="http://', '/">', 'shop.test'),
        'forwarded-proto' => $reflect('x-forwarded-proto', '<link rel="canonical" href="', '://shop.test/">', 'http'),
        'forwarded-prefix' => $reflect('x-forwarded-prefix'),
        'forwarded-port' => $reflect('x-forwarded-port', '<a href="http://shop.test:', '/">home</a>', '80'),
        'forwarded' => $reflect('forwarded', '<p>Via ', '</p>'),
        'original-url' => $reflect('x-original-url'),
        'rewrite-url' => $reflect('x-rewrite-url'),
        'x-host' => $reflect('x-host', '<script src="//', '/app.js"></script>', 'shop.test'),
        'client-address-field' => $reflect('true-client-ip', '<p>You come from ', '</p>'),
        'referrer' => $reflect('referer', '<input type="hidden" name="back" value="', '">'),
        'tenant' => $reflect('x-tenant', '<script>var tenant = "', '";</script>', 'main'),
        'country-field' => $reflect('cf-ipcountry', '<p data-country="', '"></p>'),
        'origin' => function () { header('Access-Control-Allow-Origin: ' . (trial_field('origin') ?: 'http://shop.test')); return ''; },
    );
}
