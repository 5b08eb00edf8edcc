//! Lookup of an address in the bytes of a legacy GeoIP file.
//!
//! The file contains a binary tree over the bits of addresses. Each node has two records; a record is the number of a
//! node, or a result if it is at least `segment` (the number of nodes). The texts that records point to follow the
//! tree. The structure information is in the last [`MOST_INFO`] bytes, after three bytes of 255: the edition, and for
//! most editions the number of nodes.

use std::net::IpAddr;

/// Number of the first country record in a country database: record `COUNTRIES + n` is country number `n`. Smaller
/// numbers are nodes of the search tree.
const COUNTRIES: usize = 16_776_960;
/// Maximum size of the structure information (type, number of nodes) at the end of a database file, in bytes.
const MOST_INFO: usize = 20;
/// Maximum length of a text in a database including its NUL byte, in bytes; a longer text is treated as damaged data.
const MOST_TEXT: usize = 300;
/// Number of the United States in `countries.list`; cities there also have a metro code and an area code.
const UNITED_STATES: u8 = 225;

/// Type of a legacy GeoIP database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeoipContent {
    /// Database of countries.
    Country,
    /// Database of cities.
    City,
    /// Database of organisations, providers, domains or network numbers: one text per address.
    Organisation,
}

/// Legacy GeoIP database (`.dat` file) in memory.
pub struct GeoipDatabase {
    bytes: Vec<u8>,
    content: GeoipContent,
    /// True if the search tree is over IPv6 addresses (IPv4 addresses are mapped); false for IPv4 only.
    six: bool,
    /// True if cities of the United States have a metro code and an area code.
    has_codes: bool,
    segment: usize,
    /// Size of a record of the search tree (half of a node), in bytes.
    record: usize,
}

/// Country of an address.
pub struct Country {
    /// Two-letter code of the country.
    pub code: &'static str,
    /// Three-letter code of the country.
    pub code3: &'static str,
    /// Two-letter code of the continent of the country.
    pub continent: &'static str,
    /// English name of the country.
    pub name: &'static str,
}

/// Record of a city database. Unknown texts are empty.
pub struct City<'a> {
    /// Country of the city.
    pub country: Country,
    /// Code of the region of the city.
    pub region: &'a [u8],
    /// Name of the city.
    pub city: &'a [u8],
    /// Postal code of the city.
    pub postal_code: &'a [u8],
    /// Latitude of the city, in ten-thousandths of a degree.
    pub latitude: i32,
    /// Longitude of the city, in ten-thousandths of a degree.
    pub longitude: i32,
    /// Metro (DMA) code and telephone area code in the United States; 0 elsewhere, and for a database without codes.
    pub codes: (u32, u32),
}

impl GeoipDatabase {
    /// Reads the structure of a database from its bytes; the error is a text for a message.
    pub fn read(bytes: Vec<u8>) -> Result<Self, String> {
        let (edition, info) = structure(&bytes);
        // Editions from 106 on are offset by 105.
        let edition = if edition >= 106 { edition - 105 } else { edition };
        let (content, six, has_codes, record) = match edition {
            1 => (GeoipContent::Country, false, false, 3),
            12 => (GeoipContent::Country, true, false, 3),
            2 => (GeoipContent::City, false, true, 3),
            6 => (GeoipContent::City, false, false, 3),
            30 => (GeoipContent::City, true, true, 3),
            31 => (GeoipContent::City, true, false, 3),
            4 | 5 | 11 => (GeoipContent::Organisation, false, false, 4),
            9 => (GeoipContent::Organisation, false, false, 3),
            21 => (GeoipContent::Organisation, true, false, 3),
            22..=24 => (GeoipContent::Organisation, true, false, 4),
            other => return Err(format!("unsupported edition {other}")),
        };
        let segment = match (content, info) {
            (GeoipContent::Country, _) => COUNTRIES,
            (_, Some(number)) => number,
            (_, None) => return Err("the number of nodes is missing".to_owned()),
        };
        if bytes.len() < 2 * record {
            return Err("the file is too short".to_owned());
        }
        Ok(Self { bytes, content, six, has_codes, segment, record })
    }

    /// Returns the type of the database.
    pub fn content(&self) -> GeoipContent {
        self.content
    }

    /// Returns the country of an address; `None` if it is unknown, if the data is damaged, or for an IPv6 address in
    /// an IPv4 database. The database must be a country database.
    pub fn country(&self, address: IpAddr) -> Option<Country> {
        let found = self.find(address)?.checked_sub(COUNTRIES)?;
        // Number 0 means unknown.
        country(u8::try_from(found).ok().filter(|number| *number > 0)?)
    }

    /// Returns the text of an address; `None` if it is unknown, if the data is damaged, or for an IPv6 address in an
    /// IPv4 database. The database must be an organisation database.
    pub fn organisation(&self, address: IpAddr) -> Option<&[u8]> {
        let mut rest = self.text_of(address)?;
        take_text(&mut rest)
    }

    /// Returns the city of an address; `None` if it is unknown, if the data is damaged, or for an IPv6 address in an
    /// IPv4 database. The database must be a city database.
    pub fn city(&self, address: IpAddr) -> Option<City<'_>> {
        let mut rest = self.text_of(address)?;
        let (&number, behind) = rest.split_first()?;
        rest = behind;
        let (region, city) = (take_text(&mut rest)?, take_text(&mut rest)?);
        let postal_code = take_text(&mut rest)?;
        let (latitude, longitude) = (take_degrees(&mut rest)?, take_degrees(&mut rest)?);
        let codes = if self.has_codes && number == UNITED_STATES { little_endian(rest.get(..3)?) } else { 0 };
        let codes = ((codes / 1000) as u32, (codes % 1000) as u32);
        Some(City { country: country(number)?, region, city, postal_code, latitude, longitude, codes })
    }

    /// Returns the bytes of the database from the data of an address on; `None` if the address is unknown or the data
    /// is damaged.
    fn text_of(&self, address: IpAddr) -> Option<&[u8]> {
        let found = self.find(address).filter(|found| *found > self.segment)?;
        self.bytes.get(found.checked_add((2 * self.record - 1).checked_mul(self.segment)?)?..)
    }

    /// Returns the final record of the search tree for an address, from which its data is found; `None` if the tree is
    /// damaged, or for an IPv6 address in an IPv4 database.
    fn find(&self, address: IpAddr) -> Option<usize> {
        let (bits, count) = match (address.to_canonical(), self.six) {
            (IpAddr::V4(four), false) => (u128::from(u32::from(four)), 32),
            (IpAddr::V4(four), true) => (u128::from(four.to_ipv6_mapped()), 128),
            (IpAddr::V6(six), true) => (u128::from(six), 128),
            (IpAddr::V6(_), false) => return None,
        };
        let mut node = 0;
        for bit in (0..count).rev() {
            let side = (bits >> bit & 1) as usize;
            let at = (2 * node + side) * self.record;
            node = little_endian(self.bytes.get(at..at + self.record)?);
            if node >= self.segment {
                return Some(node);
            }
        }
        None
    }
}

/// Returns the edition (type number) of a database file, and the number of nodes if it follows the type number. The
/// edition is 1 (countries) if the file has no type number in its last bytes.
fn structure(bytes: &[u8]) -> (u8, Option<usize>) {
    for from_end in 3..3 + MOST_INFO {
        let Some(at) = bytes.len().checked_sub(from_end) else { break };
        if let [255, 255, 255, edition, rest @ ..] = &bytes[at..] {
            return (*edition, rest.get(..3).map(little_endian));
        }
    }
    // A file without structure information is a country database, the oldest edition.
    (1, None)
}

fn little_endian(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

/// Splits off a text and its terminating NUL byte; `None` if there is no NUL byte within [`MOST_TEXT`] bytes.
fn take_text<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.iter().take(MOST_TEXT).position(|byte| *byte == 0)?;
    let text = &rest[..end];
    *rest = &rest[end + 1..];
    Some(text)
}

fn take_degrees(rest: &mut &[u8]) -> Option<i32> {
    let (bytes, behind) = rest.split_at_checked(3)?;
    *rest = behind;
    Some(little_endian(bytes) as i32 - 1_800_000)
}

fn country(number: u8) -> Option<Country> {
    let line = include_str!("countries.list").lines().nth(usize::from(number))?;
    let mut words = line.splitn(4, ' ');
    let (code, code3, continent) = (words.next()?, words.next()?, words.next()?);
    Some(Country { code, code3, continent, name: words.next()? })
}
