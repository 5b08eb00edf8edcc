//! Variables `$geoip_*`.

use std::sync::Arc;

use super::compile::GeoipDatabases;
use super::database::{City, Country, GeoipContent};
use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::runtime::Reads::Connection;
use myriad_exchange::runtime::RowValue::Made;

/// Defines a variable with one part of the client's country or city.
macro_rules! row {
    ($name:literal, $find:ident, $part:expr) => {
        RequestVariable::new("geoip", $name, &[Connection], Made(|request, out| $find(request, out, $part)))
            .yielding()
    };
}

/// Variables with data of the client address. Variables of the configuration with the same names take precedence:
/// without a database, configurations may define these names by maps.
pub(super) const VARIABLES: &[RequestVariable] = &[
    row!("geoip_country_code", country, |country| country.code),
    row!("geoip_country_code3", country, |country| country.code3),
    row!("geoip_country_name", country, |country| country.name),
    RequestVariable::new("geoip", "geoip_org", &[Connection], Made(organisation)).yielding(),
    row!("geoip_city_continent_code", city, |city, out| append_text(out, city.country.continent.as_bytes())),
    row!("geoip_city_country_code", city, |city, out| append_text(out, city.country.code.as_bytes())),
    row!("geoip_city_country_code3", city, |city, out| append_text(out, city.country.code3.as_bytes())),
    row!("geoip_city_country_name", city, |city, out| append_text(out, city.country.name.as_bytes())),
    row!("geoip_region", city, |city, out| append_text(out, city.region)),
    row!("geoip_city", city, |city, out| append_text(out, city.city)),
    row!("geoip_postal_code", city, |city, out| append_text(out, city.postal_code)),
    row!("geoip_latitude", city, |city, out| degrees(out, city.latitude)),
    row!("geoip_longitude", city, |city, out| degrees(out, city.longitude)),
    row!("geoip_dma_code", city, |city, out| append_text(out, city.codes.0.to_string().as_bytes())),
    row!("geoip_area_code", city, |city, out| append_text(out, city.codes.1.to_string().as_bytes())),
];

/// Returns the databases and the address to look up; `None` without databases or for a client on a Unix socket.
fn lookup_input(request: &Request) -> Option<(&GeoipDatabases, std::net::IpAddr)> {
    let databases: &GeoipDatabases = request.place().features.get::<Arc<GeoipDatabases>>()?;
    let forwarded_for = request.received.head.fields().get_all(b"X-Forwarded-For");
    let forwarded_for: Vec<&[u8]> = forwarded_for.collect();
    Some((databases, databases.proxies.forwarded_client(request.client(), forwarded_for.into_iter())?))
}

fn country(request: &Request, out: &mut Vec<u8>, part: fn(&Country) -> &'static str) -> bool {
    let found = lookup_input(request)
        .and_then(|(databases, address)| databases.of(GeoipContent::Country)?.0.country(address));
    found.is_some_and(|country| append_text(out, part(&country).as_bytes()))
}

fn organisation(request: &Request, out: &mut Vec<u8>) -> bool {
    let Some((databases, address)) = lookup_input(request) else { return false };
    let Some((database, utf8)) = databases.of(GeoipContent::Organisation) else { return false };
    let before = out.len();
    let found = database.organisation(address).is_some_and(|text| append_text(out, text));
    finish_text(out, before, utf8);
    found
}

fn city(request: &Request, out: &mut Vec<u8>, show: fn(&City<'_>, &mut Vec<u8>) -> bool) -> bool {
    let Some((databases, address)) = lookup_input(request) else { return false };
    let Some((database, utf8)) = databases.of(GeoipContent::City) else { return false };
    let before = out.len();
    let found = database.city(address).is_some_and(|city| show(&city, out));
    finish_text(out, before, utf8);
    found
}

/// Converts the bytes of `out` after position `before` from ISO-8859-1 to UTF-8 if `utf8` is set.
fn finish_text(out: &mut Vec<u8>, before: usize, utf8: bool) {
    if utf8 && !out[before..].is_ascii() {
        let text: String = out[before..].iter().map(|byte| char::from(*byte)).collect();
        out.truncate(before);
        out.extend_from_slice(text.as_bytes());
    }
}

/// Appends a text to `out`; returns whether the text is not empty, so that the variable has a value.
fn append_text(out: &mut Vec<u8>, text: &[u8]) -> bool {
    out.extend_from_slice(text);
    !text.is_empty()
}

fn degrees(out: &mut Vec<u8>, ten_thousandths: i32) -> bool {
    let (sign, value) = (if ten_thousandths < 0 { "-" } else { "" }, ten_thousandths.unsigned_abs());
    append_text(out, format!("{sign}{}.{:04}", value / 10_000, value % 10_000).as_bytes())
}
