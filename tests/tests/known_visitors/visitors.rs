//! Known visitors with Myriad: stored pages with personal fragments.

use std::fs;

use myriad_tests::{Answer, Request, Server, WordPress};

use super::{PREPARE, SHOWS, host, screenshot, seen};

/// Number of concurrent sessions.
const SESSIONS: usize = 50;

pub(crate) fn site() -> (WordPress, Server) {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/shows.php"), SHOWS).expect("a plugin");
    let server = site.serve_plugin_changed(|preset| patient(&preset));
    assert_eq!(site.run_php(&host(&server), PREPARE), "done");
    (site, server)
}

/// Returns the preset with a longer timeout for a loaded machine: by default a page is sent without its fragments after
/// ten seconds.
fn patient(preset: &str) -> String {
    let told = preset.replace("esi on;", "esi on; esi_timeout 60s;");
    assert_ne!(told, preset);
    told
}

/// Returns URLs of posts.
fn posts(site: &WordPress, server: &Server, count: usize) -> Vec<String> {
    let code = format!(
        "foreach (get_posts(['numberposts' => {count}]) as $post) echo parse_url(get_permalink($post), PHP_URL_PATH), ' ';"
    );
    site.run_php(&host(server), &code).split_whitespace().map(str::to_owned).collect()
}

/// Returns the page that PHP generates for a visitor now: the cookie bypasses the cache and changes nothing in the
/// page.
pub(crate) fn made(server: &Server, cookie: &str, target: &str) -> Answer {
    let answer = server
        .fetch(&Request::get(target).host(&host(server)).field("Cookie", &format!("{cookie}; NO_CACHE=1")));
    let said = || format!("{target}: {} {}\n{}", answer.status, answer.text(), server.read("error.log"));
    assert_eq!(answer.cache(), "BYPASS", "{}", said());
    answer
}

pub(crate) fn served(server: &Server, cookie: &str, target: &str) -> Answer {
    server.fetch(&Request::get(target).host(&host(server)).field("Cookie", cookie))
}

/// Creates readers, and returns the login cookie of each.
pub(crate) fn readers(site: &WordPress, server: &Server, count: usize) -> Vec<String> {
    let code = format!(
        "for ($number = 100; $number < 100 + {count}; $number++) {{ \
         $id = wp_insert_user(['user_login' => \"reader$number\", 'user_pass' => 'x', 'user_email' => \"r$number@example.org\", \
             'display_name' => \"The reader number $number\", 'role' => 'subscriber']); \
         $token = WP_Session_Tokens::get_instance($id)->create(time() + 86400); \
         echo LOGGED_IN_COOKIE, '=', rawurlencode(wp_generate_auth_cookie($id, time() + 86400, 'logged_in', $token)), ' '; }}"
    );
    site.run_php(&host(server), &code).split_whitespace().map(str::to_owned).collect()
}

#[test]
fn readers_get_stored_pages_that_look_as_phps_and_php_makes_parts_once() {
    let (site, server) = site();
    let cookie = readers(&site, &server, 1).remove(0);
    let mut targets = posts(&site, &server, 12);
    targets.extend(["/".to_owned(), "/about/".to_owned()]);
    for target in &targets {
        server.fetch(&Request::get(target).host(&host(&server)));
    }
    let before = site.php_requests();
    let pages: Vec<_> = targets.iter().map(|target| served(&server, &cookie, target)).collect();
    let asked = site.php_requests() - before;
    for (target, page) in targets.iter().zip(&pages) {
        assert_eq!((page.status, page.cache()), (200, "HIT"), "{target}");
        assert!(page.field("Cache-Control").is_some_and(|said| said.contains("private")), "{target}");
        let (page, made) = (page.text(), made(&server, &cookie, target).text());
        assert!(page.contains("The reader number 100") && !page.contains("esi:"), "{target}");
        assert_eq!(seen(&page), seen(&made), "{target}");
    }
    // Three of the fourteen pages: the first, the first with a form, and the page with a nonce and a link.
    assert!(asked <= 3, "{asked} of {}", targets.len());
    let (page, made) = (pages[0].text(), made(&server, &cookie, &targets[0]).text());
    assert_eq!(screenshot(&site, &server, &page, "cut"), screenshot(&site, &server, &made, "made"));
    // A change of a reader's name is visible immediately.
    let rename =
        "wp_update_user(['ID' => get_user_by('login', 'reader100')->ID, 'display_name' => 'Renamed']);";
    site.run_php(&host(&server), rename);
    let post = Request::post("/wp-comments-post.php", "").host(&host(&server)).field("Cookie", &cookie);
    server.fetch(&post);
    assert!(served(&server, &cookie, &targets[0]).text().contains("Renamed"));
}

#[test]
fn fifty_sessions_at_once_see_nothing_of_each_other() {
    let (site, server) = site();
    let cookies = readers(&site, &server, SESSIONS);
    assert_eq!(cookies.len(), SESSIONS);
    let targets = [posts(&site, &server, 5), vec!["/".to_owned(), "/about/".to_owned()]].concat();
    let key = |page: &str| {
        page.split("data-key=\"").nth(1).and_then(|rest| rest.split('"').next()).map(str::to_owned)
    };
    let keys = std::thread::scope(|scope| {
        let threads: Vec<_> = cookies
            .iter()
            .enumerate()
            .map(|(number, cookie)| {
                let (server, targets) = (&server, &targets);
                scope.spawn(move || {
                    let own = format!("The reader number {}", 100 + number);
                    let mut found = Vec::new();
                    for round in 0..3 {
                        for target in targets {
                            let answer = served(server, cookie, target);
                            assert_eq!(answer.status, 200, "{target}: {}", server.read("error.log"));
                            let page = answer.text();
                            let names: Vec<_> =
                                page.split("The reader number ").skip(1).map(|rest| &rest[..3]).collect();
                            assert!(!names.is_empty(), "{own} is not named on {target} in round {round}");
                            assert!(
                                names.iter().all(|name| own.ends_with(name)),
                                "{own} sees {names:?} on {target}"
                            );
                            found.extend(key(&page));
                        }
                        let nobody = server.fetch(&Request::get(&targets[round]).host(&host(server)));
                        assert!(
                            !nobody.text().contains("The reader number"),
                            "an anonymous visitor got a page with a reader's name"
                        );
                    }
                    found.dedup();
                    found
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a session")).collect::<Vec<_>>()
    });
    let mut all: Vec<_> = keys.iter().map(|own| own.first().expect("a nonce").clone()).collect();
    assert!(keys.iter().all(|own| own.len() == 1), "a session has one nonce");
    all.sort();
    all.dedup();
    assert_eq!(all.len(), SESSIONS, "sessions have different nonces");
}

#[test]
fn editors_commenters_and_pages_that_ask_are_as_before() {
    let (site, server) = site();
    let reader = readers(&site, &server, 1).remove(0);
    for target in ["/contact/", "/colophon/", "/secret/"] {
        server.fetch(&Request::get(target).host(&host(&server)));
        assert_eq!(served(&server, &reader, target).cache(), "BYPASS", "{target}");
    }
    // A request from the machine itself receives the reason.
    let answer = served(&server, &reader, "/contact/");
    let why = answer.field("Cache-Status").unwrap_or_default();
    assert!(why.contains("page not cut: is_user_logged_in in mu-plugins/shows.php"), "{why}");
    assert!(served(&server, &reader, "/contact/").text().contains("<p>Members</p>"));
    assert!(served(&server, &reader, "/colophon/").text().contains("<p>Readers</p>"));
    let mut editor = site.log_in(&server);
    for _ in 0..2 {
        let page = editor.get("/about/");
        assert_eq!(page.cache(), "BYPASS");
        assert!(page.text().contains("Edit Page") && page.text().contains("Visitors: "));
    }
    server.fetch(&Request::get("/about/").host(&host(&server)));
    assert_eq!(served(&server, &reader, "/about/").cache(), "HIT");
    // The admin bar shows how known visitors are served.
    assert!(editor.get("/about/").text().contains("Known visitors: the same, with "));
    let why = "is_user_logged_in in mu-plugins/shows.php";
    let shown = editor.get("/contact/").text();
    assert!(
        shown.contains(&format!("Known visitors: the same after comparisons with their own pages ({why}:")),
        "{shown}"
    );
    // Site Health checks the home page and the newest pages.
    let health = |code: &str| {
        site.run_php(
            &host(&server),
            &format!(
                "{code} $told = Myriad_Cache_Health::known(); echo $told['status'], $told['description'];"
            ),
        )
    };
    let told = health("");
    assert!(
        told.starts_with("recommended")
            && told.contains(why)
            && told.contains("(page): the page differs for subscriber"),
        "{told}"
    );
    let told = health(
        "Myriad_Cache_Callers::reset(); \
         foreach (get_posts(['post_type' => 'page', 'numberposts' => -1]) as $page) wp_delete_post($page->ID, true);",
    );
    assert!(told.starts_with("good") && told.contains("None of the tested pages"), "{told}");
    server.fetch(&Request::get("/").host(&host(&server)));
    let told = health("");
    assert!(told.starts_with("good") && told.contains("with private fragments"), "{told}");
}

/// Substitute for functions of WooCommerce, which is not installed: a cart and notices that depend on cookies.
const SHOP: &str = "<?php
    function wc_print_notices($is_returned = false) {
        $notices = isset($_COOKIE['woocommerce_cart_hash']) ? '<p>It is in your cart</p>' : '';
        if ($is_returned) return $notices;
        echo $notices;
    }
    function woocommerce_output_all_notices() { echo '<div class=\"woocommerce-notices-wrapper\">'; wc_print_notices(); echo '</div>'; }
    function woocommerce_mini_cart() {
        do_action('woocommerce_before_mini_cart');
        echo '<ul class=\"cart\">', esc_html($_COOKIE['woocommerce_cart_hash'] ?? 'nothing'), '</ul>';
        do_action('woocommerce_after_mini_cart');
    }
    add_action('woocommerce_before_single_product', 'woocommerce_output_all_notices', 10);
    add_action('wp_footer', function () { do_action('woocommerce_before_single_product'); woocommerce_mini_cart(); });";

/// Template made of blocks: it removes the notices from the action, and shows them in a block.
const BLOCKS_OF_SHOP: &str = "
    add_action('init', function () {
        register_block_type('woocommerce/store-notices', ['render_callback' => function () {
            ob_start(); woocommerce_output_all_notices(); return '<div class=\"notices-block\">' . ob_get_clean() . '</div>';
        }]);
    });
    add_filter('the_content', function ($content) {
        remove_action('woocommerce_before_single_product', 'woocommerce_output_all_notices', 10);
        return $content . do_blocks('<!-- wp:woocommerce/store-notices /-->');
    });";

#[test]
fn customers_see_notices_once_in_templates_made_of_blocks() {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/shop.php"), [SHOP, BLOCKS_OF_SHOP].concat())
        .expect("a plugin");
    let server = site.serve_plugin_changed(|preset| patient(&preset));
    let stored = server.fetch(&Request::get("/about/").host(&host(&server)));
    let plain = made(&server, "NO_CACHE=1", "/about/");
    assert_eq!(stored.text(), plain.text());
    let cookie = "woocommerce_items_in_cart=1; woocommerce_cart_hash=first; wp_woocommerce_session_0=first";
    let page = served(&server, cookie, "/about/");
    assert_eq!(page.cache(), "HIT");
    assert_eq!(page.text().matches("It is in your cart").count(), 1, "{}", page.text());
    assert_eq!(page.text(), made(&server, cookie, "/about/").text());
}

#[test]
fn customers_see_their_own_carts_and_notices_in_stored_pages() {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/shop.php"), SHOP).expect("a plugin");
    let server = site.serve_plugin_changed(|preset| patient(&preset));
    let stored = server.fetch(&Request::get("/about/").host(&host(&server)));
    assert!(stored.text().contains("<ul class=\"cart\">nothing</ul>"), "{}", stored.text());
    for cart in ["first", "second", "first"] {
        let cookie = format!(
            "woocommerce_items_in_cart=1; woocommerce_cart_hash={cart}; wp_woocommerce_session_0={cart}"
        );
        let page = served(&server, &cookie, "/about/");
        assert_eq!(page.cache(), "HIT");
        assert_eq!(page.text(), made(&server, &cookie, "/about/").text());
        assert!(page.text().contains(&format!("<ul class=\"cart\">{cart}</ul>")), "{cart}");
        assert!(page.text().contains("It is in your cart"), "{cart}");
    }
    assert_eq!(server.fetch(&Request::get("/about/").host(&host(&server))).content(), stored.content());
    // A customer without notices: PHP is not asked for notices at each page. Scheduled tasks are requested every 15 seconds.
    let cookie = "woocommerce_items_in_cart=1; wp_woocommerce_session_0=none";
    served(&server, cookie, "/about/");
    let before = site.php_requests();
    for _ in 0..20 {
        assert_eq!(served(&server, cookie, "/about/").cache(), "HIT");
    }
    assert!(site.php_requests() - before < 10, "{} requests for 20 pages", site.php_requests() - before);
}
