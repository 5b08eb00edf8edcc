//! Requests of scripts of a shop for the cart of a customer: the response is stored for this customer.

use std::fs;

use myriad_tests::{Answer, Request, Server, WordPress};

use super::host;
use super::visitors::{readers, served, site};

/// Substitute for WooCommerce: the cart of its Store API. The cart of a session has the product whose number is in an option, with its title.
/// Sessions, dates and notices are options, too.
const CARTS: &str = r"<?php
class Cases_Product {
    function get_date_on_sale_from() { $at = get_option('cases_sale'); return $at ? new DateTime('@' . $at) : null; }
}
class Cases_Cart {
    function is_empty() { return !Cases_Session::name(); }
    function get_cart() { return $this->is_empty() ? [] : ['item' => ['product_id' => (int) get_option('cases_product'), 'variation_id' => 0, 'data' => new Cases_Product()]]; }
    function get_coupons() { return []; }
}
class Cases_Session {
    static function name() { return $_COOKIE['wp_woocommerce_session_0'] ?? ''; }
    function has_session() { return '' !== self::name(); }
}
class Cases_Shop { public $cart, $session; }
function WC() {
    static $shop;
    if (!$shop) { $shop = new Cases_Shop(); $shop->cart = new Cases_Cart(); $shop->session = new Cases_Session(); }
    return $shop;
}
function wc_notice_count() { return (int) get_option('cases_notices'); }
function wc_tax_enabled() { return false; }
add_action('rest_api_init', function () {
    register_rest_route('wc/store/v1', '/cart', ['methods' => 'GET, POST', 'permission_callback' => '__return_true', 'callback' => function () {
        $title = get_post((int) get_option('cases_product'))->post_title;
        $response = new WP_REST_Response(['of' => Cases_Session::name(), 'product' => $title, 'number' => bin2hex(random_bytes(4))]);
        $response->header('Nonce', 'nonce-of-' . Cases_Session::name());
        if (get_option('cases_limit')) $response->header('RateLimit-Limit', 25);
        return $response;
    }]);
});
";

const CART: &str = "/wp-json/wc/store/v1/cart";

fn shop() -> (WordPress, Server) {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/carts.php"), CARTS).expect("a plugin");
    let server = site.serve_with_plugin();
    let product = "update_option('cases_product', wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', 'post_title' => 'Cup']));";
    site.run_php(&host(&server), product);
    (site, server)
}

/// Returns the cookies of a customer with a cart.
fn cookies(name: &str) -> String {
    format!(
        "woocommerce_items_in_cart=1; woocommerce_cart_hash={name}; wp_woocommerce_session_0={name}-0123456789abcdef; _ga=GA1.{name}"
    )
}

/// Returns the request that a script of a page sends for the cart.
fn cart(server: &Server, cookies: &str) -> Request {
    Request::get(CART)
        .host(&host(server))
        .field("Sec-Fetch-Site", "same-origin")
        .field("Content-Type", "application/json")
        .field("Cookie", cookies)
}

fn of(server: &Server, name: &str) -> Answer {
    let answer = server.fetch(&cart(server, &cookies(name)));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.text().contains(&format!(r#""of":"{name}-0123456789abcdef""#)), "{}", answer.text());
    answer
}

#[test]
fn cart_is_stored_for_its_customer() {
    let (site, server) = shop();
    let (ada, eve) = (of(&server, "ada"), of(&server, "eve"));
    let before = site.php_requests();
    for _ in 0..3 {
        for (name, first) in [("ada", &ada), ("eve", &eve)] {
            let again = of(&server, name);
            assert_eq!((again.cache(), again.text()), ("HIT", first.text()), "{}", server.read("error.log"));
            assert_eq!(again.field("Nonce"), Some(&*format!("nonce-of-{name}-0123456789abcdef")));
            assert_eq!(again.field("Cache-Control"), first.field("Cache-Control"));
        }
    }
    // The cookies of statistics change at each view.
    let later = cookies("ada").replace("_ga=", "sbjs_session=pgs%3D2; _ga=2.");
    assert_eq!(server.fetch(&cart(&server, &later)).text(), ada.text());
    assert_eq!(site.php_requests(), before);
    let plain = || Request::get(CART).host(&host(&server)).field("Cookie", &cookies("ada"));
    for (name, request) in [
        ("a nonce", cart(&server, &cookies("ada")).field("Nonce", "1")),
        ("a token", cart(&server, &cookies("ada")).field("Cart-Token", "x.y.z")),
        ("an application", plain().field("Content-Type", "application/json")),
        (
            "another site",
            plain().field("Content-Type", "application/json").field("Sec-Fetch-Site", "cross-site"),
        ),
        ("a currency", cart(&server, &format!("{}; currency=CHF", cookies("ada")))),
        ("another cart", cart(&server, &cookies("ada").replace("items_in_cart=1", "items_in_cart=2"))),
        ("an editor", cart(&server, &format!("{}; wordpress_no_cache=1", cookies("ada")))),
    ] {
        let answer = server.fetch(&request);
        assert_eq!(answer.status, 200, "{name}");
        assert_ne!(answer.text(), ada.text(), "{name}");
    }
}

#[test]
fn cart_is_renewed_after_a_change_of_the_customer_or_of_a_product() {
    let (site, server) = shop();
    let (ada, eve) = (of(&server, "ada"), of(&server, "eve"));
    server.fetch(&cart(&server, &cookies("ada")).by("POST"));
    let changed = of(&server, "ada");
    assert_ne!(changed.text(), ada.text());
    assert_eq!((of(&server, "ada").text(), of(&server, "eve").text()), (changed.text(), eve.text()));
    site.run_php(
        &host(&server),
        "wp_update_post(['ID' => get_option('cases_product'), 'post_title' => 'Blue cup']);",
    );
    for name in ["ada", "eve"] {
        assert!(of(&server, name).text().contains(r#""product":"Blue cup""#), "{name}");
    }
    assert_eq!(of(&server, "ada").cache(), "HIT");
}

#[test]
fn cart_that_may_change_by_itself_is_not_stored() {
    let (site, server) = shop();
    for (name, set, unset) in [
        ("a notice", "update_option('cases_notices', 1);", "update_option('cases_notices', 0);"),
        ("a limit of requests", "update_option('cases_limit', 1);", "update_option('cases_limit', 0);"),
        (
            "the country by address",
            "update_option('woocommerce_default_customer_address', 'geolocation_ajax');",
            "update_option('woocommerce_default_customer_address', 'base');",
        ),
    ] {
        site.run_php(&host(&server), set);
        assert_ne!(of(&server, "ada").text(), of(&server, "ada").text(), "{name}");
        site.run_php(&host(&server), unset);
        assert_eq!(of(&server, "eve").text(), of(&server, "eve").text(), "after {name}");
    }
    // A dated sale begins in three seconds.
    site.run_php(&host(&server), "update_option('cases_sale', time() + 3);");
    let before = of(&server, "ada").text();
    myriad_tests::wait_for("the sale", || of(&server, "ada").text() != before);
}

/// Plugin that stores the header fields of the redirect to the icon of the site.
const FIELDS: &str = r"<?php
add_action('shutdown', function () {
    if (did_action('do_faviconico')) update_option('cases_fields', implode(' ', headers_list()));
});
";

#[test]
fn known_visitors_get_the_redirect_to_the_icon_of_the_site_from_the_cache() {
    let (site, server) = site();
    fs::write(site.root().join("wp-content/mu-plugins/fields.php"), FIELDS).expect("a plugin");
    let readers = readers(&site, &server, 2);
    let anonymous = server.fetch(&Request::get("/favicon.ico").host(&host(&server)));
    assert_eq!(anonymous.status, 302, "{}", anonymous.text());
    let before = site.php_requests();
    for cookie in [readers[0].clone(), readers[1].clone(), cookies("ada")] {
        let answer = served(&server, &cookie, "/favicon.ico");
        assert_eq!((answer.status, answer.cache()), (302, "HIT"), "{cookie}");
        assert_eq!(answer.field("Location"), anonymous.field("Location"));
    }
    assert_eq!(site.php_requests(), before);
    // The redirect has the validity of a page, and a change of the icon purges it.
    let fields = site.run_php(&host(&server), "echo get_option('cases_fields');");
    assert!(fields.contains("X-Accel-Expires: 86400") && fields.contains("-osite_icon"), "{fields}");
}
