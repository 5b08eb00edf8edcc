//! Path traversal, and files that must not be sent.

use myriad_tests::{Php, Place, Request, Server};

/// Paths that leave the root, or that some implementations interpret in this way.
const CLIMBING: &[&str] = &[
    "/../secret.txt",
    "/../../../../../../etc/passwd",
    "/a/../../secret.txt",
    "/./../secret.txt",
    "/%2e%2e/secret.txt",
    "/%2E%2E/secret.txt",
    "/.%2e/secret.txt",
    "/%2e./secret.txt",
    "/..%2fsecret.txt",
    "/%2e%2e%2fsecret.txt",
    "/a/..%2f..%2fsecret.txt",
    "/..%5csecret.txt",
    "/..\\secret.txt",
    "/a\\..\\..\\secret.txt",
    "/%252e%252e/secret.txt",
    "/..%252fsecret.txt",
    "/%c0%ae%c0%ae/secret.txt",
    "/..;/secret.txt",
    "/a/..;/..;/secret.txt",
    "//../secret.txt",
    "/a//../../secret.txt",
    "/a/%2e%2e//%2e%2e/secret.txt",
    "/alias../secret.txt",
    "/alias/../secret.txt",
    "/alias/..%2f..%2fsecret.txt",
    "/alias/%2e%2e/%2e%2e/secret.txt",
    "/secret.txt%00",
    "/../secret.txt%00.css",
    "/digits.txt%00.css",
    "/%00/../../secret.txt",
    "../secret.txt",
    "http://localhost/../secret.txt",
    "http://localhost/%2e%2e/secret.txt",
];

#[test]
fn a_path_that_climbs_never_leaves_the_root() {
    let place = Place::new();
    place.write("secret.txt", "the secret\n");
    place.write("html/digits.txt", "0123456789");
    place.write("html/a/inside.txt", "inside");
    place.write("html/aliased/x.txt", "x");
    let http = "server { listen 127.0.0.1:@PORT@; root @DIR@/html; location /alias { alias @DIR@/html/aliased/; } \
                location /try/ { try_files $uri $uri/ /digits.txt; } location ~ ^/re/(.*)$ { alias @DIR@/html/$1; } }";
    let server = Server::start(place, http);
    for path in CLIMBING {
        for prefix in ["", "/try", "/re"] {
            if !prefix.is_empty() && !path.starts_with('/') {
                continue;
            }
            let mut client = server.connect();
            client
                .send(format!("GET {prefix}{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
            let answer = String::from_utf8_lossy(&client.rest()).into_owned();
            assert!(
                !answer.contains("the secret") && !answer.contains("root:x:"),
                "{prefix}{path}\n{answer}"
            );
            assert!(!answer.starts_with("HTTP/1.1 5"), "{prefix}{path}\n{answer}");
        }
    }
    assert_eq!(
        server.get("/a/../digits.txt").body,
        b"0123456789",
        "a path that does not leave the root is served"
    );
    assert_eq!(server.get("/a/%2e%2e/digits%2etxt").body, b"0123456789");
    assert_eq!(server.get("//a///inside.txt").body, b"inside");
}

#[test]
fn random_paths_never_leave_the_root() {
    let place = Place::new();
    place.write("secret.txt", "the secret\n");
    place.write("html/a/b/c.txt", "c");
    let http =
        "server { listen 127.0.0.1:@PORT@; root @DIR@/html; location /alias/ { alias @DIR@/html/a/; } }";
    let server = Server::start(place, http);
    let parts = [
        "..",
        ".",
        "/",
        "//",
        "%2e",
        "%2f",
        "%5c",
        "\\",
        "a",
        "b",
        "alias",
        "secret.txt",
        "%00",
        "%",
        "?",
        ";",
        "..%2f",
    ];
    let mut random = fastrand::Rng::with_seed(3);
    let mut client = server.connect();
    for _ in 0..2000 {
        let length = random.usize(1..12);
        let path: String = (0..length).map(|_| *random.choice(&parts).expect("a part")).collect();
        match client.try_fetch(&Request::get(&format!("/{path}"))) {
            Ok(answer) => {
                assert!(!answer.text().contains("the secret"), "/{path}");
                assert!(answer.status < 500, "/{path}: {}", answer.status);
                if answer.field("Connection") == Some("close") {
                    client = server.connect();
                }
            }
            Err(_) => client = server.connect(),
        }
    }
}

#[test]
fn php_source_is_never_sent_as_text() {
    let mut place = Place::new();
    let _php = Php::start(&mut place);
    for name in [
        "index.php",
        "page.php",
        "wp-includes/functions.php",
        "wp-content/uploads/evil.php",
        "upper.PHP",
        "old.php5",
        "page.php.bak",
        "page.phtml",
        "page.php~",
    ] {
        place.write(&format!("html/{name}"), "<?php echo 'ran ', 6 * 7; // the source\n");
    }
    place.write("html/wp-content/uploads/picture.jpg", "<?php echo 'ran from a picture'; // the source\n");
    let (root, php) = (place.path("html"), place.fill("@PHP@"));
    let mut command = std::process::Command::new(myriad_tests::binary());
    command.args(["wordpress", "--php", &php, "--root"]).arg(root).arg("--prefix").arg(place.folder());
    command.args(["--listen", &format!("127.0.0.1:{}", place.port)]);
    let server = Server::run(place, command);
    assert_eq!(server.get("/page.php").text(), "ran 42");
    for path in [
        "/page.php/",
        "/page.php/x.css",
        "/page.php%2fx.css",
        "/page.php%00",
        "/page.php%00.css",
        "/page.php%20",
        "/page.php.",
        "/page%2ephp",
        "/page.%70hp",
        "/page.PHP",
        "/page.php;x",
        "/page.php?x=.css",
        "//page.php",
        "/./page.php",
        "/x/../page.php",
        "/page.php\\",
        "/upper.PHP",
        "/old.php5",
        "/page.php.bak",
        "/page.phtml",
        "/page.php~",
        "/wp-includes/functions.php",
        "/wp-content/uploads/evil.php",
        "/wp-content/uploads/picture.jpg/x.php",
        "/wp-content/uploads/picture.jpg%00.php",
        "/index.php/../page.php",
        "/page.php::$DATA",
    ] {
        let mut client = server.connect();
        client.send(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
        let answer = String::from_utf8_lossy(&client.rest()).into_owned();
        assert!(!answer.contains("<?php") && !answer.contains("the source"), "{path}\n{answer}");
        assert!(!answer.contains("ran from a picture"), "{path}: an upload was executed\n{answer}");
    }
    assert!(
        !server.get("/wp-content/uploads/evil.php").text().contains("ran"),
        "no script in uploads is executed"
    );
}
