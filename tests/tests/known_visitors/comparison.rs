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
    /// Login cookie of a user with another role.
    patron: String,
}

impl Comparing {
    fn new() -> Self {
        let (site, server) = site();
        fs::write(site.root().join("wp-content/mu-plugins/reads.php"), READS).expect("a plugin");
        let readers = readers(&site, &server, 2);
        let patron = site.run_php(&host(&server), PAGES);
        Self { site, server, readers, patron }
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
    assert_eq!(page.field("X-Myriad-Visitor"), None, "not for clients");
    let told = all.site.run_php(&host(&all.server), "echo Myriad_Cache_Health::known()['description'];");
    assert!(told.contains("mu-plugins/reads.php:4 (page): the page differs for subscriber"), "{told}");
    assert_eq!(all.views("/link/", 20), ["BYPASS"; 20]);
    assert!(served(&all.server, &all.readers[0], "/link/").text().contains("action=logout"));
    all.anonymous("/closed/");
    assert_eq!(served(&all.server, &all.readers[0], "/closed/").status, 302);
    assert_eq!(all.views("/closed/", 20), ["BYPASS"; 20]);
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
