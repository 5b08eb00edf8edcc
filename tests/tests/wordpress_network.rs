//! Networks of sites ("multisite") on a real WordPress: the rules of the preset, the plugin active for all sites,
//! scheduled events of each site.

use std::fs;
use std::time::Duration;

use myriad_tests::{Answer, Request, Server, WordPress, wait_patiently_for};

const HOST: &str = "site.test";
const SECOND: &str = "second.site.test";

/// Scheduled event of the tests that records the site in which it ran.
const DUE: &str = "<?php add_action('due_in_a_test', function () { update_option('ran_in', (string) get_current_blog_id()); });";

fn fetch(server: &Server, host: &str, target: &str) -> Answer {
    server.fetch(&Request::get(target).host(host))
}

/// Requests pages twice, so that they are stored.
fn warm(server: &Server, pages: &[(&str, &str)]) {
    for (host, target) in pages {
        fetch(server, host, target);
        let answer = fetch(server, host, target);
        assert_eq!((answer.status, answer.cache()), (200, "HIT"), "{host}{target}");
    }
}

fn are_stored(server: &Server, pages: &[(&str, &str)]) -> bool {
    pages.iter().all(|(host, target)| fetch(server, host, target).cache() == "HIT")
}

/// Starts a network with a second site that has a post `of-the-second`, and a server with the plugin active for all
/// sites.
fn network(has_names: bool, names: &[&str]) -> (WordPress, Server) {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/due.php"), DUE).expect("a plugin");
    site.make_network_of(HOST, has_names);
    let (domain, path) = if has_names { (SECOND, "/") } else { (HOST, "/second/") };
    let second = format!(
        "echo wp_insert_site(['domain' => '{domain}', 'path' => '{path}', 'title' => 'Second', 'user_id' => 1]);"
    );
    assert_eq!(site.run_php(HOST, &second), "2");
    fs::create_dir_all(site.root().join("wp-content/blogs.dir/2/files/2012")).expect("a folder");
    fs::write(site.root().join("wp-content/blogs.dir/2/files/2012/old.txt"), "an upload of old")
        .expect("a file");
    assert_eq!(
        site.run_php(HOST, "echo (int) update_site_option('ms_files_rewriting', 1);"),
        "1",
        "an old network"
    );
    let server = site.serve_with_ordinary_plugin(names);
    let activates = "require_once ABSPATH . 'wp-admin/includes/plugin.php'; \
        echo activate_plugin('myriad-cache/myriad-cache.php', '', true) ?? 'active', is_plugin_active_for_network('myriad-cache/myriad-cache.php');";
    assert_eq!(site.run_php(HOST, activates), "active1");
    in_second(
        &site,
        "wp_insert_post(['post_title' => 'A post of the second', 'post_name' => 'of-the-second', 'post_status' => 'publish']); \
         update_option('permalink_structure', '/%postname%/'); global $wp_rewrite; $wp_rewrite->init(); delete_option('rewrite_rules');",
    );
    (site, server)
}

fn in_second(site: &WordPress, code: &str) -> String {
    site.run_php(HOST, &format!("switch_to_blog(2); {code} restore_current_blog();"))
}

/// Asserts that a change in each site leaves the pages of the other stored, and that the scheduled events of each run
/// there.
fn sites_are_apart(site: &WordPress, server: &Server, first: &[(&str, &str)], second: &[(&str, &str)]) {
    warm(server, &[first, second].concat());
    in_second(site, "wp_update_post(['ID' => 1, 'post_title' => 'Renamed there']);");
    assert!(are_stored(server, first), "the first site keeps its pages");
    assert!(fetch(server, second[0].0, second[0].1).text().contains("Renamed there"));
    warm(server, second);
    site.run_php(HOST, "update_option('blogname', 'First, renamed');");
    assert!(are_stored(server, second), "the second site keeps its pages");
    assert!(fetch(server, first[0].0, first[0].1).text().contains("First, renamed"));
    // All pages of one site, with the purge button of its editors.
    warm(server, first);
    in_second(site, "Myriad_Cache_Queue::add('s');");
    assert!(are_stored(server, first), "the first site keeps its pages");
    assert!(!are_stored(server, &second[..1]), "the page of the second site is purged");
    let schedules = "wp_schedule_single_event(time() - 5, 'due_in_a_test');";
    site.run_php(HOST, schedules);
    in_second(site, schedules);
    let ran =
        |number: u32| site.run_php(HOST, &format!("echo get_blog_option({number}, 'ran_in', 'not yet');"));
    for number in [1, 2] {
        let clock = || ran(number) == number.to_string();
        wait_patiently_for("what is due in each site", Duration::from_secs(90), clock);
    }
}

#[test]
fn subfolder_sites_are_isolated_and_share_one_wordpress_installation() {
    let (site, server) = network(false, &[]);
    let first = [(HOST, "/"), (HOST, "/about/")];
    let second = [(HOST, "/second/"), (HOST, "/second/of-the-second/")];
    assert_eq!(fetch(&server, HOST, "/of-the-second/").status, 404);
    let style = "wp-includes/css/dist/block-library/style.min.css";
    let answer = fetch(&server, HOST, &format!("/second/{style}?ver=6"));
    assert!(answer.body == fs::read(site.root().join(style)).expect("a file"));
    assert_eq!(fetch(&server, HOST, "/second/wp-login.php").status, 200);
    let slash = fetch(&server, HOST, "/second/wp-admin");
    assert!(slash.field("Location").is_some_and(|to| to.ends_with("/second/wp-admin/")), "{slash:?}");
    // Uploads of a site, and uploads of a network from before WordPress 3.5.
    let upload = site.root().join("wp-content/uploads/sites/2");
    fs::create_dir_all(&upload).expect("a folder");
    fs::write(upload.join("new.txt"), "an upload").expect("a file");
    assert_eq!(fetch(&server, HOST, "/second/wp-content/uploads/sites/2/new.txt").text(), "an upload");
    assert_eq!(fetch(&server, HOST, "/second/files/2012/old.txt").text(), "an upload of old");
    assert_eq!(fetch(&server, HOST, "/files/2012/old.txt").status, 404, "the first site has no such file");
    sites_are_apart(&site, &server, &first, &second);
    // A plugin that is activated for the network makes the comparisons of all sites invalid.
    let differs =
        "echo (int) Myriad_Cache_Callers::is_different(Myriad_Cache_Visitor::class_of(['a']), ['first']);";
    in_second(&site, "Myriad_Cache_Callers::add_different(['a'], ['first'], 'text');");
    site.run_php(HOST, "do_action('activated_plugin', 'of-the-first.php', false);");
    assert_eq!(in_second(&site, differs), "1");
    site.run_php(HOST, "do_action('activated_plugin', 'of-all.php', true);");
    assert_eq!(in_second(&site, differs), "0");
}

#[test]
fn sites_with_separate_domains_are_isolated() {
    let (site, server) = network(true, &["--name", HOST, "--name", "*.site.test"]);
    // The same paths with different pages.
    let first = [(HOST, "/"), (HOST, "/about/"), (HOST, "/feed/")];
    let second = [(SECOND, "/"), (SECOND, "/of-the-second/"), (SECOND, "/feed/")];
    assert!(fetch(&server, SECOND, "/").text().contains("A post of the second"));
    assert!(!fetch(&server, HOST, "/").text().contains("A post of the second"));
    assert_eq!(fetch(&server, HOST, "/of-the-second/").status, 404);
    assert_eq!(fetch(&server, SECOND, "/about/").status, 404);
    assert_eq!(fetch(&server, SECOND, "/files/2012/old.txt").text(), "an upload of old");
    sites_are_apart(&site, &server, &first, &second);
}
