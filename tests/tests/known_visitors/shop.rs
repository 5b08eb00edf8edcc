//! Pages of a shop for readers and customers: data of the customer outside of the cart page, and taxes by location.

use std::fs;

use myriad_tests::{Request, WordPress};

use super::host;
use super::visitors::{readers, served, site};

/// Substitute for WooCommerce: a template that shows the customer's account, a file that reads the user without effect, a
/// shortcode of the cart, a link to log in as a value, and classes of customers and taxes.
const PARTS: &str = r#"<?php
foreach (['templates/account.php', 'includes/class-wc-session-handler.php'] as $file) {
    $path = WP_CONTENT_DIR . "/plugins/woocommerce/$file";
    if (!is_file($path)) { wp_mkdir_p(dirname($path)); file_put_contents($path, '<?php return is_user_logged_in() ? "account" : "login";'); }
}
add_shortcode('account', function () { return include WP_CONTENT_DIR . '/plugins/woocommerce/templates/account.php'; });
add_shortcode('session', function () { include WP_CONTENT_DIR . '/plugins/woocommerce/includes/class-wc-session-handler.php'; return 'same'; });
$users = WP_CONTENT_DIR . '/plugins/woocommerce/includes/wc-user-functions.php';
if (!is_file($users)) file_put_contents($users, '<?php function wc_current_user_is_active() { return get_current_user_id(); }
    function wc_case_bought() { return get_current_user_id() ? "bought" : "not bought"; }');
require_once $users;
add_action('wp', 'wc_current_user_is_active');
add_shortcode('bought', 'wc_case_bought');
add_shortcode('woocommerce_cart', function () { return $_COOKIE['woocommerce_cart_hash'] ?? 'empty'; });
add_shortcode('link', function () { return preg_replace('!>([^<]+)!', '> Enter', wp_loginout('', false)); });

class Fake_Customer {
    function is_vat_exempt() { return false; }
    function get_taxable_address() { return [$_COOKIE['wp_woocommerce_session_0'] ?? 'DE', '', '', '']; }
}
class Fake_Session { function has_session() { return isset($_COOKIE['wp_woocommerce_session_0']); } }
class Fake_Shop { public $customer, $session; }
class WC_Tax {
    static function get_tax_class_slugs() { return ['reduced']; }
    static function find_rates($at) { return in_array($at['country'], ['DE', 'AT']) ? [1 => 19.0] : []; }
}
function WC() {
    static $shop;
    if (!$shop) { $shop = new Fake_Shop(); $shop->customer = new Fake_Customer(); $shop->session = new Fake_Session(); }
    return $shop;
}
function wc_notice_count() { return isset($_GET['notice']) ? 1 : 0; }
function wc_tax_enabled() { return true; }
function wc_get_customer_default_location() { return ['country' => 'DE', 'state' => '']; }
add_action('init', function () { do_action('woocommerce_init'); });
"#;

#[test]
fn data_of_customers_on_any_page_comes_from_php_and_other_pages_are_stored() {
    let (site, server) = site();
    fs::write(site.root().join("wp-content/mu-plugins/parts.php"), PARTS).expect("a plugin");
    site.run_php(
        &host(&server),
        "foreach (['account', 'session', 'woocommerce_cart', 'link', 'bought'] as $name) wp_insert_post(['post_type' => 'page', \
         'post_status' => 'publish', 'post_title' => $name, 'post_name' => \"shop-$name\", 'post_content' => \"[$name]\"]);",
    );
    let reader = readers(&site, &server, 1).remove(0);
    for (name, is_stored) in [
        ("account", false),
        ("woocommerce_cart", false),
        ("link", false),
        ("bought", false),
        ("session", true),
    ] {
        let target = format!("/shop-{name}/");
        let anonymous = server.fetch(&Request::get(&target).host(&host(&server)));
        assert!(!anonymous.text().contains("mYr"), "{name}: {}", anonymous.text());
        let page = served(&server, &reader, &target);
        assert_eq!(page.cache() == "HIT", is_stored, "{name}: {}", page.cache());
    }
    let page = served(&server, &reader, "/shop-account/").text();
    assert!(page.contains("account") && !page.contains("<p>login"), "{page}");
}

#[test]
fn customers_with_other_taxes_get_pages_from_php() {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/parts.php"), PARTS).expect("a plugin");
    let server = site.serve_with_plugin();
    let set = |cookie: &str| {
        let answer = served(&server, &format!("{cookie}; NO_CACHE=1"), "/about/");
        answer.all("Set-Cookie").find(|value| value.starts_with("wordpress_no_cache=")).map(str::to_owned)
    };
    let notice = served(&server, "wp_woocommerce_session_0=DE; NO_CACHE=1", "/about/?notice=1");
    assert_eq!(notice.field("X-Myriad-Private-Purge"), None, "the field is not sent to clients");
    for same in ["wp_woocommerce_session_0=DE", "wp_woocommerce_session_0=AT", "other=1"] {
        assert_eq!(set(same), None, "{same}");
    }
    let cookie = set("wp_woocommerce_session_0=CH").expect("a cookie");
    assert!(cookie.starts_with("wordpress_no_cache=tax;"), "{cookie}");
    assert_eq!(set("wp_woocommerce_session_0=CH; wordpress_no_cache=tax"), None, "the cookie is already set");
    let cookie = set("wp_woocommerce_session_0=DE; wordpress_no_cache=tax").expect("a cookie");
    assert!(cookie.starts_with("wordpress_no_cache=deleted;"), "{cookie}");
    assert_eq!(set("wp_woocommerce_session_0=DE; wordpress_no_cache=1"), None, "the cookie of staff stays");
}
