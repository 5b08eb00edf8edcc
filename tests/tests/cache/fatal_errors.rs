//! Responses that are complete although the application failed: they are forwarded but not stored.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use myriad_tests::{Cached, Call, Gate, Origin, Php, Place, Request, wait_for};

use super::{see, seen, with};

const FATAL: &str =
    "PHP message: PHP Fatal error:  Uncaught Error: Call to undefined function a() in /a.php:1";

/// Sends half a page, then the error report of the application.
fn half(call: &mut Call, report: impl FnOnce(&mut Call)) {
    call.answer("Content-Type: text/plain", "half a ");
    report(call);
}

#[test]
fn response_after_a_fatal_error_is_passed_on_and_not_stored() {
    let (server, origin) = Cached::default().start(|call| {
        let target = call.uri().to_owned();
        half(call, |call| match (target.as_str(), call.number % 3) {
            (_, 0) => drop(call.send("page")),
            ("/status", _) => call.exit_with(1),
            ("/pieces", _) => FATAL.bytes().for_each(|byte| call.error(&char::from(byte).to_string())),
            ("/parse", _) => call.error("PHP Parse error:  syntax error, unexpected end of file"),
            _ => call.error(FATAL),
        });
    });
    for target in ["/fatal", "/status", "/pieces", "/parse"] {
        for _ in 0..2 {
            assert_eq!(see(&server, &Request::get(target)), ("MISS".into(), "half a ".into()), "{target}");
        }
        assert_eq!(see(&server, &Request::get(target)), ("MISS".into(), "half a page".into()), "{target}");
        assert_eq!(see(&server, &Request::get(target)), ("HIT".into(), "half a page".into()), "{target}");
    }
    assert_eq!(origin.count(), 12);
    server.log_has("upstream reported a fatal error");
}

#[test]
fn response_that_its_application_reports_as_incomplete_is_not_stored() {
    let (server, _origin) = Cached::default().start(|call| {
        let state = if call.number == 2 { "whole" } else { "incomplete" };
        let text = format!("page {}", call.number);
        call.answer(&format!("Content-Type: text/plain\nX-Myriad-State: {state}"), text);
    });
    for (cache, text) in [("MISS", "page 1"), ("MISS", "page 2"), ("HIT", "page 2")] {
        let answer = server.get("/a");
        assert_eq!((answer.cache(), answer.text().as_str()), (cache, text));
        assert_eq!(answer.field("X-Myriad-State"), None);
    }
}

#[test]
fn response_with_a_warning_is_stored() {
    let (server, origin) =
        with("fastcgi_cache_valid 200 1h; fastcgi_catch_stderr 'odd thing';").start(|call| {
            let target = call.uri().to_owned();
            half(call, |call| match target.as_str() {
                "/warned" => call.error("PHP message: PHP Warning:  PHP Fatal error: not really"),
                _ => call.error("PHP message: an odd thing"),
            });
        });
    assert!(super::is_stored(&server, &origin, &Request::get("/warned")));
    assert!(!super::is_stored(&server, &origin, &Request::get("/caught")), "fastcgi_catch_stderr");
}

#[test]
fn stored_page_stays_when_its_refresh_ends_fatally() {
    let fails = Arc::new(AtomicBool::new(false));
    let failing = Arc::clone(&fails);
    let rules = "fastcgi_cache_use_stale updating; fastcgi_cache_background_update on;";
    let (server, origin) = with(rules).start(move |call| {
        if failing.load(Ordering::SeqCst) {
            call.answer("Content-Type: text/plain\nX-Accel-Expires: 60", "half");
            return call.error(FATAL);
        }
        call.answer("Content-Type: text/plain\nX-Accel-Expires: 1", "whole");
    });
    server.get("/a");
    fails.store(true, Ordering::SeqCst);
    wait_for("a refresh that fails", || {
        assert_eq!(server.get("/a").text(), "whole");
        origin.finished() > 3
    });
    assert_eq!(server.get("/a").text(), "whole");
    fails.store(false, Ordering::SeqCst);
    wait_for("a refresh that succeeds", || server.get("/a").cache() == "HIT");
}

#[test]
fn clients_that_share_the_fetch_get_the_response_and_the_next_one_fetches_again() {
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let (server, _origin) = with("fastcgi_cache_valid 200 1h; fastcgi_cache_lock on;").start(move |call| {
        call.answer("Content-Type: text/plain", format!("half {}", call.number));
        held.pass();
        call.error(FATAL);
    });
    let mut clients: Vec<_> = (0..8).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send(Request::get("/a").bytes());
        // Each client reads the page while it arrives.
        client.until(|bytes| bytes.windows(6).any(|part| part == b"half 1"));
    }
    gate.open();
    for client in &mut clients {
        client.until(|bytes| bytes.ends_with(b"0\r\n\r\n"));
    }
    assert_eq!(seen(&server.get("/a")), ("MISS".into(), "half 2".into()));
}

#[test]
fn page_of_a_real_php_that_fails_half_way_is_whole_after_the_repair() {
    let mut place = Place::new();
    place.write(
        "html/index.php",
        "<?php ini_set('display_errors', '0'); ini_set('log_errors', '1'); while (ob_get_level()) ob_end_flush();
        echo '<body>', str_repeat('text ', 3000); flush();
        if (is_file(__DIR__ . '/broken')) no_such_function();
        echo '</body>';",
    );
    place.write("html/broken", "");
    let php = Php::start(&mut place);
    let address = place.fill("@PHP@");
    let server = "fastcgi_cache_valid 200 1h; fastcgi_param SCRIPT_FILENAME @DIR@/html/index.php;";
    let server = Cached { server, ..Cached::default() }.start_before(place, &address);
    let half = server.get("/");
    assert_eq!((half.status, half.text().ends_with("</body>")), (200, false));
    std::fs::remove_file(server.path("html/broken")).expect("a repair");
    for cache in ["MISS", "HIT"] {
        let whole = server.get("/");
        assert_eq!((whole.cache(), whole.text().ends_with("</body>")), (cache, true));
    }
    drop(php);
}

#[test]
fn response_after_a_fatal_error_becomes_no_file() {
    let origin = Origin::start(|call| {
        let fails = call.uri() == "/files/fatal.txt";
        half(call, |call| {
            if fails {
                call.error(FATAL);
            }
        });
    });
    let place = Place::new();
    place.write("html/files/.keep", "");
    let folder = place.path("html/files");
    std::fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .expect("permissions");
    let rules = "location /files/ { fastcgi_store on; fastcgi_cache off; fastcgi_pass @ORIGIN@; }";
    let server = with(rules).start_before(place, &origin.address);
    for (target, is_stored) in [("/files/fatal.txt", false), ("/files/whole.txt", true)] {
        assert_eq!(server.get(target).text(), "half a ", "{target}");
        assert_eq!(server.path(&format!("html{target}")).exists(), is_stored, "{target}");
    }
}
