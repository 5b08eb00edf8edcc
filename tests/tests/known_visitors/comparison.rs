//! Pages whose code reads the visitor: known visitors get them from the cache after comparisons without a difference.

use std::fs;
use std::time::Duration;

use myriad_tests::{Request, Server, WordPress};

use super::host;
use super::visitors::{made, readers, served, site};

/// Plugin that reads the visitor on every page. The effect depends on the page: none, a greeting, a private text for which the stored
/// page has no part, a text for one role, and a text after a file exists.
const READS: &str = r"<?php
add_role('patron', 'Patron', ['read' => true]);
add_action('wp', function () { return is_user_logged_in(); });
add_action('wp_footer', function () { if (is_page('greeting') && is_user_logged_in()) echo 'Hello, ', wp_get_current_user()->display_name; });
add_action('wp_footer', function () { if (is_page('link') && is_user_logged_in()) wp_loginout(); });
add_action('wp_footer', function () { if (is_singular('page') && in_array('patron', wp_get_current_user()->roles)) echo '<p>For patrons</p>'; });
add_action('wp_footer', function () { if (is_home() && is_user_logged_in() && file_exists(__DIR__ . '/later')) echo '<p>Members</p>'; });
add_action('wp', function () { if (isset($_COOKIE['refused'])) { status_header((int) $_COOKIE['refused']); exit; } });
add_action('wp', function () { if (isset($_COOKIE['slow'])) sleep(1); });
add_action('template_redirect', function () { if (is_page('closed') && is_user_logged_in()) { wp_redirect(home_url('/')); exit; } });
";

const PAGES: &str = "foreach (['plain', 'greeting', 'link', 'closed'] as $name) wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', \
    'post_title' => $name, 'post_name' => $name]); \
    $id = wp_insert_user(['user_login' => 'pat', 'user_pass' => 'x', 'user_email' => 'pat@example.org', 'role' => 'patron']); \
    $token = WP_Session_Tokens::get_instance($id)->create(time() + 86400); \
    echo LOGGED_IN_COOKIE, '=', rawurlencode(wp_generate_auth_cookie($id, time() + 86400, 'logged_in', $token));";

struct Comparing {
    site: WordPress,
    server: Server,
    /// Login cookies of two subscribers.
    readers: Vec<String>,
    /// Login cookie of a third subscriber.
    newcomer: String,
    /// Login cookie of a user with another role.
    patron: String,
}

impl Comparing {
    fn new() -> Self {
        let (site, server) = site();
        fs::write(site.root().join("wp-content/mu-plugins/reads.php"), READS).expect("a plugin");
        let mut readers = readers(&site, &server, 3);
        let newcomer = readers.remove(2);
        let patron = site.run_php(&host(&server), PAGES);
        Self { site, server, readers, newcomer, patron }
    }

    /// Requests a page as two readers in turn. Returns the state of the cache for each request.
    fn views(&self, target: &str, count: usize) -> Vec<String> {
        let cookies = self.readers.iter().cycle().take(count);
        cookies.map(|cookie| served(&self.server, cookie, target).cache().to_owned()).collect()
    }

    fn anonymous(&self, target: &str) {
        self.server.fetch(&Request::get(target).host(&host(&self.server)));
    }
}

#[test]
fn read_without_effect_is_learned_and_a_greeting_never_is() {
    let all = Comparing::new();
    for target in ["/plain/", "/greeting/", "/link/"] {
        all.anonymous(target);
    }
    let views = all.views("/plain/", 8);
    assert_eq!((&views[0][..], &views[7][..]), ("BYPASS", "HIT"), "{views:?}");
    let cached = served(&all.server, &all.readers[0], "/plain/").text();
    assert!(cached.contains("The reader number 100") && !cached.contains("mYo"), "{cached}");
    assert_eq!(super::seen(&cached), super::seen(&made(&all.server, &all.readers[0], "/plain/").text()));
    let before = all.site.php_requests();
    assert_eq!(all.views("/plain/", 40), ["HIT"; 40]);
    assert!(all.site.php_requests() - before < 10, "{} requests", all.site.php_requests() - before);
    // Each page is compared before it is sent.
    all.anonymous("/about/");
    let views = all.views("/about/", 6);
    assert_eq!((&views[0][..], &views[5][..]), ("BYPASS", "HIT"), "{views:?}");
    assert_eq!(all.views("/greeting/", 30), ["BYPASS"; 30]);
    let page = served(&all.server, &all.readers[0], "/greeting/");
    assert!(page.text().contains("Hello, The reader number 100"), "{}", page.text());
    assert_eq!(page.field("X-Myriad-Visitor"), None, "the field is not sent to clients");
    let told = all.site.run_php(&host(&all.server), "echo Myriad_Cache_Health::known()['description'];");
    assert!(told.contains("mu-plugins/reads.php:4 (page): the page differs for subscriber"), "{told}");
    assert_eq!(all.views("/link/", 20), ["BYPASS"; 20]);
    assert!(served(&all.server, &all.readers[0], "/link/").text().contains("action=logout"));
    all.anonymous("/closed/");
    assert_eq!(served(&all.server, &all.readers[0], "/closed/").status, 302);
    assert_eq!(all.views("/closed/", 20), ["BYPASS"; 20]);
}

#[test]
fn repeated_class_of_the_body_is_no_difference() {
    let all = Comparing::new();
    let repeats = "<?php add_filter('body_class', function ($classes) { return array_merge($classes, [$classes[0]]); });";
    fs::write(all.site.root().join("wp-content/mu-plugins/repeats.php"), repeats).expect("a plugin");
    all.anonymous("/plain/");
    let views = all.views("/plain/", 8);
    assert_eq!(views[7], "HIT", "{views:?}");
    let cached = served(&all.server, &all.readers[0], "/plain/").text();
    assert_eq!(super::seen(&cached), super::seen(&made(&all.server, &all.readers[0], "/plain/").text()));
}

#[test]
fn read_that_matters_to_one_role_is_learned_for_others() {
    let all = Comparing::new();
    all.anonymous("/plain/");
    assert_eq!(all.views("/plain/", 8)[7], "HIT");
    for _ in 0..20 {
        let page = served(&all.server, &all.patron, "/plain/");
        assert_eq!(page.cache(), "BYPASS");
        assert!(page.text().contains("For patrons"));
    }
    let views = all.views("/plain/", 8);
    assert_eq!(views[7], "HIT", "{views:?}");
    assert!(!served(&all.server, &all.readers[0], "/plain/").text().contains("For patrons"));
}

#[test]
fn read_that_gets_an_effect_later_is_found_by_a_sample() {
    let all = Comparing::new();
    all.anonymous("/");
    assert_eq!(all.views("/", 8)[7], "HIT");
    fs::write(all.site.root().join("wp-content/mu-plugins/later"), "").expect("a file");
    // The minimum time between two samples of a page is ten seconds.
    std::thread::sleep(Duration::from_secs(10));
    let views = all.views("/", 110);
    assert_eq!(views[109], "BYPASS", "{views:?}");
    assert_eq!(all.views("/", 30), ["BYPASS"; 30]);
    assert!(served(&all.server, &all.readers[0], "/").text().contains("<p>Members</p>"));
}

#[test]
fn class_of_a_visitor_is_requested_with_the_parts_of_a_page() {
    let all = Comparing::new();
    all.anonymous("/plain/");
    assert_eq!(all.views("/plain/", 8)[7], "HIT");
    let before = all.site.php_requests();
    let page = served(&all.server, &all.newcomer, "/plain/");
    assert_eq!(page.cache(), "HIT");
    assert!(page.text().contains("The reader number 102"), "{}", page.text());
    for _ in 0..4 {
        assert_eq!(served(&all.server, &all.newcomer, "/plain/").cache(), "HIT");
    }
    // One for the fragments, and perhaps one for scheduled tasks.
    assert!(all.site.php_requests() - before <= 2, "{}", all.site.php_log());
    // A visitor of another class.
    assert_eq!(served(&all.server, &all.patron, "/plain/").cache(), "BYPASS");
}

#[test]
fn visitors_of_a_class_wait_for_one_comparison_of_a_new_version() {
    let all = Comparing::new();
    all.anonymous("/plain/");
    assert_eq!(all.views("/plain/", 8)[7], "HIT");
    let change = "wp_update_post(['ID' => get_page_by_path('plain')->ID, 'post_content' => 'Another text']);";
    all.site.run_php(&host(&all.server), change);
    all.anonymous("/plain/");
    let cookies: Vec<_> = all.readers.iter().map(|cookie| format!("{cookie}; slow=1")).collect();
    let views: Vec<_> = std::thread::scope(|scope| {
        let view = |number: usize| served(&all.server, &cookies[number % 2], "/plain/");
        let threads: Vec<_> = (0..8).map(|number| scope.spawn(move || view(number))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a visitor")).collect()
    });
    assert!(views.iter().all(|page| page.text().contains("Another text")));
    let compared = views.iter().filter(|page| page.cache() == "BYPASS").count();
    assert_eq!(compared, 1, "{}", all.site.php_log());
}

/// Substitute for WooCommerce: a notice that is deleted when it is shown.
const NOTICE: &str = "<?php
function wc_notice_count() { return (int) get_option('case_notices'); }
function wc_print_notices($is_returned = false) {
    $notices = wc_notice_count() ? '<p>It is in your cart</p>' : '';
    update_option('case_notices', 0);
    if ($is_returned) return $notices;
    echo $notices;
}
function woocommerce_output_all_notices() { echo '<div class=\"woocommerce-notices-wrapper\">'; wc_print_notices(); echo '</div>'; }
add_action('woocommerce_before_single_product', 'woocommerce_output_all_notices', 10);
add_action('wp_footer', function () { do_action('woocommerce_before_single_product'); });";

#[test]
fn notices_are_shown_also_if_the_class_is_requested_first() {
    let all = Comparing::new();
    fs::write(all.site.root().join("wp-content/mu-plugins/notice.php"), NOTICE).expect("a plugin");
    all.anonymous("/plain/");
    assert_eq!(all.views("/plain/", 8)[7], "HIT");
    for (cookie, cache) in [(&all.newcomer, "HIT"), (&all.patron, "BYPASS")] {
        all.site.run_php(&host(&all.server), "update_option('case_notices', 1);");
        let shown = [0, 1].map(|_| {
            let page = served(&all.server, cookie, "/plain/");
            assert_eq!(page.cache(), cache);
            page.text().matches("It is in your cart").count()
        });
        assert_eq!(shown, [1, 0], "{cache}");
    }
}

#[test]
fn refusals_of_a_client_are_no_differences_of_the_page() {
    let all = Comparing::new();
    let refuse = |target: &str, status: u16| {
        let answer = served(&all.server, &format!("{}; refused={status}", all.readers[0]), target);
        assert_eq!(answer.status, status, "{target}: {} {}", answer.cache(), answer.text());
    };
    all.anonymous("/plain/");
    for status in [401, 403, 429] {
        refuse("/plain/", status);
    }
    assert_eq!(all.views("/plain/", 8)[7], "HIT");
    all.anonymous("/");
    refuse("/", 410);
    assert_eq!(all.views("/", 20), ["BYPASS"; 20]);
}

/// Functions for the results of comparisons of visitors with different roles.
const RESULTS: &str = "$facts = function ($role) { return ['in' => true, 'roles' => [$role]]; }; \
    $differs = function ($role) use ($facts) { return Myriad_Cache_Callers::add_different($facts($role), ['first'], 'text'); }; \
    $epoch = function () { wp_cache_flush(); return get_option('myriad_cache_epoch'); }; ";

#[test]
fn differences_purge_pages_at_most_each_minute() {
    let (site, server) = site();
    let run = |code: &str| site.run_php(&host(&server), &[RESULTS, code].concat());
    let code = "$differs('a'); $first = $epoch(); $differs('b'); echo $first === $epoch() ? 'same ' : 'other ', \
        wp_next_scheduled('myriad_cache_revoke') ? 'scheduled ' : 'not scheduled ', \
        count(array_filter(array_map($differs, range(1, 20)))), ' ', count(get_option('myriad_cache_different'));";
    assert_eq!(run(code), "same scheduled 8 10");
    // Callers that were without effect are recorded always, and their pages are purged within a minute.
    let code = "for ($n = 0; $n < 10; $n++) Myriad_Cache_Callers::add_equal($facts('c'), ['first'], 'visitor'); \
        $before = $epoch(); echo (int) $differs('c'), implode(get_option('myriad_cache_revoked')); \
        Myriad_Cache_Callers::revoke(); echo $before === $epoch() ? ' same' : ' other', get_option('myriad_cache_revoked') ? 1 : 0;";
    assert_eq!(run(code), "1first other0");
    let code = "$old = time() - 61 . 'abcdefgh'; update_option('myriad_cache_epoch', $old); delete_option('myriad_cache_different'); \
        $differs('d'); echo $epoch() === $old ? 'same' : 'other';";
    assert_eq!(run(code), "other");
}

#[test]
fn results_of_concurrent_requests_are_all_recorded() {
    let (site, server) = site();
    std::thread::scope(|scope| {
        for role in 0..4 {
            let (site, host) = (&site, host(&server));
            scope.spawn(move || {
                let code = format!(
                    "for ($n = 0; $n < 25; $n++) Myriad_Cache_Callers::add_equal($facts('{role}'), [\"caller$n\"], 'visitor');"
                );
                site.run_php(&host, &[RESULTS, &code].concat());
            });
        }
    });
    let code = "echo implode(' ', array_map(function ($found) { return count($found['callers']); }, get_option('myriad_cache_equal')));";
    assert_eq!(site.run_php(&host(&server), code), "25 25 25 25");
}

/// Substitute for WooCommerce: a cart that contains an item if the session states it.
const CART: &str = r"<?php
class Case_Cart { public function is_empty() { return ($_COOKIE['wp_woocommerce_session_0'] ?? '') !== 'full'; } }
function WC() { static $shop; return $shop ??= (object) ['cart' => new Case_Cart(), 'session' => null, 'customer' => null]; }
";

#[test]
fn visitors_with_a_forged_cookie_of_a_cart_are_not_compared() {
    let all = Comparing::new();
    fs::write(all.site.root().join("wp-content/mu-plugins/cart.php"), CART).expect("a plugin");
    all.anonymous("/plain/");
    let last = |session: &str| {
        let cookie = format!("woocommerce_items_in_cart=1; wp_woocommerce_session_0={session}");
        let views: Vec<_> =
            (0..16).map(|_| served(&all.server, &cookie, "/plain/").cache().to_owned()).collect();
        views[15].clone()
    };
    assert_eq!(last("forged"), "BYPASS");
    assert_eq!(last("full"), "HIT");
    let results = all.site.run_php(&host(&all.server), "echo count(get_option('myriad_cache_equal'));");
    assert_eq!(results, "1");
}
