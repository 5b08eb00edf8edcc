//! Blocks of a shop for readers: the link to the account, the small cart, which scripts compute, and the order of notices.

use std::fs;

use myriad_tests::{Request, Server, WordPress};

use super::host;
use super::visitors::{made, readers, served, site};

/// Substitute for WooCommerce: the block with the link to the account, the data for scripts with the cart, texts and attributes that
/// scripts compute from it, and notices before another callback of the same priority. The cart of a user has as many items as the user's
/// number. A file reads the user without effect for the plugin; `wp` reads the user on each page.
const BLOCKS: &str = r#"<?php
namespace Automattic\WooCommerce\Blocks\Domain\Services {
    class Hydration { function get_rest_api_response_data($path) { return ['body' => \case_cart()]; } }
}
namespace Automattic\WooCommerce\Blocks {
    class Package { static function container() { return new self(); } function get($name) { return new $name(); } }
}
namespace {
    $file = WP_CONTENT_DIR . '/plugins/woocommerce/includes/class-wc-cart-case.php';
    if (!is_file($file)) { wp_mkdir_p(dirname($file)); file_put_contents($file, '<?php function case_user() { return get_current_user_id(); }'); }
    require_once $file;
    if (!function_exists('is_utf8_charset')) { function is_utf8_charset() { return true; } }
    function WC() { return (object) ['cart' => true, 'session' => null, 'customer' => null]; }
    function case_cart() { return ['items_count' => case_user()]; }
    function woocommerce_output_all_notices() { echo '<div class="woocommerce-notices-wrapper"></div>'; }
    function case_label() { return case_user() ? 'My Account' : 'Login'; }
    add_action('wp', function () { return is_user_logged_in(); });
    add_action('init', function () {
        register_block_type('woocommerce/customer-account', [
            'attributes' => ['displayStyle' => ['type' => 'string'], 'hasDropdownNavigation' => ['type' => 'boolean']],
            'render_callback' => function ($attributes) {
                $is_icon = 'icon_only' === ($attributes['displayStyle'] ?? '');
                return '<div><a class="link" href="/"' . ($is_icon ? ' aria-label="' . case_label() . '">' : '><span class="label">' . case_label() . '</span>') . '</a></div>';
            },
        ]);
    });
    add_shortcode('loop', function () { ob_start(); do_action('woocommerce_before_shop_loop'); return ob_get_clean(); });
    add_action('woocommerce_before_shop_loop', 'woocommerce_output_all_notices', 10);
    add_action('woocommerce_before_shop_loop', function () { echo '<form class="ordering"></form>'; }, 10);
    add_action('wp_footer', function () {
        if (!is_page(['small-cart', 'titled-cart'])) return;
        $count = case_user();
        $title = is_page('titled-cart') ? " title=\"$count\"" : '';
        echo "<button$title aria-label=\"$count items\"", $count ? '' : ' hidden', ' data-wp-bind--aria-label="state.label" data-wp-bind--hidden="!state.total">',
            "<span data-wp-text=\"state.total\">$count</span></button><ul><template data-wp-each=\"state.items\"><li></li></template>",
            $count ? '<li data-wp-each-child="a" class="item">A cup<ul><li>blue</li></ul></li>' : '', '</ul>';
        $data = ['config' => ['woocommerce/mini-cart' => ['a' => 1]], 'state' => ['woocommerce' => ['cart' => case_cart()],
            'woocommerce/mini-cart' => ['total' => $count, 'label' => (object) [], 'text' => "{$count} \"}\""]]];
        echo '<script type="application/json">', wp_json_encode(apply_filters('script_module_data_@wordpress/interactivity', $data), JSON_HEX_TAG | JSON_UNESCAPED_SLASHES), '</script>';
    });
}
"#;

/// Creates a site with pages of these names and contents; returns the login cookies of two readers, too.
fn shop(pages: &[(&str, &str)]) -> (WordPress, Server, Vec<String>) {
    let (site, server) = site();
    fs::write(site.root().join("wp-content/mu-plugins/blocks.php"), BLOCKS).expect("a plugin");
    for (name, content) in pages {
        site.run_php(
            &host(&server),
            &format!(
                "wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', 'post_title' => '{name}', 'post_name' => '{name}', \
                 'post_content' => '{content}']);"
            ),
        );
    }
    let readers = readers(&site, &server, 2);
    (site, server, readers)
}

/// Requests a page anonymously, and then as two readers in turn. Returns the anonymous page, and the last one for the first reader with
/// the state of the cache.
fn last_view(server: &Server, readers: &[String], target: &str) -> (String, String, String) {
    let anonymous = server.fetch(&Request::get(target).host(&host(server))).text();
    for cookie in readers.iter().cycle().take(8) {
        served(server, cookie, target);
    }
    let page = served(server, &readers[0], target);
    (anonymous, page.text(), page.cache().to_owned())
}

#[test]
fn label_of_the_link_to_the_account_is_a_fragment() {
    let block = |attributes: &str| format!("<!-- wp:woocommerce/customer-account {attributes} /-->");
    let icon = block(r#"{"displayStyle":"icon_only"}"#);
    let menu = block(r#"{"hasDropdownNavigation":true}"#);
    let (_site, server, readers) = shop(&[("icon", &icon), ("text", &block("")), ("menu", &menu)]);
    for (target, anonymous, known) in [
        ("/icon/", "aria-label=\"Login\"", "aria-label=\"My Account\""),
        ("/text/", "<span class=\"label\">Login</span>", "<span class=\"label\">My Account</span>"),
    ] {
        let (page, own, cache) = last_view(&server, &readers, target);
        assert!(page.contains(anonymous) && !page.contains("My Account"), "{page}");
        assert!(own.contains(known) && !own.contains(anonymous), "{own}");
        assert_eq!(cache, "HIT", "{target}");
        assert_eq!(super::seen(&own), super::seen(&made(&server, &readers[0], target).text()), "{target}");
    }
    let (_, own, cache) = last_view(&server, &readers, "/menu/");
    assert!(own.contains("My Account") && cache == "BYPASS", "{cache} {own}");
}

#[test]
fn values_that_scripts_compute_from_the_cart_may_differ_and_others_may_not() {
    let (_site, server, readers) = shop(&[("small-cart", ""), ("titled-cart", "")]);
    let (page, own, cache) = last_view(&server, &readers, "/small-cart/");
    assert!(page.contains(r#""items_count":0"#), "{page}");
    assert_eq!(cache, "HIT");
    let data = |page: &str| page.split(r#""items_count":"#).nth(1).expect("a cart")[..6].to_owned();
    let expected = data(&made(&server, &readers[0], "/small-cart/").text());
    assert_ne!(expected, data(&page));
    assert_eq!(data(&own), expected, "{own}");
    assert_ne!(
        data(&served(&server, &readers[1], "/small-cart/").text()),
        expected,
        "each reader has a different cart"
    );
    assert_eq!(
        last_view(&server, &readers, "/titled-cart/").2,
        "BYPASS",
        "an attribute that scripts do not compute"
    );
}

#[test]
fn notices_of_a_shop_keep_their_place_among_callbacks_of_the_same_priority() {
    let (_site, server, readers) = shop(&[("loop", "[loop]")]);
    let (page, own, cache) = last_view(&server, &readers, "/loop/");
    assert_eq!(cache, "HIT");
    for page in [page, own] {
        let wrapper = page.find("woocommerce-notices-wrapper").expect("notices");
        assert!(wrapper < page.find("class=\"ordering\"").expect("the form"), "{page}");
    }
}
