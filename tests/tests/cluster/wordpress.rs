//! A cluster in front of one WordPress site: its plugin and its cron events.

use std::fs;

use myriad_tests::{Place, Request, Server, WordPress, wait_for};

use super::{Redis, SECRET, run_command, write_for_workers};

const HOST: &str = "shop.test";
/// Plugin that counts the runs of an event.
const EVENTS: &str = r"<?php
    add_action('myriad_test_event', function () { file_put_contents(ABSPATH . 'events', 'x', FILE_APPEND); });";

/// Starts a node of the cluster in front of the site.
fn start(site: &WordPress, redis: &Redis, node: Place, name: &str) -> Server {
    write_for_workers(&node, "cluster.secret", SECRET);
    node.write("cluster.node", name);
    site.serve_in(node, &["--cluster", &format!("redis://127.0.0.1:{}", redis.place.port)])
}

#[test]
fn plugin_purges_all_nodes_and_shows_their_receipts_and_events_run_once() {
    let (redis, site) = (Redis::start(), WordPress::alone());
    fs::write(site.root().join("wp-content/mu-plugins/events.php"), EVENTS).expect("a plugin");
    let places = [Place::new(), Place::new()];
    site.install_plugin(&places[0]);
    // As documented: the nodes share the hash of the plugin's secret.
    fs::create_dir_all(places[1].path("plugins")).expect("a folder");
    fs::copy(places[0].path("plugins/wordpress"), places[1].path("plugins/wordpress")).expect("copied");
    let [first, second] = places;
    let nodes = [start(&site, &redis, first, "web1"), start(&site, &redis, second, "web2")];
    wait_for("both nodes", || {
        nodes.iter().all(|node| run_command(node, &["cluster", "status"]).contains("2 of 2 nodes active"))
    });
    let get = |node: &Server| node.fetch(&Request::get("/about/").host(HOST));
    // The first page can be fetched before both nodes know each other's position.
    wait_for("a page of the other node", || {
        run_command(&nodes[0], &["purge", "--all"]);
        let before = site.php_requests();
        let texts = nodes.each_ref().map(|node| get(node).text());
        texts[0] == texts[1] && site.php_requests() - before == 1
    });
    for title in ["A new title", "Another title"] {
        site.run_php(
            HOST,
            &format!("wp_update_post(['ID' => get_page_by_path('about')->ID, 'post_title' => '{title}']);"),
        );
        for node in &nodes {
            assert!(get(node).text().contains(title), "{title}: {}", get(node).cache());
        }
    }
    let mut administrator = site.log_in(&nodes[0]);
    let screen = administrator.get("/wp-admin/options-general.php?page=myriad-cache").text();
    assert!(screen.contains("(applied on 2 of 2 nodes in "), "{screen}");
    site.run_php(HOST, "wp_schedule_single_event(time() - 1, 'myriad_test_event');");
    let runs = || fs::read(site.root().join("events")).map_or(0, |runs| runs.len());
    wait_for("the event", || runs() > 0);
    wait_for("its removal", || {
        site.run_php(HOST, "echo (int) wp_next_scheduled('myriad_test_event');").trim() == "0"
    });
    assert_eq!(runs(), 1);
}
