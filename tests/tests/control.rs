//! Control socket, and the commands that query a running server over it.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Output};

use myriad_tests::{Cached, Place, Request, Server, Signal, binary, own_address, wait_for};

const SITE: Cached<'static> = Cached {
    main: "",
    http: "gzip on;",
    zone: "levels=1:2",
    key: "$scheme$request_method$host$request_uri",
    server: "fastcgi_cache_valid 200 1h;",
};

fn command(server: &Server, arguments: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command.args(arguments).arg("-p").arg(server.folder()).args(["-c", "myriad.conf"]);
    command.output().expect("myriad starts")
}

/// Returns the output of a command that must succeed.
#[track_caller]
fn told(server: &Server, arguments: &[&str]) -> String {
    let output = command(server, arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{arguments:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// Returns exit code and error output of a command that must fail.
#[track_caller]
fn refused(server: &Server, arguments: &[&str]) -> (Option<i32>, String) {
    let output = command(server, arguments);
    assert!(!output.status.success(), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn ask(server: &Server, line: &[u8]) -> String {
    let mut stream = UnixStream::connect(server.path("myriad.sock")).expect("a control socket");
    // A request that is too long is answered before it has been read.
    let _ = stream.write_all(line);
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    text
}

#[test]
fn pages_are_listed_and_shown_as_they_are() {
    let (server, _origin) = SITE.start(|call| {
        let vary = "Content-Type: text/plain\r\nVary: X-Device";
        call.answer(vary, "a page that is long enough to be compressed ".repeat(20));
    });
    server.get("/a");
    server.get("/a");
    server.fetch(&Request::get("/a").field("X-Device", "phone"));
    server.get("/b");
    let list = told(&server, &["cache", "ls"]);
    assert_eq!(list.lines().count(), 4, "{list}");
    assert!(list.lines().next().is_some_and(|head| head.ends_with("PAGE")), "{list}");
    let most = told(&server, &["cache", "ls", "--sort", "hits", "--limit", "1"]);
    assert_eq!(most.lines().count(), 2, "{most}");
    assert!(most.contains("[no x-device]") && most.contains("/a"), "{most}");
    assert!(most.contains("http://localhost/a  ["), "{most}");
    assert_eq!(told(&server, &["cache", "ls", "--match", "*host/b", "--json"]).lines().count(), 1);
    assert_eq!(told(&server, &["cache", "ls", "--host", "LOCALHOST"]).lines().count(), 4);
    assert_eq!(refused(&server, &["cache", "ls", "--host", "other"]).0, Some(2));
    let by_url = told(&server, &["cache", "show", "http://localhost/a"]);
    assert_eq!(by_url.matches("http://localhost/a\n").count(), 2, "{by_url}");
    let shown = told(&server, &["cache", "show", "httpGETlocalhost/a"]);
    for part in
        ["  variant   x-device: phone", "  status    200 text/plain", "  hits      1", "gzip", "880 bytes"]
    {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    assert_eq!(server.get("/a").cache(), "HIT");
    assert!(
        told(&server, &["cache", "show", "httpGETlocalhost/a"]).contains("  hits      2"),
        "`cache show` does not count as a hit"
    );
    assert_eq!(refused(&server, &["cache", "show", "httpGETlocalhost/c"]).0, Some(2));
}

#[test]
fn pages_requested_with_port_are_listed_with_port() {
    let (mut server, _origin) = SITE.start(|call| call.answer("Content-Type: text/plain", "page"));
    for host in ["localhost", "localhost:80", "localhost:8080"] {
        server.fetch(&Request::get("/a").host(host));
    }
    let named = |server: &Server, name: &str| {
        let list = told(server, &["cache", "ls"]);
        list.lines().filter(|line| line.ends_with(&format!("  {name}"))).count()
    };
    assert_eq!(named(&server, "http://localhost:8080/a"), 1);
    assert_eq!(named(&server, "http://localhost/a"), 2, "80 is the port of http");
    for pattern in ["http://localhost:8080/*", "http://localhost:80*/a"] {
        assert_eq!(told(&server, &["cache", "ls", "--match", pattern]).lines().count(), 2, "{pattern}");
    }
    assert_eq!(told(&server, &["cache", "ls", "--match", "http://localhost/a"]).lines().count(), 4);
    wait_for("all pages on disk", || told(&server, &["cache", "ls"]).matches(" both ").count() == 3);
    server.restart(Signal::QUIT);
    wait_for("the port is known from the file", || named(&server, "http://localhost:8080/a") == 1);
    let purged = told(&server, &["purge", "http://localhost:8080/a"]);
    assert!(purged.contains('3'), "a purge covers the page for all ports: {purged}");
    assert_eq!(refused(&server, &["cache", "ls"]).0, Some(2));
}

#[test]
fn options_take_no_other_option_for_their_value() {
    let (server, _origin) = SITE.start(|call| call.answer("Content-Type: text/plain", "page"));
    let (status, said) = refused(&server, &["purge", "--tag"]);
    assert_eq!(status, Some(1));
    assert!(said.contains("option \"--tag\" requires a value, but \"-p\" is another option"), "{said}");
    told(&server, &["purge", "--tag=-p"]);
}

#[test]
fn what_lies_on_disk_alone_is_listed_too() {
    let (mut server, _origin) = SITE.start(|call| call.answer("Content-Type: text/plain", "page"));
    for number in 0..70 {
        server.get(&format!("/{number}"));
    }
    let on_disk = |server: &Server| told(server, &["cache", "ls"]).matches(" both ").count();
    wait_for("all pages on disk", || on_disk(&server) == 70);
    server.restart(Signal::QUIT);
    let mut list = String::new();
    wait_for("all pages known", || {
        list = told(&server, &["cache", "ls"]);
        list.lines().count() == 71
    });
    let file = told(&server, &["cache", "show", "httpGETlocalhost/7"]);
    let file = file.lines().find_map(|line| line.strip_prefix("  on disk   ")).expect("a file");
    assert!(told(&server, &["cache", "show", "http://localhost/69"]).starts_with("http://localhost/69\n"));
    assert!(fs::metadata(file).is_ok(), "{file}");
}

#[test]
fn figures_are_those_of_the_zone() {
    let (server, _origin) = SITE.start(|call| call.answer("Content-Type: text/plain", "page"));
    server.get("/a");
    let text = told(&server, &["cache", "stats"]);
    assert!(text.starts_with(&format!("zone pages  {}/cache\n", server.folder().display())), "{text}");
    assert!(text.contains("          1 pages"), "{text}");
    let json = told(&server, &["cache", "stats", "--json"]);
    assert!(json.starts_with("{\"zone\":\"pages\"") && json.contains("\"pages\":1,"), "{json}");
    assert!(refused(&server, &["cache", "stats", "--zone", "x"]).1.contains("available zones: \"pages\""));
}

#[test]
fn requests_are_counted_by_what_the_cache_did() {
    let site = Cached {
        server: "fastcgi_cache_valid 200 1h; fastcgi_cache_bypass $arg_new; fastcgi_cache_use_stale updating; \
                 fastcgi_cache_background_update on;",
        ..SITE
    };
    let (server, _origin) = site.start(|call| {
        let soon = if call.uri().contains("soon") { "X-Accel-Expires: 1\r\n" } else { "" };
        call.answer(&format!("{soon}Content-Type: text/plain"), "page");
    });
    for target in ["/a", "/a", "/a", "/b?new=1", "/soon"] {
        server.get(target);
    }
    wait_for("a stale page", || server.get("/soon").cache() == "STALE");
    let counts = told(&server, &["cache", "stats", "--json"]);
    let count = |name: &str| {
        let text = counts.split_once(&format!("\"{name}\":")).expect("a count").1;
        text.split(|letter: char| !letter.is_ascii_digit())
            .next()
            .and_then(|digits| digits.parse::<u64>().ok())
    };
    assert_eq!(
        (count("miss"), count("bypass"), count("stale"), count("expired")),
        (Some(2), Some(1), Some(1), Some(0))
    );
    assert!(count("hit") >= Some(2), "{counts}");
    server.signal(Signal::HUP);
    server.log_has("the new configuration is in effect");
    let later = told(&server, &["cache", "stats", "--json"]);
    let requests = |text: &str| {
        text.split("\"requests\":").nth(1).and_then(|rest| rest.split('}').next()).map(str::to_owned)
    };
    assert_eq!(requests(&later), requests(&counts), "a reload preserves the counts");
}

#[test]
fn the_socket_is_the_owner_s_alone_and_outlives_workers_and_reloads() {
    let (mut server, _origin) = SITE.start(|call| call.answer("Content-Type: text/plain", "page"));
    let path = server.path("myriad.sock");
    let mode = fs::metadata(&path).expect("a socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    server.get("/a");
    server.signal(Signal::HUP);
    server.log_has("the new configuration is in effect");
    assert_eq!(told(&server, &["cache", "ls"]).lines().count(), 2);
    let worker = server.workers()[0];
    myriad_tests::signal(worker, Signal::KILL);
    wait_for("another worker", || {
        command(&server, &["cache", "stats"]).status.success() && !server.workers().contains(&worker)
    });
    server.signal(Signal::QUIT);
    assert!(server.ended() && !path.exists());
    let (code, why) = refused(&server, &["cache", "stats"]);
    assert_eq!(code, Some(1));
    assert!(
        why.contains("no Myriad server is running for the configuration") && why.contains("myriad.sock"),
        "{why}"
    );
}

#[test]
fn a_socket_that_a_crash_left_is_replaced_and_one_in_use_is_not() {
    let (mut server, _origin) = SITE.start(|call| call.answer("Content-Type: text/plain", "page"));
    server.restart(Signal::KILL);
    assert!(told(&server, &["cache", "stats"]).starts_with("zone pages"));
    let mut other = None;
    let path = server.path("myriad.sock");
    server.restart_after(Signal::QUIT, || other = UnixListener::bind(&path).ok());
    assert!(other.is_some());
    server.log_has("another server listens on this socket");
    assert_eq!(server.get("/a").status, 200);
}

#[test]
fn invalid_control_request_is_rejected_without_harm() {
    let (server, _origin) = SITE.start(|call| call.answer("Content-Type: text/plain", "page"));
    assert!(ask(&server, b"hello\n").starts_with("{\"error\":"));
    assert!(ask(&server, b"{\"purge\":{}}\n").contains("nothing to purge"));
    assert!(ask(&server, &vec![b'['; 3 << 20]).contains("error"));
    // Idle connections do not delay other connections.
    let silent: Vec<_> = (0..3).map(|_| UnixStream::connect(server.path("myriad.sock"))).collect();
    assert!(silent.iter().all(Result::is_ok));
    assert_eq!(ask(&server, b"{\"stats\":{}}\n").lines().count(), 2);
}

#[test]
fn off_and_another_path_are_heeded() {
    let site = Cached { main: "control_socket off;", ..SITE };
    let (server, _origin) = site.start(|call| call.answer("", "page"));
    assert!(!server.path("myriad.sock").exists());
    assert!(refused(&server, &["cache", "stats"]).1.contains("control_socket off"));
    let site = Cached { main: "control_socket logs/ctl;", ..SITE };
    let (server, _origin) = site.start(|call| call.answer("", "page"));
    assert!(told(&server, &["cache", "stats"]).starts_with("zone pages"));
    let socket = server.path("logs/ctl").display().to_string();
    let mut command = Command::new(binary());
    let output = command.args(["cache", "stats", "--socket", &socket]).output().expect("myriad starts");
    assert!(output.status.success());
    // A reload moves the socket.
    server.reload(&server.fill(&site.http()));
    wait_for("the socket at its usual place", || server.path("myriad.sock").exists());
    wait_for("the other one to go", || !server.path("logs/ctl").exists());
    assert!(told(&server, &["cache", "stats"]).starts_with("zone pages"));
}

#[test]
fn a_crowd_of_commands_is_bounded_and_all_are_answered() {
    let (server, _origin) = SITE.start(|call| call.answer("", "page"));
    // Idle connections occupy the slots; each connection that is closed for this reason is replaced by another.
    let sit = || UnixStream::connect(server.path("myriad.sock")).expect("a control connection");
    let mut silent: Vec<_> = (0..8).map(|_| sit()).collect();
    wait_for("all seats to be taken", || {
        silent.push(sit());
        ask(&server, b"{\"stats\":{}}\n").contains("too many concurrent commands")
    });
    drop(silent);
    wait_for("a free seat", || ask(&server, b"{\"stats\":{}}\n").contains("\"zone\""));
}

/// Starts a site with tagged pages, `/a` to `/d` stored.
fn tagged() -> (Server, myriad_tests::Origin) {
    let (server, origin) = SITE.start(|call| {
        let tag = if call.uri().contains('a') { "first" } else { "other" };
        let body = call.uri().to_owned();
        call.answer(&format!("Content-Type: text/plain\r\nSurrogate-Key: all {tag}"), body);
    });
    server.wait_for_recoveries(1);
    for target in ["/a", "/a?x=1", "/b", "/c", "/d"] {
        assert_eq!(server.get(target).cache(), "MISS");
    }
    (server, origin)
}

#[test]
fn purges_by_url_and_tag_report_exact_counts() {
    let (server, _origin) = tagged();
    assert!(told(&server, &["cache", "show", "http://localhost/b"]).contains("  tags      all other\n"));
    let text = told(&server, &["purge", "http://localhost/a", "--tag", "other", "--tag", "none"]);
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    assert_eq!(
        lines,
        [
            "2 pages  url       http://localhost/a",
            "3 pages  tag       other",
            "0 pages  tag       none",
            "5 pages purged"
        ]
    );
    for target in ["/a", "/a?x=1", "/b"] {
        assert_eq!(server.get(target).cache(), "MISS", "{target}");
    }
    server.log_has("by an administrator: 3 pages");
}

#[test]
fn a_soft_purge_leaves_stale_pages() {
    let (server, _origin) = tagged();
    told(&server, &["purge", "--all", "--soft"]);
    let list = told(&server, &["cache", "ls"]);
    assert_eq!((list.lines().count(), list.matches(" stale ").count()), (6, 5), "{list}");
    assert!(told(&server, &["cache", "show", "http://localhost/b"]).contains("fresh     no: soft purged"));
    assert_eq!(server.get("/b").cache(), "EXPIRED");
}

#[test]
fn a_purge_that_makes_no_sense_purges_nothing() {
    let (server, _origin) = tagged();
    for (arguments, part) in [
        (&["purge"][..], "purge: give URLs"),
        (&["purge", "--all", "--regex", "("], "does not compile"),
        (&["purge", "--all", "--zone", "x"], "unknown zone"),
        (&["purge", "http://localhost/b", "http:///"], "is not a URL"),
    ] {
        let (code, why) = refused(&server, arguments);
        assert_eq!((code, why.contains(part)), (Some(1), true), "{why}");
    }
    assert_eq!(server.get("/b").cache(), "HIT");
}

#[test]
fn the_api_lists_every_page_once_over_several_answers() {
    let site = Cached { server: "fastcgi_cache_valid 200 1h; location /api/ { api; }", ..SITE };
    let (server, _origin) = site.start(|call| call.answer("Content-Type: text/plain", "page"));
    let mut client = server.connect();
    for number in 0..130 {
        assert_eq!(client.fetch(&Request::get(&format!("/{number}"))).status, 200);
    }
    let (mut after, mut seen) = (String::new(), Vec::new());
    for _ in 0..10 {
        let text = server.get(&format!("/api/cache/pages?limit=40{after}")).text();
        let keys = text.split("\"key\":\"").skip(1).filter_map(|rest| rest.split('"').next());
        let keys: Vec<String> = keys.map(str::to_owned).collect();
        assert!(keys.len() <= 40, "{}", keys.len());
        seen.extend(keys);
        let Some((_, next)) = text.rsplit_once("\"next\":\"") else { break };
        after = format!("&after={}", next.split('"').next().unwrap_or_default());
    }
    let found = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!((found, seen.len()), (130, 130));
    assert_eq!(server.get("/api/cache/pages?after=nonsense").status, 400);
}
#[test]
fn purges_by_pattern_hold_at_once_and_are_counted_where_that_is_waited_for() {
    let (server, _origin) = tagged();
    assert_eq!(
        told(&server, &["purge", "--wildcard", "http://localhost/a*", "--wait"]).trim_start(),
        "2 pages  wildcard  http://localhost/a*\n"
    );
    assert_eq!((server.get("/a").cache(), server.get("/b").cache()), ("MISS", "HIT"));
    assert!(told(&server, &["purge", "--regex", "^/[bc]$"]).contains("accepted  regex     ^/[bc]$"));
    assert_eq!((server.get("/b").cache(), server.get("/d").cache()), ("MISS", "HIT"));
    assert!(told(&server, &["purge", "--host", "other"]).contains("accepted  host"));
    assert_eq!(server.get("/d").cache(), "HIT");
    let json = told(&server, &["purge", "--all", "--wait", "--json"]);
    assert_eq!(json, "{\"kind\":\"all\",\"what\":\"\",\"purged\":3,\"at_least\":false}\n");
    assert_eq!(server.get("/d").cache(), "MISS");
}

/// SHA-256 of the secret in `BEARER`.
const HASH: &str = "db2dd5637d8a91cb560f62fbb4981678eb925f0ecc1e63f4c43890b35eb1b996";
const BEARER: &str = "Authorization: Bearer the secret of a site";

#[test]
fn the_api_purges_for_loopback_alone_and_by_a_host_of_its_own() {
    let http = "fastcgi_cache_path @DIR@/cache keys_zone=pages:1m; server { listen 0.0.0.0:@PORT@; server_name shop.test;
        location /api/ { api write=on secret_sha256=@HASH@; } location /open/ { api write=on secret_sha256=@HASH@; allow all; }
        location /free/ { api; } location /shown/ { api; allow all; }
        location /either/ { api; satisfy any; allow all; auth_basic staff; auth_basic_user_file @DIR@/users; } }";
    let place = Place::new();
    place.write("users", "user:{PLAIN}password\n");
    let server = Server::start(place, &http.replace("@HASH@", HASH));
    let ask = |address: &str, location: &str, host: &str| {
        let mut stream = TcpStream::connect((address, server.port)).expect("a connection");
        let head =
            format!("{BEARER}\r\nContent-Type: application/json\r\nContent-Length: 12\r\nConnection: close");
        write!(stream, "POST /{location}/purge HTTP/1.1\r\nHost: {host}\r\n{head}\r\n\r\n{{\"all\":true}}")
            .expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    for location in ["api", "open"] {
        for host in ["localhost", "localhost:81", "127.0.0.1", "127.1.2.3:80", "[::1]", "shop.test"] {
            assert_eq!(ask("127.0.0.1", location, host), "200", "{location} {host}");
        }
        for host in ["evil.test", "127.0.0.1.evil.test", "localhost.evil.test", "192.0.2.1"] {
            assert_eq!(ask("127.0.0.1", location, host), "403", "{location} {host}");
        }
    }
    server.log_has("api forbidden: the host is not a name of the server");
    let read = |location: &str, host: &str| {
        server.fetch(&Request::new("GET", &format!("/{location}/cache")).field("Host", host)).status
    };
    for location in ["free", "shown", "either"] {
        assert_eq!((read(location, "shop.test"), read(location, "evil.test")), (200, 403), "{location}");
    }
    let Some(own) = own_address() else { return };
    let own = own.to_string();
    assert_eq!(ask(&own, "api", "shop.test"), "403");
    assert_eq!((ask(&own, "open", "shop.test"), ask(&own, "open", &own)), ("200".into(), "200".into()));
}

#[test]
fn pages_are_invalidated_if_an_application_is_terminated_before_its_last_purge() {
    let config =
        format!("fastcgi_cache_valid 200 1h; location /api/ {{ api write=on secret_sha256={HASH}; }}");
    let site = Cached { server: &config, ..SITE };
    let (server, _origin) = site.start(|call| {
        call.answer("Content-Type: text/plain\r\nCache-Tag: site", "page");
    });
    let cache = || server.get("/page").cache().to_owned();
    let begin = |tag: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("a connection");
        let head = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close";
        write!(stream, "POST /api/writes{tag} HTTP/1.1\r\nHost: localhost\r\n{BEARER}\r\n{head}\r\n\r\n")
            .expect("a header");
        stream
    };
    let end = |mut stream: TcpStream| {
        write!(stream, "0\r\n\r\n").expect("the end of the body");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    assert_eq!((cache(), cache()), ("MISS".to_owned(), "HIT".to_owned()));
    assert_eq!((end(begin("")).as_str(), end(begin("?tag=+")).as_str()), ("400", "400"));
    assert_eq!((end(begin("?tag=site")), cache()), ("200".to_owned(), "HIT".to_owned()));
    let warnings = || {
        let log = fs::read_to_string(server.folder().join("error.log")).unwrap_or_default();
        log.matches("an application was terminated before").count()
    };
    drop(begin("?tag=other"));
    wait_for("the invalidation of other pages", || warnings() == 1);
    assert_eq!(cache(), "HIT");
    drop(begin("?tag=site"));
    wait_for("the invalidation", || warnings() == 2);
    wait_for("a refreshed page", || cache() != "HIT");
    assert_eq!(cache(), "HIT");
    let open: Vec<_> = (0..64).map(|_| begin("?tag=site")).collect();
    wait_for("a refusal", || end(begin("?tag=site")) == "503");
    assert_eq!(open.into_iter().map(end).filter(|status| status == "200").count(), 64);
    assert_eq!((end(begin("?tag=site")), warnings()), ("200".to_owned(), 2));
}

const TWO: &str = "upstream pair { server 127.0.0.1:@ONE@; server 127.0.0.1:@TWO@; }
    server { listen 127.0.0.1:@ONE@; return 200 one; } server { listen 127.0.0.1:@TWO@; return 200 two; }
    server { listen 127.0.0.1:@PORT@;
        location / { proxy_pass http://pair; } location /api/ { api write=on secret_sha256=db2dd5637d8a91cb560f62fbb4981678eb925f0ecc1e63f4c43890b35eb1b996; }
        location /seen/ { api; } }";

/// Starts a site with a group of two servers; returns their names as well.
fn pair() -> (Server, [String; 2]) {
    let mut place = Place::new();
    let ports = [Place::new().port, Place::new().port];
    place.set("ONE", &ports[0].to_string());
    place.set("TWO", &ports[1].to_string());
    (Server::start(place, TWO), ports.map(|port| format!("127.0.0.1:{port}")))
}

/// Returns the number of responses of each server to eight requests.
fn answering(server: &Server) -> (usize, usize) {
    let mut client = server.connect();
    let texts: Vec<String> = (0..8).map(|_| client.fetch(&Request::get("/")).text()).collect();
    let count = |who: &str| texts.iter().filter(|text| *text == who).count();
    (count("one"), count("two"))
}

#[test]
fn servers_are_taken_out_of_service_and_back_while_they_run_and_over_reloads() {
    let (server, [one, two]) = pair();
    assert_eq!(answering(&server), (4, 4));
    let listed = told(&server, &["upstream", "ls", "pair"]);
    assert_eq!(listed.lines().filter(|line| line.starts_with("up ")).count(), 2, "{listed}");
    let down = told(&server, &["upstream", "down", "pair", &one]);
    assert!(down.lines().nth(1).is_some_and(|line| line.starts_with("down! ")), "{down}");
    assert_eq!(answering(&server), (0, 8));
    let workers = server.workers();
    server.reload(&TWO.replace("location /seen/ { api; }", "location /new { return 200 new; }"));
    wait_for("the reload", || server.get("/new").text() == "new");
    assert_eq!((answering(&server), server.workers()), ((0, 8), workers));
    // No client uses `sticky` here.
    told(&server, &["upstream", "drain", "pair", &two]);
    assert_eq!(server.get("/").status, 502);
    told(&server, &["upstream", "up", "pair"]);
    assert_eq!(answering(&server), (4, 4));
    server.log_has(&format!("server {one} of upstream \"pair\": state set to down by an administrator"));
    let json = told(&server, &["upstream", "ls", "pair", &two, "--json"]);
    assert!(json.contains("\"group\":\"pair\"") && json.contains("\"state\":\"up\""), "{json}");
}

#[test]
fn unknown_groups_and_servers_are_reported_with_existing_ones() {
    let (server, [one, _]) = pair();
    let (status, error) = refused(&server, &["upstream", "down", "pairs"]);
    assert!(
        status == Some(1) && error.contains("unknown upstream \"pairs\"; available upstreams: \"pair\""),
        "{error}"
    );
    let (status, error) = refused(&server, &["upstream", "down", "pair", "127.0.0.1:1"]);
    let there = format!("no server \"127.0.0.1:1\"; its servers: \"{one}\"");
    assert!(status == Some(1) && error.contains(&there), "{error}");
    assert_eq!(refused(&server, &["upstream", "ls", "pair", "nobody"]).0, Some(2));
    assert_eq!(answering(&server), (4, 4));
}

#[test]
fn the_api_changes_servers_where_it_may_purge_too() {
    let (server, [one, _]) = pair();
    let change = |path: &str, media_type: &str, body: &str| {
        let request = Request::post(path, body).field("Content-Type", media_type);
        let request = request.field("Authorization", "Bearer the secret of a site");
        server.fetch(&request)
    };
    let down = format!("{{\"group\":\"pair\",\"server\":\"{one}\",\"state\":\"down\"}}");
    assert_eq!(change("/seen/upstreams", "application/json", &down).status, 403);
    assert_eq!(change("/api/upstreams", "text/plain", &down).status, 415);
    for body in ["{}", "{\"group\":\"pair\",\"state\":\"off\"}", "{\"group\":\"none\",\"state\":\"up\"}"] {
        assert_eq!(change("/api/upstreams", "application/json", body).status, 400, "{body}");
    }
    assert_eq!(answering(&server), (4, 4));
    let answer = change("/api/upstreams", "application/json", &down);
    assert!(answer.status == 200 && answer.text().contains("\"state\":\"down\""), "{}", answer.text());
    assert_eq!(answering(&server), (0, 8));
    let seen = server.get("/seen/upstreams?group=pair").text();
    assert!(seen.starts_with("{\"servers\":[{\"block\":\"http\",\"group\":\"pair\""), "{seen}");
    assert_eq!(seen.matches("\"ordered\":true").count(), 1, "{seen}");
}

#[test]
fn leaks_are_listed_and_forgiven() {
    let (server, _origin) = SITE.start(|call| {
        let text = format!("cookies: {}", call.param("HTTP_COOKIE"));
        call.answer("Content-Type: text/plain", text);
    });
    assert_eq!(refused(&server, &["cache", "leaks"]), (Some(2), "myriad: no leaks found\n".to_owned()));
    server.fetch(&Request::get("/a?x=1").field("Cookie", "name=Margarete"));
    let mut list = String::new();
    wait_for("the confirmation", || {
        list = told(&server, &["cache", "leaks"]);
        list.contains("confirmed")
    });
    let line = "confirmed    localhost/a: value of the request's cookie \"name\" in the body\n";
    assert!(list.contains(line) && !list.contains("Margarete"), "{list}");
    assert!(told(&server, &["cache", "leaks", "--json"]).contains("\"state\":\"confirmed\""));
    let (code, text) = refused(&server, &["cache", "leaks", "--forgive", "localhost/b"]);
    assert_eq!(code, Some(1));
    assert!(text.contains("no finding of the leak guard for \"localhost/b\""), "{text}");
    assert_eq!(told(&server, &["cache", "leaks", "--forgive", "localhost/a"]), "");
    assert_eq!(refused(&server, &["cache", "leaks"]).0, Some(2));
}

#[test]
fn page_with_values_of_two_visitors_is_not_stored_until_it_is_forgiven() {
    let rules = "set_real_ip_from 127.0.0.1; real_ip_header X-Real-IP; fastcgi_cache_valid 200 1h;";
    let (server, _origin) = Cached { server: rules, ..SITE }.start(|call| {
        let text = format!("cookies: {}", call.param("HTTP_COOKIE"));
        call.answer("Content-Type: text/plain", text);
    });
    let visit = |name: &str, address: &str| {
        let cookie = format!("name={name}");
        server.fetch(&Request::get("/a").field("Cookie", &cookie).field("X-Real-IP", address))
    };
    let leaks = || String::from_utf8_lossy(&command(&server, &["cache", "leaks"]).stdout).into_owned();
    visit("Margarete", "192.0.2.1");
    wait_for("the first confirmation", || leaks().contains("confirmed"));
    assert!(!leaks().contains("not stored for"), "{}", leaks());
    wait_for("the second confirmation", || {
        visit("Wilhelmine", "192.0.2.2");
        leaks().contains("in the body, not stored for ")
    });
    // Visitors without cookies would fill the cache.
    assert_eq!([server.get("/a").cache(), server.get("/a").cache()], ["MISS", "MISS"]);
    told(&server, &["cache", "leaks", "--forgive", "localhost/a"]);
    wait_for("the page", || server.get("/a").cache() == "HIT");
}
