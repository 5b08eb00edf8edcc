use myriad_conf::{
    Text,
    model::{Balance, LeastMeasure, UpstreamAddress, UpstreamQueue},
    settings::{Handler, NextUpstream},
    testing::{ENVIRONMENT, URL},
};

use crate::{http, settings, texts};

#[test]
fn fastcgi_and_proxy_directives_are_stored_separately() {
    for (name, protocol) in [("fastcgi", ENVIRONMENT), ("proxy", URL)] {
        let text =
            "P_connect_timeout 5s; P_read_timeout 2m; P_buffering off; P_buffers 16 16k; P_buffer_size 32k;
             P_hide_header X-A; P_hide_header X-B; P_ignore_headers Set-Cookie X-Accel-Expires Vary;
             P_next_upstream error http_500 non_idempotent; P_intercept_errors on; P_limit_rate 10k;";
        let all = settings(&text.replace("P_", &format!("{name}_")));
        let origin = all.origin(protocol);
        assert_eq!(
            (
                origin.connection.connect_timeout,
                origin.connection.read_timeout,
                origin.connection.send_timeout
            ),
            (5_000, 120_000, 60_000)
        );
        assert!(!origin.buffering.on && origin.answer.intercept_errors);
        assert_eq!(
            (origin.buffering.buffers.count, origin.buffering.buffers.size, origin.buffering.head_size),
            (16, 16384, 32768)
        );
        assert_eq!(texts(&origin.answer.hide), ["X-A", "X-B"]);
        let ignore = origin.answer.ignore;
        assert!(ignore.set_cookie && ignore.x_accel_expires && ignore.vary && !ignore.cache_control);
        let next = origin.next_upstream;
        assert!(next.error && next.http_500 && next.non_idempotent && !next.timeout && !next.invalid_header);
        assert_eq!(origin.buffering.limit_rate.bytes(), b"10240");
        let other = if protocol == URL { ENVIRONMENT } else { URL };
        assert_eq!(all.origin(other).connection.connect_timeout, 60_000);
    }
}

#[test]
fn a_pass_becomes_the_handler_of_its_protocol() {
    let target = |text: &str| match settings(text).handler {
        Some(Handler::Origin { protocol, target, .. }) => (protocol, target.lossy().into_owned()),
        _ => panic!("no handler"),
    };
    assert_eq!(target("fastcgi_pass unix:/run/php.sock;"), (ENVIRONMENT, "unix:/run/php.sock".into()));
    assert_eq!(target("proxy_pass http://a:80/b;"), (URL, "http://a:80/b".into()));
    assert_eq!(target("proxy_pass $scheme://$host;"), (URL, "$scheme://$host".into()));
}

#[test]
fn what_one_family_lacks_is_unknown_there() {
    for text in ["proxy_param A b;", "fastcgi_set_header A b;", "fastcgi_ssl_verify on;"] {
        assert!(crate::refusal(&format!("http {{ {text} }}")).contains("unknown directive"), "{text}");
    }
}

#[test]
fn a_cache_zone_is_read() {
    let http = http(
        "fastcgi_cache_path /c levels=1:2 keys_zone=Z:10m memory=64m max_size=1g inactive=1h use_temp_path=off;",
    );
    let zone = &http.cache_zones[0];
    assert_eq!(
        (zone.name.as_str(), zone.levels.as_slice(), zone.keys_zone_size),
        ("Z", [1, 2].as_slice(), 10 << 20)
    );
    assert_eq!(
        (zone.memory, zone.max_size, zone.inactive, zone.use_temp_path),
        (Some(64 << 20), Some(1 << 30), 3_600_000, false)
    );
}

#[test]
fn words_of_next_upstream_set_their_condition() {
    let next = |text: &str| settings(text).origin(URL).next_upstream;
    for status in [500, 502, 503, 504, 403, 404, 429] {
        assert!(!NextUpstream::OFF.on_status(status));
        let named = next(&format!("proxy_next_upstream http_{status};"));
        assert!(named.on_status(status) && !named.on_status(200) && !named.error);
    }
    let all = next("proxy_next_upstream error timeout; proxy_next_upstream invalid_header;");
    assert!(all.error && all.timeout && all.invalid_header && !all.non_idempotent);
    let bounds = "proxy_next_upstream_tries 3; proxy_next_upstream_timeout 2s;";
    let off = NextUpstream { tries: 3, timeout_ms: 2000, ..NextUpstream::OFF };
    for text in ["off", "error off", "off; proxy_next_upstream error"] {
        assert_eq!(next(&format!("{bounds} proxy_next_upstream {text};")), off, "{text}");
    }
    assert!(next("proxy_next_upstream denied; proxy_next_upstream error;").error);
}

#[test]
fn only_url_protocol_has_default_cache_key() {
    assert_eq!(URL.default_key().text, "$proxy_host$request_uri");
    assert!(ENVIRONMENT.default_key().warned);
}

#[test]
fn upstreams_hold_servers_balance_and_keepalive() {
    let http = http(
        "upstream a { server 127.0.0.1; server php.example:9000 weight=3 max_fails=0 fail_timeout=5s max_conns=7 backup;
                      server unix:/s down; server [::1]:81; keepalive 8; keepalive_timeout 30s; keepalive_requests 10;
                      queue 9 timeout=5s; }
         upstream b { least_conn; server 127.0.0.1; queue 1; } upstream c { hash $uri consistent; server 127.0.0.1; }
         upstream d { ip_hash; server 127.0.0.1; } upstream e { random two least_conn; server 127.0.0.1; }",
    );
    let a = &http.upstreams[0];
    assert_eq!(a.queue, Some(UpstreamQueue { max: 9, timeout_ms: 5_000 }));
    assert_eq!(http.upstreams[1].queue, Some(UpstreamQueue { max: 1, timeout_ms: 60_000 }));
    assert_eq!(http.upstreams[2].queue, None);
    assert_eq!(a.servers[0].address, UpstreamAddress::Ip("127.0.0.1:80".parse().unwrap()));
    assert_eq!(a.servers[1].address, UpstreamAddress::Host("php.example".into(), 9000));
    let second = &a.servers[1];
    assert_eq!((second.weight, second.max_fails, second.fail_timeout, second.max_conns), (3, 0, 5_000, 7));
    assert!(second.backup && a.servers[2].down);
    assert_eq!(a.servers[2].address, UpstreamAddress::Unix(b"/s".to_vec()));
    assert_eq!(a.servers[3].address, UpstreamAddress::Ip("[::1]:81".parse().unwrap()));
    assert_eq!((a.keepalive, a.keepalive_timeout, a.keepalive_requests), (Some(8), 30_000, 10));
    let balances: Vec<_> = http.upstreams.iter().map(|upstream| upstream.balance).collect();
    assert_eq!(balances[0], Balance::RoundRobin);
    assert_eq!(balances[1], Balance::LeastConnections);
    assert_eq!(balances[2], Balance::Hash { consistent: true });
    let keys = http.upstreams.iter().map(|upstream| upstream.hash_key.as_ref().map(Text::bytes));
    assert_eq!(keys.collect::<Vec<_>>(), [None, None, Some(&b"$uri"[..]), None, None]);
    assert_eq!(balances[3..], [Balance::IpHash, Balance::Random { two: Some(LeastMeasure::Connections) }]);
}
