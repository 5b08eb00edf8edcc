//! Requests of scripts of a shop for the cart: visitors without a cart share the empty cart, without the token of a session.

use std::collections::HashSet;
use std::fs;

use myriad_tests::{Answer, Request, Server, WordPress};

use super::host;

/// Substitute for WooCommerce: the cart of its Store API with the token of a new session, and its AJAX request for
/// fragments. The cart is that of a cookie.
const CARTS: &str = r"<?php
class Cases_Cart { function is_empty() { return empty($_COOKIE['woocommerce_items_in_cart']); } }
class Cases_Session { function has_session() { return isset($_COOKIE['wp_woocommerce_session_0']); } }
class Cases_Shop { public $cart, $session; }
function WC() {
    static $shop;
    if (!$shop) { $shop = new Cases_Shop(); $shop->cart = new Cases_Cart(); $shop->session = new Cases_Session(); }
    return $shop;
}
add_action('rest_api_init', function () {
    register_rest_route('wc/store/v1', '/cart', ['methods' => 'GET', 'permission_callback' => '__return_true', 'callback' => function () {
        $response = new WP_REST_Response(['items' => (int) !WC()->cart->is_empty()]);
        $response->header('Nonce', wp_create_nonce('wc_store_api'));
        $response->header('User-ID', get_current_user_id());
        $response->header('Cart-Token', bin2hex(random_bytes(8)));
        if (get_option('cases_limit')) $response->header('RateLimit-Limit', 25);
        return $response;
    }]);
});
add_action('template_redirect', function () {
    if ('get_refreshed_fragments' !== ($_GET['wc-ajax'] ?? '')) return;
    define('DONOTCACHEPAGE', true);
    nocache_headers();
    do_action('wc_ajax_get_refreshed_fragments');
    wp_send_json(['fragments' => wp_loginout('', false), 'by' => $_SERVER['REQUEST_METHOD'], 'time' => $_POST['time'] ?? '']);
}, 0);
";

const CART: &str = "/wp-json/wc/store/v1/cart";
const FRAGMENTS: &str = "/?wc-ajax=get_refreshed_fragments";

fn site() -> (WordPress, Server) {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/carts.php"), CARTS).expect("a plugin");
    let server = site.serve_with_plugin();
    (site, server)
}

/// Returns the request that a script of a page sends for the cart.
fn cart(server: &Server) -> Request {
    Request::get(CART)
        .host(&host(server))
        .field("Sec-Fetch-Site", "same-origin")
        .field("Content-Type", "application/json")
}

/// Returns the request that the widget of the cart sends.
fn fragments(server: &Server, body: &str) -> Request {
    Request::post(FRAGMENTS, body)
        .host(&host(server))
        .field("X-Requested-With", "XMLHttpRequest")
        .field("Content-Type", "application/x-www-form-urlencoded; charset=UTF-8")
}

/// Asserts that the response was generated for this request alone.
fn assert_by_php(answer: &Answer, name: &str, tokens: &mut HashSet<String>) {
    assert_eq!(answer.status, 200, "{name}");
    let token = answer.field("Cart-Token").unwrap_or_else(|| panic!("{name}: no token, {}", answer.cache()));
    assert!(tokens.insert(token.to_owned()), "{name}: a shared token");
}

#[test]
fn empty_cart_is_shared_without_the_token_of_a_session() {
    let (site, server) = site();
    let first = server.fetch(&cart(&server));
    assert_eq!((first.status, first.cache()), (200, "MISS"), "{}", first.text());
    let before = site.php_requests();
    let origin = format!("http://{}", host(&server));
    let referer = format!("{origin}/product/cup/");
    let plain = || Request::get(CART).host(&host(&server)).field("Content-Type", "application/json");
    for (name, request) in [
        ("again", cart(&server)),
        (
            "statistics",
            cart(&server)
                .field("Cookie", "sbjs_migrations=1418474375998%3D1; _ga=GA1.1; _ga_X=2; __stripe_mid=1"),
        ),
        ("without TLS", plain().field("Referer", &referer)),
    ] {
        let answer = server.fetch(&request);
        assert_eq!((answer.cache(), answer.text().as_str()), ("HIT", r#"{"items":0}"#), "{name}");
        assert_eq!(answer.field("Cart-Token"), None, "{name}");
        assert_eq!(answer.field("Nonce"), first.field("Nonce"), "{name}");
        let control = answer.field("Cache-Control").expect("a field");
        assert!(control.contains("no-store"), "{name}: {control}");
    }
    assert_eq!(site.php_requests(), before);
    let nonce = first.field("Nonce").expect("a nonce");
    let code = format!(
        "wp_set_current_user(0); echo wp_verify_nonce('{nonce}', 'wc_store_api'), ' ', wp_create_nonce('wp_rest');"
    );
    let checked = site.run_php(&host(&server), &code);
    let (is_valid, rest_nonce) = checked.split_once(' ').expect("two words");
    assert_eq!(is_valid, "1");
    let mut tokens = HashSet::new();
    for (name, request) in [
        ("an application", Request::get(CART).host(&host(&server)).field("Content-Type", "application/json")),
        ("another site", plain().field("Sec-Fetch-Site", "cross-site").field("Referer", &referer)),
        ("the page of another site", plain().field("Referer", "https://example.org/")),
        ("another script", Request::get(CART).host(&host(&server)).field("Sec-Fetch-Site", "same-origin")),
        ("a nonce", cart(&server).field("Nonce", nonce)),
        ("a nonce of WordPress", cart(&server).field("X-WP-Nonce", rest_nonce)),
        ("a token", cart(&server).field("Cart-Token", "x.y.z")),
        ("a currency", cart(&server).field("Cookie", "_ga=1; currency=CHF")),
        ("a session", cart(&server).field("Cookie", "wp_woocommerce_session_0=1")),
        ("a cart", cart(&server).field("Cookie", "woocommerce_items_in_cart=1")),
        ("arguments", {
            let target = format!("{CART}?_locale=site");
            Request::get(&target)
                .host(&host(&server))
                .field("Sec-Fetch-Site", "same-origin")
                .field("Content-Type", "application/json")
        }),
    ] {
        let answer = server.fetch(&request);
        assert_by_php(&answer, name, &mut tokens);
        assert_eq!(answer.text().contains(":1"), name == "a cart", "{name}");
    }
}

#[test]
fn fragments_of_the_empty_cart_are_shared_although_they_are_posted() {
    let (site, server) = site();
    let origin = format!("http://{}", host(&server));
    let request = |body: &str| fragments(&server, body).field("Origin", &origin);
    let first = server.fetch(&request("time=1732886400000"));
    assert_eq!((first.status, first.cache()), (200, "MISS"), "{}", first.text());
    assert!(first.text().contains(r#""by":"GET","time":"""#), "{}", first.text());
    assert!(!first.text().contains("mYr"), "no place for known visitors: {}", first.text());
    let before = site.php_requests();
    for body in ["time=1732886400001", ""] {
        let answer = server.fetch(&request(body));
        assert_eq!((answer.cache(), answer.text()), ("HIT", first.text()), "{body}");
        assert!(answer.field("Cache-Control").is_some_and(|value| value.contains("no-store")));
    }
    assert_eq!(site.php_requests(), before);
    for (name, request) in [
        ("another form", request("lang=de&time=12345")),
        ("a long form", request(&format!("time=1732886400000&{}", "x".repeat(200)))),
        ("a currency", request("time=1732886400000").field("Cookie", "currency=CHF")),
        ("a cart", request("time=1732886400000").field("Cookie", "woocommerce_items_in_cart=1")),
        ("another site", fragments(&server, "time=1732886400000").field("Origin", "https://example.org")),
        (
            "a form of a page",
            Request::post(FRAGMENTS, "time=1732886400000").host(&host(&server)).field("Origin", &origin),
        ),
    ] {
        let answer = server.fetch(&request);
        assert_eq!(answer.status, 200, "{name}");
        assert!(answer.text().contains(r#""by":"POST""#), "{name}: {}", answer.text());
    }
}

#[test]
fn carts_that_may_differ_between_visitors_are_not_shared() {
    let (site, server) = site();
    let mut tokens = HashSet::new();
    for (name, set) in [
        ("a limit of requests", "update_option('cases_limit', 1);"),
        (
            "the country by address",
            "update_option('cases_limit', 0); update_option('woocommerce_default_customer_address', 'geolocation_ajax');",
        ),
    ] {
        site.run_php(&host(&server), set);
        for _ in 0..3 {
            assert_by_php(&server.fetch(&cart(&server)), name, &mut tokens);
        }
    }
}
