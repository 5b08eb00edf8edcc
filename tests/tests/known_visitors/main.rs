//! Known visitors: logged-in readers and commenters. Their response from the cache equals the response of PHP.

mod comparison;
mod empty_cart;
mod fragments;
mod nonces;
mod parts;
mod private_cart;
mod sessions;
mod shop;
mod shop_blocks;
mod visitors;

use std::fs;

use myriad_tests::chromium::load;
use myriad_tests::{Place, Server, Visitor, WordPress};

/// Plugin whose output depends on the visitor: a link to the login, a nonce.
pub(crate) const SHOWS: &str = "<?php
    add_action('wp_footer', function () {
        if (is_page('about')) echo '<p data-key=\"', wp_create_nonce('vote'), '\">A vote</p>';
        if (is_page('contact') && is_user_logged_in()) echo '<p>Members</p>';
        if (is_page('colophon') && current_user_can('read')) echo '<p>Readers</p>';
        if (is_page('secret')) define('DONOTCACHEPAGE', true);
    });";

pub(crate) const PREPARE: &str = "wp_update_post(['ID' => get_page_by_path('about')->ID, 'post_content' => '<!-- wp:loginout /-->']); \
    wp_insert_post(['post_type' => 'page', 'post_title' => 'secret', 'post_name' => 'secret', 'post_status' => 'publish']); \
    foreach (['rita', 'nobar'] as $name) wp_insert_user(['user_login' => $name, 'user_pass' => 'pass-of-it', 'user_email' => $name . '@example.org', \
        'display_name' => $name . ' & friends', 'role' => 'subscriber', 'show_admin_bar_front' => 'nobar' === $name ? 'false' : 'true']); echo 'done';";

pub(crate) fn host(server: &Server) -> String {
    format!("127.0.0.1:{}", server.port)
}

/// Returns the visible contents of a page: without the order of the head, of classes and scripts, comments, and the
/// logout redirect.
pub(crate) fn seen(page: &str) -> (Vec<String>, Vec<String>, String) {
    let mut text = page.to_owned();
    while let Some(from) = text.find("<!--") {
        let to = text[from..].find("-->").expect("the end of a comment");
        text.replace_range(from..from + to + 3, "");
    }
    while let Some(from) = text.find("redirect_to=") {
        let to = text[from..].find(['&', '"', '\'']).expect("the end of a link");
        text.replace_range(from..from + to, "");
    }
    let (head, body) = text.split_once("<body").expect("a body");
    let words = |text: &str| {
        let mut lines: Vec<_> =
            text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect();
        lines.sort();
        lines
    };
    let (attributes, body) = body.split_once('>').expect("the attributes of the body");
    let mut classes: Vec<_> =
        attributes.split(['"', ' ']).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    classes.sort();
    let (scripts, body): (Vec<_>, Vec<_>) =
        body.lines().partition(|line| line.trim_start().starts_with("<script src="));
    let mut all = words(head);
    all.extend(words(&scripts.join("\n")));
    let plain = body.join(" ").replace("> <", "><");
    (all, classes, plain.split_whitespace().collect::<Vec<_>>().join(" "))
}

pub(crate) fn log_in(server: &Server, name: &str) -> Visitor {
    let mut visitor = Visitor::new(server.port);
    visitor.get("/wp-login.php");
    let form = [("log", name), ("pwd", "pass-of-it"), ("wp-submit", "Log In"), ("testcookie", "1")];
    assert_eq!(visitor.post("/wp-login.php", &form).status, 302, "{name}");
    assert!(visitor.has_cookie("wordpress_logged_in_"), "{name}");
    visitor
}

/// Returns a browser screenshot of a page.
pub(crate) fn screenshot(site: &WordPress, server: &Server, page: &str, name: &str) -> Vec<u8> {
    let file = site.root().join(format!("{name}.html"));
    fs::write(&file, page).expect("a page");
    let place = Place::new();
    let picture = place.path("page.png");
    let options = [
        format!("--screenshot={}", picture.display()),
        "--window-size=1200,1600".to_owned(),
        "--hide-scrollbars".to_owned(),
    ];
    load(&place, &format!("http://{}/{name}.html", host(server)), &options, || 0);
    if let Some(folder) = std::env::var_os("MYRIAD_TEST_SCREENSHOTS") {
        fs::copy(&picture, std::path::Path::new(&folder).join(format!("{name}.png"))).expect("a copy");
    }
    fs::read(picture).expect("a picture")
}
