use myriad_conf::model::{LogEscape, MapKey};
use myriad_conf::settings::LogLevel;

use crate::{http, settings};

#[test]
fn maps_know_exact_regex_and_host_keys() {
    let map = &http(
        "map $host:$a $v { hostnames; volatile; default d; Exact 1; ~^re 2; ~*RE 3; *.h.com 4; .i.com 5; www.j.* 6;
           \\~x 7; \\default 8; \"\" 9; include_me $b; }",
    )
    .maps[0];
    assert_eq!(
        (map.source.bytes(), map.variable.bytes(), map.default.bytes()),
        (b"$host:$a".as_slice(), b"v".as_slice(), b"d".as_slice())
    );
    assert!(map.hostnames && map.volatile);
    let keys: Vec<_> = map
        .entries
        .iter()
        .map(|entry| match &entry.key {
            MapKey::Exact(text) => format!("exact {}", text.lossy()),
            MapKey::Regex { pattern, caseless } => format!("regex {caseless} {}", pattern.lossy()),
            MapKey::HostSuffix(text) => format!("suffix {}", text.lossy()),
            MapKey::HostPrefix(text) => format!("prefix {}", text.lossy()),
        })
        .collect();
    let expected = [
        "exact Exact",
        "regex false ^re",
        "regex true RE",
        "suffix *.h.com",
        "suffix .i.com",
        "prefix www.j.*",
        "exact ~x",
        "exact default",
        "exact ",
        "exact include_me",
    ];
    assert_eq!(keys, expected);
}

#[test]
fn without_hostnames_a_star_is_text() {
    let map = &http("map $a $b { *.x 1; }").maps[0];
    assert!(matches!(&map.entries[0].key, MapKey::Exact(text) if text.bytes() == b"*.x"));
}

#[test]
fn geo_holds_networks_or_ranges() {
    let http = http(
        "geo $a { default 0; 10.0.0.0/8 1; 10.1.2.3 2; 2001:db8::/32 3; delete 10.1.2.3; }
         geo $arg_ip $b { ranges; 10.0.0.1-10.0.0.9 x; }",
    );
    let geo = &http.geos[0];
    assert_eq!((geo.source.as_ref(), geo.variable.bytes(), geo.entries.len()), (None, b"a".as_slice(), 4));
    // Entries are stored in source order, including deletions.
    assert_eq!(geo.entries[0].last.to_string(), "10.255.255.255");
    assert_eq!(geo.entries[1].last.to_string(), "10.1.2.3");
    assert_eq!(geo.entries[2].last.to_string(), "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff");
    let ranges = &http.geos[1];
    assert_eq!(ranges.source.as_ref().unwrap().bytes(), b"arg_ip");
    assert_eq!(ranges.entries[0].last.to_string(), "10.0.0.9");
}

#[test]
fn geo_knows_the_proxies_that_it_trusts() {
    let http = http("geo $a { default 0; proxy 10.0.0.1; proxy 192.168.0.0/16; proxy_recursive; }");
    let geo = &http.geos[0];
    let proxies: Vec<String> = geo.proxies.iter().map(|(ip, bits)| format!("{ip}/{bits}")).collect();
    assert_eq!((proxies, geo.proxy_recursive), (vec!["10.0.0.1/32".into(), "192.168.0.0/16".into()], true));
}

#[test]
fn split_clients_count_hundredths_of_a_per_cent() {
    let shares = &http("split_clients $a $b { 0.5% x; 33.33% y; 2% w; * z; }").split_clients[0].shares;
    assert_eq!(
        shares.iter().map(|share| share.share).collect::<Vec<_>>(),
        [Some(50), Some(3333), Some(200), None]
    );
}

#[test]
fn log_formats_join_their_words() {
    let http =
        http("log_format f escape=json '{' '\"u\":\"$uri\"}'; access_log a f buffer=8k flush=1m if=$x;");
    let names: Vec<_> = http.log_formats.iter().map(|format| format.name.as_str()).collect();
    assert_eq!(names, ["combined", "json", "f"]);
    assert_eq!(http.log_formats[2].format.bytes(), b"{\"u\":\"$uri\"}".as_slice());
    assert_eq!(http.log_formats[2].escape, LogEscape::Json);
    let log = &http.settings.log.access[0];
    assert_eq!((log.format.as_str(), log.buffer, log.flush), ("f", Some(8192), Some(60_000)));
    assert_eq!(log.condition.as_ref().unwrap().bytes(), b"$x");
}

#[test]
fn a_configuration_may_have_a_format_named_json_of_its_own_but_not_two() {
    let http = http("log_format json '$uri'; access_log a json;");
    let of_json: Vec<_> = http.log_formats.iter().filter(|format| format.name == "json").collect();
    assert_eq!((of_json.len(), of_json[0].format.bytes()), (1, b"$uri".as_slice()));
}

#[test]
fn a_log_may_be_a_sample() {
    let log = &settings("access_log a combined sample=1/100 buffer=4k;").log.access[0];
    assert_eq!((log.sample, log.buffer), (Some(100), Some(4096)));
    assert_eq!(settings("access_log a sample=1/1;").log.access[0].format, "combined");
}

#[test]
fn error_log_format_json_and_level_are_independent() {
    let logs = settings("error_log a format=json; error_log b format=json repeat=all warn; error_log c;")
        .log
        .error
        .clone();
    let seen: Vec<_> = logs.iter().map(|log| (log.level, log.is_json, log.repeats_all)).collect();
    let expected =
        [(LogLevel::Error, true, false), (LogLevel::Warn, true, true), (LogLevel::Error, false, false)];
    assert_eq!(seen, expected);
}

#[test]
fn several_access_logs_of_one_level_all_count() {
    assert_eq!(settings("access_log a; access_log b combined;").log.access.len(), 2);
    assert_eq!(settings("").log.access[0].path.bytes(), b"logs/access.log");
}
