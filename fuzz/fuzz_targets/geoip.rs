//! GeoIP databases in the legacy format (`geoip_country` and others): lookups never panic for any file.
#![no_main]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use libfuzzer_sys::fuzz_target;
use myriad_access::geo_database::geoip::database::GeoipDatabase;

fuzz_target!(|input: (u128, Vec<u8>)| {
    let (bits, bytes) = input;
    let length = bytes.len();
    let Ok(database) = GeoipDatabase::read(bytes) else { return };
    let addresses = [IpAddr::from(Ipv4Addr::from(bits as u32)), IpAddr::from(Ipv6Addr::from(bits))];
    for address in addresses {
        if let Some(country) = database.country(address) {
            assert!(country.code.len() == 2 && country.continent.len() == 2);
        }
        // The result is part of the file and bounded.
        assert!(database.organisation(address).is_none_or(|text| text.len() < length.min(300)));
        if let Some(city) = database.city(address) {
            assert!(city.region.len() + city.city.len() + city.postal_code.len() < length);
            assert!(city.codes.1 < 1000);
        }
    }
});
