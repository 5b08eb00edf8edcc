//! Tests of `geoip_country`, `geoip_city` and `geoip_org`.

use std::net::IpAddr;

use myriad_serve::testing::variables::{VariableCase, assert_unset};
use myriad_serve::testing::{TestFolder, TestSite, send_request};

use myriad_access::geo_database::geoip::database::{GeoipContent, GeoipDatabase};

const ENGLAND: u8 = 77;

/// Returns the tree of a database in which 127.0.0.0/8 has the record `found`, and all other addresses the record
/// `nothing`.
fn tree(record: usize, nothing: usize, found: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for depth in 0..8_usize {
        let bit = 127 >> (7 - depth) & 1;
        let mut sides = [nothing; 2];
        sides[bit] = if depth == 7 { found } else { depth + 1 };
        for side in sides {
            bytes.extend_from_slice(&side.to_le_bytes()[..record]);
        }
    }
    bytes
}

fn with_structure(mut bytes: Vec<u8>, edition: u8, segment: usize) -> Vec<u8> {
    bytes.extend([255, 255, 255, edition]);
    bytes.extend_from_slice(&segment.to_le_bytes()[..3]);
    bytes
}

fn countries() -> Vec<u8> {
    with_structure(tree(3, 16_776_960, 16_776_960 + usize::from(ENGLAND)), 106, 0)
}

fn degrees(value: f64) -> Vec<u8> {
    (((value + 180.0) * 10_000.0).round() as u32).to_le_bytes()[..3].to_vec()
}

fn cities(country: u8) -> Vec<u8> {
    let segment = 8;
    // A byte before the texts, because a record that points to their start counts as not found.
    let mut bytes = tree(3, segment, segment + 1);
    bytes.push(0);
    bytes.push(country);
    bytes.extend(b"H9\0Z\xfcrich\0W1\0");
    bytes.extend(degrees(51.5142));
    bytes.extend(degrees(-0.0931));
    bytes.extend_from_slice(&(501_212_u32).to_le_bytes()[..3]);
    with_structure(bytes, 107, segment)
}

fn organisations() -> Vec<u8> {
    let mut bytes = tree(4, 8, 9);
    bytes.extend(b"\0An Organisation\0");
    with_structure(bytes, 110, 8)
}

fn shown(http: &str, folder: &TestFolder, text: &str, fields: &[(&str, &str)]) -> String {
    let http = http.replace("@DIR@", &folder.0.display().to_string());
    let site = TestSite::new(&http, &format!("location / {{ return 200 \"{text}\"; }}"));
    send_request(&site, "GET /", fields).text
}

fn folder(name: &str) -> TestFolder {
    let folder = TestFolder::new(&format!("geoip-{name}"));
    for (file, bytes) in [
        ("country.dat", countries()),
        ("city.dat", cities(ENGLAND)),
        ("us.dat", cities(225)),
        ("org.dat", organisations()),
    ] {
        std::fs::write(folder.0.join(file), bytes).expect("a file");
    }
    folder
}

#[test]
fn country_is_looked_up_for_client_or_address_from_trusted_proxy() {
    let folder = folder("country");
    let text = "$geoip_country_code $geoip_country_code3 $geoip_country_name";
    let http = "geoip_country @DIR@/country.dat; geoip_proxy 127.0.0.1;";
    assert_eq!(shown(http, &folder, text, &[]), "GB GBR United Kingdom");
    assert_eq!(shown(http, &folder, text, &[("X-Forwarded-For", "8.8.8.8")]), "  ");
    assert_eq!(shown(http, &folder, text, &[("X-Forwarded-For", "2001:db8::1")]), "  ");
    assert_eq!(shown("", &folder, text, &[]), "  ", "the variables exist without a database, as in nginx");
}

#[test]
fn city_has_all_its_parts() {
    let folder = folder("city");
    let text = "$geoip_city_continent_code|$geoip_city_country_code|$geoip_city_country_code3|$geoip_city_country_name|\
                $geoip_region|$geoip_city|$geoip_postal_code|$geoip_latitude|$geoip_longitude|$geoip_dma_code|$geoip_area_code";
    let city = |file: &str| shown(&format!("geoip_city @DIR@/{file} utf8;"), &folder, text, &[]);
    assert_eq!(city("city.dat"), "EU|GB|GBR|United Kingdom|H9|Zürich|W1|51.5142|-0.0931|0|0");
    assert_eq!(city("us.dat"), "NA|US|USA|United States|H9|Zürich|W1|51.5142|-0.0931|501|212");
}

#[test]
fn organisation_is_a_text() {
    let folder = folder("org");
    assert_eq!(shown("geoip_org @DIR@/org.dat;", &folder, "$geoip_org", &[]), "An Organisation");
}

#[test]
fn damaged_geoip_database_yields_no_out_of_range_data() {
    let addresses: Vec<IpAddr> =
        ["127.0.0.1", "8.8.8.8", "255.255.255.255", "2001:db8::1"].map(|text| text.parse().unwrap()).into();
    for sound in [countries(), cities(225), organisations()] {
        for place in 0..sound.len() {
            for end in [sound.len(), place] {
                let mut damaged = sound[..end].to_vec();
                if let Some(byte) = damaged.get_mut(place) {
                    *byte ^= 0xff;
                }
                let Ok(database) = GeoipDatabase::read(damaged) else { continue };
                for address in &addresses {
                    _ = database.country(*address);
                    assert!(database.organisation(*address).is_none_or(|text| text.len() < 300));
                    _ = database.city(*address);
                }
            }
        }
    }
}

#[test]
fn database_of_the_debian_package_is_read() {
    for (file, address, code) in [
        ("/usr/share/GeoIP/GeoIP.dat", "8.8.8.8", "US"),
        ("/usr/share/GeoIP/GeoIP.dat", "81.2.69.160", "GB"),
        ("/usr/share/GeoIP/GeoIPv6.dat", "2001:4860:4860::8888", "US"),
    ] {
        // The package may not be installed.
        let Ok(bytes) = std::fs::read(file) else { continue };
        let database = GeoipDatabase::read(bytes).expect("a database");
        assert_eq!(database.content(), GeoipContent::Country);
        let country = database.country(address.parse().unwrap());
        assert_eq!(country.map(|country| country.code), Some(code), "{address}");
    }
}

#[test]
fn nothing_is_known_of_an_address_without_a_database() {
    assert_unset(
        &mut VariableCase::default().begin(),
        &[
            "geoip_country_code",
            "geoip_country_code3",
            "geoip_country_name",
            "geoip_org",
            "geoip_city_continent_code",
            "geoip_city_country_code",
            "geoip_city_country_code3",
            "geoip_city_country_name",
            "geoip_region",
            "geoip_city",
            "geoip_postal_code",
            "geoip_latitude",
            "geoip_longitude",
            "geoip_dma_code",
            "geoip_area_code",
        ],
    );
}
