//! States of a site and its pages that the plugin reports: closed for maintenance, truncated, different on phones.

use std::fs;

use myriad_tests::{Answer, Request, Server, WordPress, wait_for};

/// Plugins, each enabled by a file in the document root.
const PLUGIN: &str = r"<?php
    // As LightStart and Elementor do it.
    add_action('template_redirect', function () {
        get_option('wpmm_settings');
        if (!is_file(ABSPATH . 'closed')) return;
        status_header(503);
        header('Retry-After: 600');
        exit('<html><body>We are back soon</body></html>');
    }, 11);
    // PHP behind a balancer that has no server left.
    if (is_file(ABSPATH . 'failing')) { header('HTTP/1.1 503 Service Unavailable'); exit('overloaded'); }
    add_action('wp_body_open', function () {
        if (is_page('about') && is_file(ABSPATH . 'dying')) exit;
    });
    add_action('wp_footer', function () {
        if (is_page('about')) echo wp_is_mobile() ? '<p>For telephones</p>' : '<p>For computers</p>';
        if (is_page('contact') && is_file(ABSPATH . 'detecting')) eval('class Mobile_Detect {}');
    });";

const PAGES: [&str; 4] = ["/", "/about/", "/contact/", "/the-orchard-by-the-river/"];
const PHONE: &str =
    "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 Chrome/126.0 Mobile Safari/537.36";

struct Site {
    site: WordPress,
    server: Server,
}

impl Site {
    fn start() -> Self {
        let site = WordPress::alone();
        fs::write(site.root().join("wp-content/mu-plugins/states.php"), PLUGIN).expect("a plugin");
        let server = site.serve_with_plugin();
        Self { site, server }
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.server.port)
    }

    fn get(&self, target: &str) -> Answer {
        self.server.fetch(&Request::get(target).host(&self.host()))
    }

    fn by_phone(&self, target: &str) -> Answer {
        self.server.fetch(&Request::get(target).host(&self.host()).field("User-Agent", PHONE))
    }

    fn switch(&self, name: &str, is_on: bool) {
        let file = self.site.root().join(name);
        if is_on { fs::write(file, "") } else { fs::remove_file(file) }.expect("a switch");
    }

    /// Saves the settings of a plugin, like an administrator.
    fn save_settings(&self, value: u8) {
        let before = "$_SERVER = ['REQUEST_METHOD' => 'POST'] + $_SERVER;";
        let code = format!("update_option('wpmm_settings', 'changed {value}');");
        self.site.run_php_after(&self.host(), before, &code);
    }

    fn warm(&self) {
        for target in PAGES {
            // After a failure a page is not fetched for some seconds.
            wait_for("a stored page", || self.get(target).cache() == "HIT");
        }
    }

    #[track_caller]
    fn are(&self, status: u16, text: &str) {
        for target in PAGES {
            let answer = self.get(target);
            assert_eq!(answer.status, status, "{target}: {}", answer.cache());
            assert!(answer.text().contains(text), "{target}: {}", answer.text());
            assert_eq!(answer.field("X-Myriad-State"), None, "{target}");
        }
    }
}

#[test]
fn maintenance_is_shown_on_every_url_and_a_failure_is_not() {
    let site = Site::start();
    site.warm();
    // PHP fails: invalidated pages are served.
    site.save_settings(1);
    site.switch("failing", true);
    site.are(200, "<html");
    site.switch("failing", false);
    site.warm();
    // A plugin closes the site, after an administrator has saved its settings.
    site.switch("closed", true);
    site.save_settings(2);
    site.are(503, "We are back soon");
    site.switch("closed", false);
    site.are(200, "<html");
    site.warm();
    // WordPress closes the site during an update, which only a request reveals.
    fs::write(site.site.root().join(".maintenance"), "<?php $upgrading = time();").expect("a file");
    assert_eq!(site.get("/?page_id=999").status, 503);
    site.are(503, "Briefly unavailable");
    fs::remove_file(site.site.root().join(".maintenance")).expect("the file is removed");
    site.are(200, "<html");
    // After "Purge all pages" no page can replace the response of PHP.
    site.warm();
    let mut editor = site.site.log_in(&site.server);
    let screen = editor.get("/wp-admin/options-general.php?page=myriad-cache").text();
    let link = screen.split("class=\"button\" href=\"").nth(1).and_then(|rest| rest.split('"').next());
    let link = link.expect("a button").replace("&#038;", "&").replace("&amp;", "&");
    let target = link.strip_prefix(&format!("http://{}", site.host())).expect("a link of the site");
    let answer = editor.get(target);
    assert!(answer.field("Location").is_some_and(|to| to.contains("myriad-purged=")), "{answer:?}");
    site.switch("failing", true);
    site.are(503, "overloaded");
}

#[test]
fn page_that_ends_in_its_middle_is_not_stored() {
    let site = Site::start();
    site.switch("dying", true);
    for _ in 0..2 {
        let half = site.get("/about/");
        assert_eq!((half.status, half.cache()), (200, "MISS"));
        assert!(!half.text().contains("</body>"));
    }
    site.switch("dying", false);
    assert!(site.get("/about/").text().contains("</body>"));
    assert_eq!(site.get("/about/").cache(), "HIT");
    // The stored page remains.
    site.switch("dying", true);
    site.site.run_php(&site.host(), "Myriad_Cache_Queue::add('s');");
    assert!(!site.get("/about/").text().contains("</body>"));
    site.switch("failing", true);
    let stale = site.get("/about/");
    assert_eq!((stale.status, stale.cache(), stale.text().contains("</body>")), (200, "STALE", true));
}

#[test]
fn page_that_checks_device_is_stored_per_device_class() {
    let site = Site::start();
    for (asked, text) in [(false, "For computers"), (true, "For telephones"), (false, "For computers")] {
        for cache in ["MISS", "HIT"] {
            let answer = if asked { site.by_phone("/about/") } else { site.get("/about/") };
            assert!(answer.text().contains(&format!("<p>{text}</p>")), "{}", answer.text());
            assert!(answer.all("Vary").any(|names| names.contains("User-Agent")), "{:?}", answer.fields);
            assert!(answer.cache() == cache || answer.cache() == "HIT", "{}", answer.cache());
        }
    }
    assert_eq!(site.by_phone("/about/").cache(), "HIT");
    // Other pages are shared by all devices, unless a device detection library is loaded.
    site.get("/contact/");
    assert_eq!(site.by_phone("/contact/").cache(), "HIT");
    site.switch("detecting", true);
    site.site.run_php(&site.host(), "Myriad_Cache_Queue::add('s');");
    let answer = site.by_phone("/contact/");
    assert!(answer.all("Vary").any(|names| names.contains("User-Agent")), "{:?}", answer.fields);
}
