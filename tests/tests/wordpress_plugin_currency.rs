//! Pages of shops that depend on the country or the currency of the visitor. WooCommerce and currency switchers are imitated.

use myriad_tests::{Answer, Request, Server, WordPress};

const HOST: &str = "site.test";
/// Addresses of a visitor in Switzerland and of one in Britain.
const SWISS: &str = "198.51.100.7";
const BRITISH: &str = "203.0.113.9";

/// WooCommerce's geolocation, and prices with the taxes of the country. The file is in WooCommerce's folder.
const SHOP: &str = r"<?php
class WC_Geolocation {
    static function geolocate_ip($address = '', $fallback = false, $api_fallback = true) {
        $country = apply_filters('woocommerce_geolocate_ip', false, $address, $fallback, $api_fallback);
        if ($country === false) $country = $_SERVER['HTTP_CF_IPCOUNTRY'] ?? (strpos($_SERVER['REMOTE_ADDR'], '198.51.100.') === 0 ? 'CH' : 'GB');
        return ['country' => $country];
    }
}
function case_country() {
    static $country = null;
    if ($country === null) $country = get_option('woocommerce_default_customer_address') === 'base' ? 'GB' : WC_Geolocation::geolocate_ip('', true, false)['country'];
    return $country;
}
add_action('init', 'case_country');
add_shortcode('price', function () { return 'taxes of ' . apply_filters('woocommerce_get_tax_location', [case_country(), '', '', ''])[0]; });
add_action('template_redirect', function () {
    $hash = md5(case_country());
    if (get_option('woocommerce_default_customer_address') === 'geolocation_ajax' && ($_GET['v'] ?? '') !== $hash) {
        wp_safe_redirect(add_query_arg('v', $hash), 307);
        exit;
    }
});
";

/// Plugins: one determines the country itself; WOOCS stores the currency by address; CURCY sets a cookie.
const PLUGINS: &str = r"<?php
add_action('plugins_loaded', function () { require WP_PLUGIN_DIR . '/woocommerce/case.php'; });
add_shortcode('zone', function () { return 'zone ' . WC_Geolocation::geolocate_ip()['country']; });
add_shortcode('money', function () { return 'money ' . apply_filters('woocommerce_currency', 'GBP'); });
if (get_option('case_switcher') === 'woocs') {
    class WOOCS {
        public $default_currency = 'GBP', $current_currency;
        function __construct() {
            $key = 'case_' . md5($_SERVER['REMOTE_ADDR'] ?? '');
            if (isset($_GET['currency'])) set_transient($key, $_GET['currency'], 3600);
            $this->current_currency = get_transient($key) ?: $this->default_currency;
        }
    }
    $WOOCS = new WOOCS();
    add_filter('woocommerce_currency', function () { return $GLOBALS['WOOCS']->current_currency; });
}
if (get_option('case_switcher') === 'curcy') {
    class WOOMULTI_CURRENCY_F_Data {}
    add_action('init', function () {
        if (get_option('woo_multi_currency_params')['auto_detect'] && !isset($_COOKIE['wmc_current_currency']) && !isset($_GET['doing_wp_cron'])) {
            $_COOKIE['wmc_current_currency'] = strpos($_SERVER['REMOTE_ADDR'], '198.51.100.') === 0 ? 'CHF' : 'GBP';
            setcookie('wmc_current_currency', $_COOKIE['wmc_current_currency'], 0, '/');
        }
    }, 1);
    add_filter('woocommerce_currency', function ($currency) { return $_COOKIE['wmc_current_currency'] ?? $currency; });
}
";

/// Creates the site, and a page for each shortcode.
fn shop(location: &str, switcher: &str) -> WordPress {
    let site = WordPress::alone();
    site.write("wp-content/plugins/woocommerce/case.php", SHOP);
    let code = format!(
        "foreach (['price', 'zone', 'money', 'plain'] as $name) wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', \
         'post_title' => 'Case', 'post_name' => \"case-$name\", 'post_content' => \"[$name]\"]); \
         update_option('woocommerce_default_customer_address', '{location}'); update_option('case_switcher', '{switcher}'); \
         update_option('woo_multi_currency_params', ['auto_detect' => 0]);"
    );
    site.run_php(HOST, &code);
    site.write("wp-content/mu-plugins/a-shop.php", PLUGINS);
    site
}

/// Starts Myriad with settings; it trusts the address of visitors in `X-Forwarded-For`.
fn serve(site: &WordPress, settings: &[&str]) -> Server {
    let proxy = "set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For;";
    site.serve_plugin_set(settings, |preset| {
        assert!(preset.contains("shared_fetch_headers on;"));
        preset.replace("shared_fetch_headers on;", &format!("shared_fetch_headers on; {proxy}"))
    })
}

fn ask(server: &Server, target: &str, address: &str, fields: &[(&str, &str)]) -> Answer {
    let request = Request::get(target).host(HOST).field("X-Forwarded-For", address);
    server.fetch(&fields.iter().fold(request, |request, (name, value)| request.field(name, value)))
}

/// Requests a page twice as each of two visitors, and checks what both see; returns the cache status of the last response.
fn seen(server: &Server, target: &str, expected: [&str; 2]) -> String {
    let mut last = String::new();
    for _ in 0..2 {
        for (address, text) in [SWISS, BRITISH].into_iter().zip(expected) {
            let answer = ask(server, target, address, &[]);
            assert!(
                answer.text().contains(text),
                "{target}: {address} must see {text:?}: {}",
                answer.cache()
            );
            answer.cache().clone_into(&mut last);
        }
    }
    last
}

#[test]
fn prices_for_the_country_of_the_visitor_are_not_stored_for_others() {
    let site = shop("geolocation", "");
    let server = serve(&site, &[]);
    assert_ne!(seen(&server, "/case-price/", ["taxes of CH", "taxes of GB"]), "HIT");
    assert_ne!(seen(&server, "/case-zone/", ["zone CH", "zone GB"]), "HIT");
    assert_eq!(seen(&server, "/case-plain/", ["[plain]", "[plain]"]), "HIT", "a page without prices");
    site.run_php(HOST, "update_option('woocommerce_default_customer_address', 'base');");
    assert_eq!(
        seen(&server, "/case-price/", ["taxes of GB", "taxes of GB"]),
        "HIT",
        "all visitors pay the taxes of the shop's country"
    );
}

#[test]
fn pages_with_the_location_in_their_address_are_stored_for_each_location() {
    let site = shop("geolocation_ajax", "");
    let server = serve(&site, &[]);
    for (address, text) in [(SWISS, "taxes of CH"), (BRITISH, "taxes of GB"), (SWISS, "taxes of CH")] {
        let answer = ask(&server, "/case-price/", address, &[]);
        assert_eq!((answer.status, answer.cache() == "HIT"), (307, false), "{address}");
        let target = answer.field("location").expect("a target").replace(&format!("http://{HOST}"), "");
        assert!(ask(&server, &target, address, &[]).text().contains(text), "{address}: {target}");
        assert_eq!(ask(&server, &target, address, &[]).cache(), "HIT", "{address}");
    }
}

#[test]
fn country_in_the_key_gives_each_country_its_stored_page() {
    let site = shop("geolocation", "");
    let server = serve(&site, &["vary_country=CF-IPCountry:CH+GB"]);
    for _ in 0..2 {
        for (country, text) in [("CH", "taxes of CH"), ("GB", "taxes of GB")] {
            let answer = || ask(&server, "/case-price/", BRITISH, &[("CF-IPCountry", country)]);
            assert!(answer().text().contains(text), "{country}");
            assert_eq!(answer().cache(), "HIT", "{country}");
        }
    }
    // A country that is not listed is that of the address, and its page is not stored.
    for (address, text) in [(SWISS, "taxes of CH"), (BRITISH, "taxes of GB"), (SWISS, "taxes of CH")] {
        let answer = ask(&server, "/case-price/", address, &[("CF-IPCountry", "FR")]);
        assert!(answer.text().contains(text), "{address}: {}", answer.text());
        assert_ne!(answer.cache(), "HIT", "{address}");
    }
}

#[test]
fn currency_that_is_stored_by_address_is_not_stored_for_others() {
    let site = shop("base", "woocs");
    let server = serve(&site, &[]);
    seen(&server, "/case-money/", ["money GBP", "money GBP"]);
    ask(&server, "/case-plain/?currency=EUR", SWISS, &[]);
    assert_ne!(seen(&server, "/case-money/", ["money EUR", "money GBP"]), "HIT");
    assert_eq!(seen(&server, "/case-plain/", ["[plain]", "[plain]"]), "HIT");
    site.run_php(HOST, "update_option('woocs_shop_is_cached', 1);");
    assert_eq!(
        seen(&server, "/case-money/", ["money GBP", "money GBP"]),
        "HIT",
        "a script inserts the prices"
    );
}

#[test]
fn currency_in_a_cookie_is_sent_to_php_unless_the_key_contains_it() {
    let site = shop("base", "curcy");
    let currency = |server: &Server, value: &str| {
        let answer =
            ask(server, "/case-money/", SWISS, &[("Cookie", &format!("wmc_current_currency={value}"))]);
        assert!(answer.text().contains(&format!("money {value}")), "{value}: {}", answer.cache());
        answer.cache().to_owned()
    };
    let server = serve(&site, &[]);
    assert_eq!(seen(&server, "/case-money/", ["money GBP", "money GBP"]), "HIT");
    for _ in 0..2 {
        assert_eq!(
            (currency(&server, "EUR"), currency(&server, "CHF")),
            ("BYPASS".to_owned(), "BYPASS".to_owned())
        );
    }
    drop(server);
    let server = serve(&site, &["vary_cookies=wmc_current_currency:EUR+GBP"]);
    assert_eq!(seen(&server, "/case-money/", ["money GBP", "money GBP"]), "HIT");
    currency(&server, "EUR");
    assert_eq!(currency(&server, "EUR"), "HIT");
    assert_eq!(currency(&server, "CHF"), "BYPASS", "a value that the key does not contain");

    site.run_php(HOST, "update_option('woo_multi_currency_params', ['auto_detect' => 1]);");
    assert_ne!(
        seen(&server, "/case-money/", ["money CHF", "money GBP"]),
        "HIT",
        "the currency is chosen by address"
    );
    currency(&server, "EUR");
    assert_eq!(currency(&server, "EUR"), "HIT");
}
