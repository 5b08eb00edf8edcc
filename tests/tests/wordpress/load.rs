//! Concurrent visitors, visitors who disconnect, and a PHP that dies.

use std::sync::Arc;

use myriad_tests::{Client, Gate, Load, Origin, Php, Place, Request, WordPress, all_at_once, wait_for};

use super::{browser, page, some_post, start};

#[test]
fn a_rush_on_a_new_page_costs_php_one_request() {
    let (site, server) = start();
    let target = format!("/slow.php/300/rush-{}", server.port);
    let answers = all_at_once(server.port, 200, &Request::get(&target));
    // PHP scripts that are called by name are not cached by the preset, or are cached pages: in both cases all requests
    // are answered.
    assert!(
        answers.iter().all(|answer| answer.status == 200 && answer.text().contains("rendered in 300 ms"))
    );
    let log = std::fs::read_to_string(site.root().join("../log/php-access.log")).unwrap_or_default();
    assert_eq!(log.lines().filter(|line| line.contains(&target)).count(), 1);
}

#[test]
fn requests_of_disconnected_visitors_use_no_php_child() {
    let site = WordPress::shared();
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    // Replacement of php-fpm that counts its requests, and responds when the test opens the gate.
    let php = Origin::start(move |call| {
        held.pass();
        let uri = call.uri().to_owned();
        call.answer("Content-Type: text/html", uri);
    });
    let (place, mut children) = (Place::new(), 0);
    let log = format!("http {{ error_log {} info;", place.path("said.log").display());
    let server = site.serve_changed(place, &php.address, |preset| {
        let (_, bound) = preset.split_once(" max_conns=").expect("a bound");
        children = bound.split(';').next().and_then(|text| text.parse().ok()).expect("a number");
        preset.replacen("http {", &log, 1)
    });
    let mut gone = Vec::new();
    for number in 0..200 {
        let mut visitor = server.connect();
        visitor.send(browser(&server, &format!("/aborted-{number}/")).bytes());
        gone.push(visitor);
    }
    php.wait_for(children);
    drop(gone);
    let ended = || server.read("said.log").matches("no client is waiting").count();
    wait_for("the fetches to end", || ended() == 200 - children);
    assert_eq!(php.count(), children, "an abandoned request was sent to PHP");
    gate.open();
    assert_eq!(page(&server, "/next/").text(), "/next/");
    assert_eq!(php.count(), children + 1);
}

#[test]
fn php_killed_under_load_fails_no_visitor() {
    let site = WordPress::shared();
    let mut place = Place::new();
    let mut php = Php::start(&mut place);
    let socket = place.path("php.sock").display().to_string();
    // A validity of a day would hide the effect: with a second, nearly every page is stale.
    let server = site.serve_changed(place, &socket, |preset| {
        let line = "fastcgi_cache_valid 200 301 302 308 1d;";
        assert!(preset.contains(line));
        preset.replace(line, "fastcgi_cache_valid 200 301 302 308 1s;")
    });
    let post = some_post(&server);
    let requests: Vec<_> =
        ["/", post.as_str(), "/about/", "/feed/"].map(|target| browser(&server, target)).into();
    for request in &requests {
        assert_eq!(server.fetch(request).status, 200);
    }
    let load = Load::start(server.port, 8, requests, |request, answer| {
        let right = answer.status == 200 && answer.text().contains("Ten Thousand Words");
        if right { Ok(()) } else { Err(format!("{request:?}: {}", answer.status)) }
    });
    load.wait_for(200);
    php.kill();
    let mut client = Client::connect(server.port);
    let home = browser(&server, "/");
    wait_for("stale pages", || matches!(client.fetch(&home).cache(), "STALE" | "UPDATING"));
    load.wait_for(1000);
    assert_eq!(client.fetch(&browser(&server, "/colophon/")).status, 502, "php-fpm is really gone");
    php.restart();
    let colophon = browser(&server, "/colophon/");
    wait_for("the page that has failed", || client.fetch(&colophon).status == 200);
    let (_, failures) = load.stop();
    assert!(failures.is_empty(), "{:?}", &failures[..failures.len().min(5)]);
}
