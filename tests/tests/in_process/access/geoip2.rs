//! Tests of `geoip2`.

use myriad_access::geo_database::geoip2::database::{Geoip2Database, ValuePath};
use myriad_serve::testing::{TestFolder, TestSite, send_request};

use super::geoip2_builder::{TestValue, database};

const BUILT_S: u64 = 1_700_000_000;

fn country(code: &'static str, name: &'static str) -> TestValue {
    let names = TestValue::Map(vec![("en", TestValue::Text(name))]);
    TestValue::Map(vec![(
        "country",
        TestValue::Map(vec![("iso_code", TestValue::Text(code)), ("names", names)]),
    )])
}

/// Returns a map with every type of value.
fn types() -> TestValue {
    TestValue::Map(vec![
        ("text", TestValue::Text("Zürich")),
        ("bytes", TestValue::Bytes(b"raw")),
        ("true", TestValue::Bool(true)),
        ("double", TestValue::Double(-47.366_667)),
        ("float", TestValue::Float(8.5)),
        ("u16", TestValue::U16(65_535)),
        ("u32", TestValue::U32(2_661_552)),
        ("i32", TestValue::I32(-5)),
        ("u64", TestValue::U64(u64::MAX)),
        ("u128", TestValue::U128(0xab << 64 | 1)),
        ("list", TestValue::List(vec![country("A", ""), country("B", ""), country("C", "")])),
        ("map", TestValue::Map(vec![("0", TestValue::Text("by its key"))])),
    ])
}

/// Returns a folder with a database of 127.0.0.0/8, 81.2.69.0/24 and 2001:db8::/32.
fn folder(name: &str) -> TestFolder {
    let folder = TestFolder::new(&format!("geoip2-{name}"));
    let networks = [
        ("::7f00:0/104", country("LO", "Loopback")),
        ("::5102:4500/120", country("GB", "United Kingdom")),
        ("2001:db8::/32", types()),
    ];
    std::fs::write(folder.0.join("x.mmdb"), database(&networks, BUILT_S)).expect("a file");
    folder
}

/// Returns the response of a location that returns `text`, for a configuration with these lines in its `geoip2` block.
fn shown(folder: &TestFolder, lines: &str, text: &str, fields: &[(&str, &str)]) -> String {
    let http = format!("geoip2_proxy 127.0.0.1; geoip2 x.mmdb {{ {lines} }}");
    let site = TestSite::in_folder(&folder.0, &http, &format!("location / {{ return 200 \"{text}\"; }}"));
    send_request(&site, "GET /", fields).text
}

#[test]
fn geoip2_looks_up_client_or_address_from_trusted_proxy() {
    let folder = folder("client");
    let lines = "$code default=?? country iso_code; $name country names en;";
    let lookup = |address| shown(&folder, lines, "$code $name.", &[("X-Forwarded-For", address)]);
    assert_eq!(shown(&folder, lines, "$code $name.", &[]), "LO Loopback.");
    assert_eq!(lookup("81.2.69.160"), "GB United Kingdom.");
    assert_eq!(lookup("81.2.70.160"), "?? .");
    assert_eq!(lookup("2001:db8::1"), "?? .", "that network has no country");
    assert_eq!(lookup("nonsense"), "LO Loopback.");
}

#[test]
fn source_is_looked_up_and_no_proxy_is_asked_about_it() {
    let folder = folder("source");
    let lines = "$code default=none source=$arg_ip country iso_code;";
    let http = format!("geoip2_proxy 127.0.0.1; geoip2 x.mmdb {{ {lines} }}");
    let site = TestSite::in_folder(&folder.0, &http, "location / { return 200 $code; }");
    for (address, code) in
        [("81.2.69.1", "GB"), ("::ffff:81.2.69.1", "GB"), ("8.8.8.8", "none"), ("", "none"), ("x", "none")]
    {
        let fields = [("X-Forwarded-For", "81.2.69.160")];
        assert_eq!(send_request(&site, &format!("GET /?ip={address}"), &fields).text, code, "{address}");
    }
}

#[test]
fn values_of_every_type_are_shown_as_by_the_module() {
    let folder = folder("types");
    for (path, value) in [
        ("text", "Zürich"),
        ("bytes", "raw"),
        ("true", "1"),
        ("double", "-47.36667"),
        ("float", "8.50000"),
        ("u16", "65535"),
        ("u32", "2661552"),
        ("i32", "-5"),
        ("u64", "18446744073709551615"),
        ("u128", "0x00000000000000ab0000000000000001"),
        ("list 1 country iso_code", "B"),
        ("list -1 country iso_code", "C"),
        ("list +1 country iso_code", "none"),
        ("list 3 country iso_code", "none"),
        ("map 0", "by its key"),
        ("map", "none"),
        ("list", "none"),
        ("text deeper", "none"),
        ("nothing", "none"),
    ] {
        let lines = format!("$value default=none {path};");
        assert_eq!(shown(&folder, &lines, "$value", &[("X-Forwarded-For", "2001:db8::1")]), value, "{path}");
    }
}

#[test]
fn metadata_contain_build_and_read_times() {
    let folder = folder("metadata");
    let lines = "auto_reload 5m; $built metadata build_epoch; $looked metadata last_check; \
                 $read metadata last_change;";
    let text = shown(&folder, lines, "$built $looked $read", &[]);
    let numbers: Vec<u64> = text.split(' ').map(|word| word.parse().expect("a number")).collect();
    assert_eq!(numbers[0], BUILT_S);
    assert!(numbers[1] > BUILT_S && numbers[2] > BUILT_S, "{text}");
}

#[test]
fn maps_and_conditions_read_the_variable() {
    let folder = folder("maps");
    let http = "geoip2 x.mmdb { $code country iso_code; } map $code $door { LO open; default shut; }";
    let server = "location / { if ($code = LO) { return 200 $door; } return 403; }";
    let site = TestSite::in_folder(&folder.0, http, server);
    assert_eq!(send_request(&site, "GET /", &[]).text, "open");
}

#[test]
fn damaged_geoip2_database_yields_no_foreign_data() {
    let folder = folder("damaged");
    let sound = std::fs::read(folder.0.join("x.mmdb")).expect("a file");
    let end = sound.windows(4).position(|window| window == b"\xab\xcd\xefM").expect("metadata");
    for place in 0..end {
        let mut damaged = sound.clone();
        damaged[place] ^= 0xff;
        let Ok(database) = Geoip2Database::read(damaged) else { continue };
        for address in ["127.0.0.1", "81.2.69.160", "2001:db8::1", "ffff::"] {
            let path = ValuePath::new(&["country".into(), "iso_code".into()]);
            let mut out = Vec::new();
            let found = database.find(address.parse().unwrap(), &path, &mut out);
            assert!(found || out.is_empty());
        }
    }
}
