//! Fragments that scripts of a shop replace when the cart changes: known visitors get stored pages with their own ones.

use std::fs;

use myriad_tests::{Request, Server, WordPress};

use super::visitors::{made, readers, served, site};
use super::{host, seen};

/// Substitute for WooCommerce and a theme, which registers fragments. The number of items in a user's cart is the user's number.
///
/// The pages differ in what the theme prints: `linked` a fragment as registered, `inner` a fragment inside of its element and the same text elsewhere,
/// `altered` a fragment in other words, `twice` a fragment and the number of items at another place of the code, `late` a fragment that is registered
/// only when a page is selected.
const THEME: &str = r#"<?php
$file = WP_CONTENT_DIR . '/plugins/woocommerce/includes/class-wc-cart-case.php';
if (!is_file($file)) {
    wp_mkdir_p(dirname($file));
    file_put_contents($file, '<?php class Case_Cart {
        function get_cart() { return apply_filters("woocommerce_get_cart_contents", ["item" => ["quantity" => get_current_user_id()]]); }
        function count() { return array_sum(wp_list_pluck($this->get_cart(), "quantity")); }
        function get_coupons() { return []; }
    }');
}
define('WC_ABSPATH', WP_CONTENT_DIR . '/plugins/woocommerce/');
require_once $file;
function WC() { static $shop; $shop = $shop ?: (object) ['cart' => new Case_Cart(), 'session' => null, 'customer' => null]; return $shop; }
function case_link() {
    return "<a class=\"cart-contents\" href=\"/cart/\">\n\t" . WC()->cart->count() . ' items</a>';
}
function case_count() { return '<span class="count">' . WC()->cart->count() . '</span>'; }
function case_late() { return '<i id="late">' . WC()->cart->count() . '</i>'; }
add_filter('woocommerce_add_to_cart_fragments', function ($all) {
    if (!get_option('case_inner')) $all['a.cart-contents'] = case_link();
    if (get_option('case_inner')) $all['.site-cart .count'] = case_count();
    return $all;
});
add_action('wp', function () {
    if (is_page('late')) add_filter('woocommerce_add_to_cart_fragments', function ($all) { $all['#late'] = case_late(); return $all; });
});
add_action('wp_footer', function () {
    if (is_page(['linked', 'twice', 'late'])) echo '<header>', case_link(), '</header>';
    if (is_page('altered')) echo '<header>', str_replace('<a ', '<a rel="nofollow" ', case_link()), '</header>';
    if (is_page('twice')) echo '<b>', WC()->cart->count(), ' cups</b>';
    if (is_page('late')) echo case_late();
    if (is_page('inner')) echo '<p>Of all: <span class="count">0</span></p><ul class="site-cart big"><li><em>Cart</em></li><li>', case_count(), '</li></ul>',
        '<p>Again: <span class="count">0</span></p>';
});
"#;

const NAMES: &str = "linked inner altered twice late";

fn shop() -> (WordPress, Server, Vec<String>) {
    let (site, server) = site();
    fs::write(site.root().join("wp-content/mu-plugins/fragments.php"), THEME).expect("a plugin");
    let pages = format!(
        "foreach (explode(' ', '{NAMES}') as $name) wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', \
         'post_title' => $name, 'post_name' => $name]);"
    );
    site.run_php(&host(&server), &pages);
    let readers = readers(&site, &server, 2);
    (site, server, readers)
}

fn anonymous(server: &Server, target: &str) -> String {
    server.fetch(&Request::get(target).host(&host(server))).text()
}

/// Requests a page as two customers in turn, eight times; asserts that each page is equal to PHP's. Returns the states of the cache.
fn views(server: &Server, readers: &[String], target: &str) -> Vec<String> {
    let view = |cookie: &String| {
        let page = served(server, cookie, target);
        let (text, expected) = (page.text(), made(server, cookie, target).text());
        assert_eq!(seen(&text), seen(&expected), "{target} {}", page.cache());
        assert!(!text.contains("mYr") && !text.contains("mYo") && !text.contains("esi:"), "{text}");
        page.cache().to_owned()
    };
    readers.iter().cycle().take(8).map(view).collect()
}

#[test]
fn registered_fragment_is_a_part_of_the_stored_page() {
    let (site, server, readers) = shop();
    assert!(anonymous(&server, "/linked/").contains("\t0 items</a>"));
    assert_eq!(views(&server, &readers, "/linked/"), ["HIT"; 8], "no comparison is necessary");
    let before = site.php_requests();
    for cookie in readers.iter().cycle().take(6) {
        let page = served(&server, cookie, "/linked/").text();
        assert!(page.contains(" items</a>") && !page.contains("\t0 items</a>"), "{page}");
    }
    assert_eq!(site.php_requests(), before);
    // A fragment that other code has changed is in no page as registered.
    for target in ["/altered/", "/twice/", "/late/"] {
        anonymous(&server, target);
        assert_eq!(views(&server, &readers, target), ["BYPASS"; 8], "{target}");
    }
}

#[test]
fn selector_of_a_fragment_may_name_the_element_around_it() {
    let (site, server, readers) = shop();
    site.run_php(&host(&server), "update_option('case_inner', 1);");
    let page = anonymous(&server, "/inner/");
    assert_eq!(page.matches("<span class=\"count\">0</span>").count(), 3, "{page}");
    assert_eq!(views(&server, &readers, "/inner/"), ["HIT"; 8]);
    let page = served(&server, &readers[0], "/inner/").text();
    assert_eq!(page.matches("<span class=\"count\">0</span>").count(), 2, "{page}");
}

#[test]
fn fragments_are_parts_of_pages_that_are_compared_too() {
    let (site, server, readers) = shop();
    let reads = "<?php add_action('wp', function () { return is_user_logged_in(); });";
    fs::write(site.root().join("wp-content/mu-plugins/reads.php"), reads).expect("a plugin");
    anonymous(&server, "/linked/");
    let views = views(&server, &readers, "/linked/");
    assert_eq!((&views[0][..], &views[7][..]), ("BYPASS", "HIT"), "{views:?}");
}
