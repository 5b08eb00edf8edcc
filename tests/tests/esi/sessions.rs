//! Fifty concurrent sessions with a real PHP: no session receives a byte of another.

use std::thread;

use myriad_tests::{Client, Php, Place, Request, Server};

use super::RULES;

const APPLICATION: &str = r#"<?php
$who = $_COOKIE['wordpress_logged_in_1'] ?? '';
if ($_SERVER['REQUEST_METHOD'] === 'POST') {
    file_put_contents(__DIR__ . '/../state/' . md5($who), (string) (1 + (int) @file_get_contents(__DIR__ . '/../state/' . md5($who))));
    exit('changed');
}
$count = (int) @file_get_contents(__DIR__ . '/../state/' . md5($who));
if (isset($_GET['part'])) {
    header('Content-Type: application/x-myriad-fragments');
    header('Cache-Control: private, max-age=60');
    foreach (explode(',', $_GET['part']) as $name) {
        $text = "<b>$name|$who|$count</b>";
        echo $name, ' ', strlen($text), "\n", $text, "\n";
    }
    exit;
}
$page = strtok($_SERVER['REQUEST_URI'], '?');
if ($who !== '') {
    exit("<p>$page</p><b>top|$who|$count</b><b>bottom|$who|$count</b>");
}
$token = bin2hex(random_bytes(8));
header('Content-Type: text/html');
header('Surrogate-Control: content="ESI/1.0"');
header("X-Myriad-ESI: known, joint=part, token=$token");
foreach (['top', 'bottom'] as $name) {
    echo $name === 'top' ? "<p>$page</p>" : '';
    echo "<esi:include src=\"$page?part=$name\" token=\"$token\"><b>$name||0</b></esi:include token=\"$token\">";
}
"#;

fn site() -> (Server, Php) {
    let mut place = Place::new();
    place.write("html/index.php", APPLICATION);
    place.write("state/.keep", "");
    let state = place.path("state");
    std::fs::set_permissions(&state, std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .expect("permissions");
    let php = Php::start(&mut place);
    let http = format!(
        "fastcgi_cache_path @DIR@/cache keys_zone=pages:1m;
         upstream php {{ server @PHP@ max_conns=4; queue 500; }}
         server {{ listen 127.0.0.1:@PORT@ backlog=512; http2 on; root @DIR@/html; @PARAMS@
         fastcgi_param SCRIPT_FILENAME @DIR@/html/index.php; add_header X-Cache $upstream_cache_status always;
         fastcgi_cache pages; fastcgi_cache_key $host$request_uri; {RULES} gzip on; gzip_min_length 1;
         location / {{ fastcgi_pass php; }} }}"
    );
    (Server::start(place, &http), php)
}

/// Returns the page of a session after `count` changes.
fn page(target: &str, who: &str, count: usize) -> String {
    format!("<p>{target}</p><b>top|{who}|{count}</b><b>bottom|{who}|{count}</b>")
}

#[test]
fn fifty_sessions_at_once_see_nothing_of_each_other() {
    let (server, _php) = site();
    (0..5).for_each(|number| drop(server.get(&format!("/post/{number}"))));
    let port = server.port;
    let visit = move |number: usize| {
        let who =
            if number.is_multiple_of(10) { String::new() } else { format!("visitor-{number:03}-0123456789") };
        let mut client = Client::connect(port);
        let (mut changes, mut hits) = (0, 0);
        for round in 0..12 {
            let target = format!("/post/{}", (number + round) % 5);
            let mut request =
                Request::get(&target).accepting(if round % 2 == 0 { "gzip" } else { "identity" });
            if !who.is_empty() {
                request = request.field("Cookie", &format!("_ga={round}; wordpress_logged_in_1={who}"));
            }
            let answer = client.fetch(&request);
            assert_eq!(answer.text(), page(&target, &who, changes), "{number} in round {round}");
            hits += usize::from(answer.cache() == "HIT");
            if !who.is_empty() && round % 4 == 3 {
                let cookie = format!("wordpress_logged_in_1={who}");
                assert_eq!(
                    client.fetch(&Request::post("/change", "x").field("Cookie", &cookie)).text(),
                    "changed"
                );
                changes += 1;
            }
        }
        hits
    };
    let visitors: Vec<_> = (0..50).map(|number| thread::spawn(move || visit(number))).collect();
    let hits: usize = visitors.into_iter().map(|visitor| visitor.join().expect("a visitor")).sum();
    assert_eq!(hits, 600, "every page is served from the cache");
}

#[test]
fn sessions_over_http_2_see_nothing_of_each_other() {
    let (server, _php) = site();
    let origin = format!("http://127.0.0.1:{}", server.port);
    for round in 0..2 {
        for who in ["ada-0123456789abcdef", "eve-0123456789abcdef", ""] {
            let cookie = format!("Cookie: wordpress_logged_in_1={who}");
            let mut command = std::process::Command::new("curl");
            command.args(["-sS", "--http2-prior-knowledge", "--compressed", "--max-time", "20"]);
            if !who.is_empty() {
                command.args(["-H", &cookie]);
            }
            // curl sends the cookie in several fields (cookie crumbs), as HTTP/2 permits.
            let output =
                command.args(["-H", "Host: localhost", &format!("{origin}/post/1")]).output().expect("curl");
            assert_eq!(String::from_utf8_lossy(&output.stdout), page("/post/1", who, 0), "round {round}");
        }
    }
}
