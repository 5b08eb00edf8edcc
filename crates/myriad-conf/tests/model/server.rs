use std::net::SocketAddr;

use myriad_conf::model::{ListenAddress, ListenConf, Matcher, ServerName};
use myriad_conf::settings::SessionCache;

use crate::{http, refusal, server};

#[track_caller]
fn listens(args: &str) -> Vec<ListenConf> {
    server(&format!("listen {args};")).listens
}

#[track_caller]
fn listens_on(args: &str, address: &str) {
    let address: SocketAddr = address.parse().unwrap();
    assert_eq!(listens(args)[0].address, ListenAddress::Ip(address), "{args}");
}

#[test]
fn listen_takes_every_form_of_address() {
    listens_on("80", "0.0.0.0:80");
    listens_on("*:8080", "0.0.0.0:8080");
    listens_on("*", "0.0.0.0:80");
    listens_on("127.0.0.1", "127.0.0.1:80");
    listens_on("127.0.0.1:8000", "127.0.0.1:8000");
    listens_on("[::]:80", "[::]:80");
    listens_on("[::1]", "[::1]:80");
    assert_eq!(listens("localhost:81")[0].address, ListenAddress::Host("localhost".into(), 81));
    assert_eq!(listens("unix:/run/a.sock")[0].address, ListenAddress::Unix(b"/run/a.sock".to_vec()));
    assert_eq!(listens("127.0.0.1:8000-8003").len(), 4);
}

#[test]
fn listen_refuses_what_is_no_address() {
    for wrong in [
        "0",
        "65536",
        "80-",
        "90-80",
        "127.0.0.256",
        "127.0.0.1:x",
        "[::1",
        "[x]:1",
        ":80",
        "unix:",
        "a b",
        "1.2.3",
        "80 backlog=0",
        "80 backlog=-1",
    ] {
        refusal(&format!("http {{ server {{ listen {wrong}; }} }}"));
    }
}

#[test]
fn listen_takes_the_options_of_the_socket() {
    let listen = &listens(
        "[::]:80 default_server backlog=511 reuseport ipv6only=off deferred bind rcvbuf=8k sndbuf=16k fastopen=3
         so_keepalive=30m::10",
    )[0];
    assert!(listen.default_server && listen.reuseport && !listen.ipv6only && listen.deferred && listen.bind);
    assert_eq!(
        (listen.backlog, listen.fastopen, listen.rcvbuf, listen.sndbuf),
        (Some(511), Some(3), Some(8192), Some(16384))
    );
    let probe = listen.so_keepalive.unwrap();
    assert_eq!((probe.on, probe.idle_s, probe.interval_s, probe.count), (true, Some(1800), None, Some(10)));
}

#[test]
fn server_names_have_five_kinds() {
    let server =
        server(r#"server_name Example.com *.Example.com .b.org www.c.* ~^w(?<n>\d+)\.d$ $hostname "";"#);
    assert_eq!(
        server.names[..4],
        [
            ServerName::Exact("example.com".into()),
            ServerName::WildcardPrefix(".example.com".into()),
            ServerName::Dot(".b.org".into()),
            ServerName::WildcardSuffix("www.c.".into()),
        ]
    );
    assert!(matches!(&server.names[4], ServerName::Regex(text) if text.bytes() == br"^w(?<n>\d+)\.d$"));
    assert_eq!(server.names[5..], [ServerName::Hostname, ServerName::Exact(String::new())]);
    assert_eq!(server.primary_name.bytes(), b"example.com");
}

#[test]
fn a_server_without_a_name_answers_for_none() {
    let server = server("listen 80;");
    assert_eq!(server.names, [ServerName::Exact(String::new())]);
    assert!(server.primary_name.is_empty());
    assert!(crate::server("").listens.is_empty());
}

#[test]
fn server_names_with_misplaced_stars_are_refused() {
    for wrong in ["*", "*.", ".", "a*", "*a", "a.*.b", "*.a.*", "**.a", "~"] {
        assert!(
            refusal(&format!("http {{ server {{ server_name {wrong}; }} }}")).contains("server name"),
            "{wrong}"
        );
    }
}

#[test]
fn locations_have_six_kinds_with_modifier_spaced_or_joined() {
    let server = server(
        r#"location = /a { } location ^~ /b { } location ~ c { } location ~* d { } location /e { } location @f { }
           location =/g { } location ^~/h { } location ~i { } location ~*j { } location "/k l{" { }"#,
    );
    let found: Vec<_> =
        server.locations.iter().map(|l| (l.matcher, l.pattern.lossy().into_owned())).collect();
    let regex = |caseless| Matcher::Regex { caseless };
    let expected = [
        (Matcher::Exact, "/a"),
        (Matcher::PrefixNoRegex, "/b"),
        (regex(false), "c"),
        (regex(true), "d"),
        (Matcher::Prefix, "/e"),
        (Matcher::Named, "@f"),
        (Matcher::Exact, "/g"),
        (Matcher::PrefixNoRegex, "/h"),
        (regex(false), "i"),
        (regex(true), "j"),
        (Matcher::Prefix, "/k l{"),
    ];
    assert_eq!(found, expected.map(|(matcher, pattern)| (matcher, pattern.to_owned())));
}

#[test]
fn huge_session_cache_does_not_overflow() {
    let sessions =
        |size: &str| match &http(&format!("ssl_session_cache shared:a:{size};")).settings.tls.session_cache {
            SessionCache::Stored { sessions, .. } => *sessions,
            SessionCache::Off => 0,
        };
    assert_eq!(sessions("1m"), 4000);
    assert_eq!(sessions("9223372036854775807"), u32::MAX);
}
