//! Confidentiality of secrets: keys, passwords, tokens and sessions do not appear in logs, dumps or reports for
//! administrators.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use myriad_tests::{HttpOrigin, Place, Request, Server, binary, certificate, wait_for};
use sha2::{Digest, Sha256};

const BEARER: &str = "bearer-of-the-api-7f3a";
const PASSWORD: &str = "password-of-the-key-51c0";
const SESSION: &str = "session-of-the-visitor-e2b9";
/// Encoded `visitor:word-of-the-visitor`.
const BASIC: &str = "dmlzaXRvcjp3b3JkLW9mLXRoZS12aXNpdG9y";
const BODY: &str = "body-of-the-visitor-90dd";

const SITE: &str = "
    proxy_cache_path @DIR@/cache keys_zone=pages:1m;
    log_format told '$remote_addr $remote_user $request $status $upstream_cache_status'; access_log @DIR@/told.log told;
    server { listen 127.0.0.1:@PORT@; root @DIR@/html; add_header X-Cache $upstream_cache_status always;
        location / { proxy_pass http://@ORIGIN@; proxy_cache pages; proxy_cache_valid 200 1h; }
        location /gone { proxy_pass http://127.0.0.1:1; }
        location /locked { auth_basic here; auth_basic_user_file @DIR@/users; proxy_pass http://@ORIGIN@; }
        location /api/ { api write=on secret_sha256=@HASH@; } }
    server { listen 127.0.0.1:@TLS@ ssl; ssl_certificate @DIR@/own.crt; ssl_certificate_key @DIR@/sealed.key; ssl_password_file @DIR@/words;
        ssl_session_ticket_key @DIR@/ticket.key; return 200 secure; }";

fn openssl(arguments: &[&str]) {
    let output = Command::new("openssl").args(arguments).output().expect("openssl");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Starts a server with secrets of every kind; returns the secrets that it read from files.
fn start(origin: &HttpOrigin) -> (Server, Vec<String>) {
    let mut place = Place::new();
    let path = |name: &str| place.path(name).display().to_string();
    certificate(&place.path("own.crt"), &place.path("own.key"));
    let pass = format!("pass:{PASSWORD}");
    openssl(&["pkcs8", "-topk8", "-in", &path("own.key"), "-out", &path("sealed.key"), "-passout", &pass]);
    let line = |name: &str| place.read(name).lines().nth(1).expect("a line of base64").to_owned();
    let lines = vec![line("own.key"), line("sealed.key")];
    place.write("words", format!("{PASSWORD}\n"));
    place.write("ticket.key", b"a key of tickets, which is 48 bytes of text long");
    place.write("users", "visitor:{PLAIN}word-of-the-visitor\n");
    let hash = Sha256::digest(BEARER).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    let tls = Place::new().port.to_string();
    for (word, meaning) in [("ORIGIN", origin.address.as_str()), ("HASH", &hash), ("TLS", &tls)] {
        place.set(word, meaning);
    }
    (Server::start_with(place, "error_log @DIR@/debug.log debug;", SITE), lines)
}

/// Executes valid and invalid requests of visitors and administrators.
fn use_everything(server: &Server) -> String {
    let known = |request: Request| {
        request
            .field("Cookie", &format!("PHPSESSID={SESSION}"))
            .field("Authorization", &format!("Basic {BASIC}"))
    };
    for target in ["/", "/page", "/gone", "/locked", "/locked/wrong", "/%00", "/..%2f"] {
        server.fetch(&known(Request::get(target)));
        server.fetch(&known(Request::post(target, BODY)));
    }
    // An invalid request, and a request that is too long.
    for bad in [
        format!("GET / HTTP/1.1\r\nCookie: PHPSESSID={SESSION}\r\nX y: z\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: a\r\nCookie: {SESSION}{}\r\n\r\n", "x".repeat(70_000)),
    ] {
        let mut client = server.connect();
        let _ = client.try_send(bad);
        let _ = client.try_answer("GET");
    }
    let bearer = |target: &str, secret: &str| {
        Request::get(&format!("/api/{target}")).field("Authorization", &format!("Bearer {secret}"))
    };
    assert_eq!(server.fetch(&bearer("cache", &format!("{BEARER}x"))).status, 403);
    let asked = [
        "cache",
        "cache/pages",
        "tops",
        "history",
        "reasons",
        "purges",
        "upstreams",
        "inspect?url=/page",
        "inspect?url=/locked",
    ];
    let told = asked
        .map(|target| server.fetch(&bearer(target, BEARER)))
        .map(|answer| format!("{} {}\n", answer.status, answer.text()));
    assert!(told[0].starts_with("200 "), "{}", told[0]);
    told.concat()
}

/// Returns the output of commands: the dump of the configuration, and the stored pages.
fn commands(server: &Server) -> String {
    let run = |arguments: &[&str]| {
        let mut command = Command::new(binary());
        let output = command
            .args(arguments)
            .arg("-p")
            .arg(server.folder())
            .args(["-c", "myriad.conf"])
            .output()
            .expect("myriad starts");
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat()
    };
    [
        run(&["-T"]),
        run(&["cache", "ls"]),
        run(&["cache", "stats"]),
        run(&["top", "--once"]),
        run(&["certificates"]),
    ]
    .concat()
}

#[test]
fn no_secret_appears_in_logs_dumps_or_administrative_output() {
    let origin = HttpOrigin::start(|call| {
        call.answer("HTTP/1.1 200 OK\nContent-Type: text/html\nX-Powered-By: test", "a page");
    });
    let (server, lines) = start(&origin);
    let told = use_everything(&server);
    let printed = commands(&server);
    // The error message of a rejected configuration contains the reason, but not the contents of its files.
    server.write("words", "another\n");
    server.reload(&SITE.replace("return 200 secure", "return 200 again"));
    wait_for("the refusal of the key", || server.read("debug.log").contains("sealed.key"));
    let logs: String =
        ["error.log", "debug.log", "told.log", "stderr"].iter().map(|name| server.read(name)).collect();
    assert!(
        logs.contains("/gone") && told.contains("/page") && printed.contains("ssl_password_file"),
        "{logs}{told}{printed}"
    );
    let secrets = [BEARER, PASSWORD, SESSION, BASIC, BODY, "word-of-the-visitor", "a key of tickets"];
    for secret in secrets.into_iter().chain(lines.iter().map(String::as_str)) {
        for (what, text) in
            [("logs", &logs), ("answers to administrators", &told), ("what commands print", &printed)]
        {
            assert!(!text.contains(secret), "{secret} is in {what}: {text}");
        }
    }
    for worker in server.workers() {
        let limits = fs::read_to_string(format!("/proc/{worker}/limits")).expect("a process");
        let core = limits
            .lines()
            .find(|line| line.starts_with("Max core file size"))
            .expect("the limit of core dumps");
        assert_eq!(core.split_whitespace().nth(4), Some("0"), "core dumps are not disabled: {core}");
    }
}

/// Locations of the API and the dashboard for every local user, and others with a secret.
const WATCHED: &str = "
    proxy_cache_path @DIR@/cache keys_zone=pages:1m; access_log @DIR@/told.log combined;
    server { listen 127.0.0.1:@PORT@; add_header X-Cache $upstream_cache_status always;
        location / { proxy_pass http://@ORIGIN@; proxy_cache pages; proxy_cache_valid 200 1h; proxy_cache_key $host$uri$args; }
        location /parts { esi on; proxy_pass http://@ORIGIN@; proxy_cache pages; proxy_cache_valid 200 1h; }
        location /open/ { api; }
        location /allowed/ { api; allow 127.0.0.1; deny all; }
        location /board/ { dashboard; }
        location /closed/ { api write=on secret_sha256=@HASH@; } }";

#[test]
fn values_of_arguments_are_shown_to_readers_with_a_secret_alone() {
    let origin = HttpOrigin::start(|call| {
        let body = if call.target == "/parts" {
            "sesame-3<esi:include src=\"/part?key=sesame-4\"/>"
        } else {
            "a page"
        };
        call.answer("HTTP/1.1 200 OK\nContent-Type: text/html\nSurrogate-Control: content=\"ESI/1.0\"", body);
    });
    let mut place = Place::new();
    let hash = Sha256::digest(BEARER).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    place.set("ORIGIN", &origin.address);
    place.set("HASH", &hash);
    let server = Server::start(place, WATCHED);
    let known = |request: Request| request.field("Authorization", &format!("Bearer {BEARER}"));
    for _ in 0..2 {
        assert_eq!(server.get("/wp-login.php?action=rp&key=sesame-1&login=ann").status, 200);
        assert_eq!(server.get("/parts").text(), "sesame-3a page");
    }
    let mut live: Vec<_> = ["/open/", "/allowed/", "/board/", "/closed/"]
        .map(|place| {
            let mut client = server.connect();
            client.send(known(Request::get(&format!("{place}live"))).bytes());
            assert_eq!(client.head().status, 200, "{place}");
            (place, client)
        })
        .into();
    let url = format!("http://localhost:{}/wp-login.php?action=rp&key=sesame-2&login=ann", server.port);
    let purge = Request::post("/closed/purge", format!("{{\"urls\":[\"{url}\"]}}"))
        .field("Content-Type", "application/json");
    assert_eq!(server.fetch(&known(purge)).status, 200);

    let page = format!("cache/page?body=on&page=http://localhost:{}/parts", server.port);
    let asked = ["cache/pages", "tops?by=requests", "tops?by=misses", "tops?by=slow", "purges", &page];
    for (place, client) in &mut live {
        let is_known = *place == "/closed/";
        let event = client.until(|bytes| {
            let text = String::from_utf8_lossy(bytes);
            text.split_once("event: purge\ndata: ").is_some_and(|(_, rest)| rest.contains("\n\n"))
        });
        let mut told = vec![("live", String::from_utf8_lossy(&event).into_owned())];
        told.extend(asked.map(|path| {
            let request = Request::get(&format!("{place}{path}"));
            let answer = server.fetch(&if is_known { known(request) } else { request });
            assert_eq!(answer.status, 200, "{place}{path}");
            (path, answer.text())
        }));
        for (path, text) in told {
            // The body of a page is text like the values.
            assert_eq!(text.contains("sesame-3"), is_known && path == page, "{place}{path}: {text}");
            assert_eq!(text.contains("sesame-"), is_known, "{place}{path}: {text}");
            let name = if is_known { "key=sesame-" } else { "key=*" };
            assert!(text.contains(name), "{place}{path}: {text}");
        }
        // A pattern does not match a value that the client may not see.
        let request = Request::get(&format!("{place}cache/pages?match=sesame-1"));
        let found = server.fetch(&if is_known { known(request) } else { request }).text();
        assert_eq!(found.contains("\"pages\":[]"), !is_known, "{found}");
    }

    wait_for("the access log", || server.read("told.log").contains("sesame-1"));
    for log in ["told.log", "error.log"] {
        let mode = fs::metadata(server.folder().join(log)).expect("a log").permissions().mode();
        assert_eq!(mode & 0o777, 0o640, "{log} is readable by its owner and group alone");
    }
}
