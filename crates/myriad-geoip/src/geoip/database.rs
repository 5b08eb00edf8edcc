//! An address looked up in the bytes of a file.
//!
//! The file is a binary tree over the bits of addresses: nodes of two records, each the number of a node, or from `segment` on what was
//! found. Behind the tree lie the texts that a record points to. How it is made stands at the end, behind three bytes of 255, within
//! the last [`MOST_INFO`] bytes: the edition, and for most the number of nodes.

use std::net::IpAddr;

/// Where countries begin among records, whatever the number of nodes.
const COUNTRIES: usize = 16_776_960;
/// How far from the end the structure of a file may begin.
const MOST_INFO: usize = 20;
/// Longest text that is believed.
const MOST_TEXT: usize = 300;
/// The number of the United States, where records have two codes more.
const UNITED_STATES: u8 = 225;

/// What a database is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Countries.
    Country,
    /// Cities.
    City,
    /// Organisations, providers, domains, numbers of networks: a text.
    Organisation,
}

/// A database.
pub struct Database {
    bytes: Vec<u8>,
    content: Content,
    /// Whether the tree is one of IPv6.
    six: bool,
    /// Whether cities of the United States have two codes.
    has_codes: bool,
    segment: usize,
    /// Bytes of a record.
    record: usize,
}

/// A country.
pub struct Country {
    /// Its code, of two letters.
    pub code: &'static str,
    /// Its code, of three letters.
    pub code3: &'static str,
    /// Its continent, in two letters.
    pub continent: &'static str,
    /// Its name, in English.
    pub name: &'static str,
}

/// What a database of cities says of an address. Texts are empty where nothing is said.
pub struct City<'a> {
    /// The country.
    pub country: Country,
    /// The code of the region.
    pub region: &'a [u8],
    /// The name of the city.
    pub city: &'a [u8],
    /// The postal code.
    pub postal_code: &'a [u8],
    /// Ten-thousandths of a degree.
    pub latitude: i32,
    /// Ten-thousandths of a degree.
    pub longitude: i32,
    /// The code of a region of the press, and that of telephones, in the United States; 0 elsewhere.
    pub codes: (u32, u32),
}

impl Database {
    /// The database that these bytes are; an error is for people.
    pub fn read(bytes: Vec<u8>) -> Result<Self, String> {
        let (edition, info) = structure(&bytes);
        // An edition from 106 on is an earlier number and 105.
        let edition = if edition >= 106 { edition - 105 } else { edition };
        let (content, six, has_codes, record) = match edition {
            1 => (Content::Country, false, false, 3),
            12 => (Content::Country, true, false, 3),
            2 => (Content::City, false, true, 3),
            6 => (Content::City, false, false, 3),
            30 => (Content::City, true, true, 3),
            31 => (Content::City, true, false, 3),
            4 | 5 | 11 => (Content::Organisation, false, false, 4),
            9 => (Content::Organisation, false, false, 3),
            21 => (Content::Organisation, true, false, 3),
            22..=24 => (Content::Organisation, true, false, 4),
            other => return Err(format!("its edition, {other}, is not known")),
        };
        let segment = match (content, info) {
            (Content::Country, _) => COUNTRIES,
            (_, Some(number)) => number,
            (_, None) => return Err("the number of its nodes is missing".to_owned()),
        };
        if bytes.len() < 2 * record {
            return Err("it is too short".to_owned());
        }
        Ok(Self { bytes, content, six, has_codes, segment, record })
    }

    /// What it is about.
    pub fn content(&self) -> Content {
        self.content
    }

    /// The country of an address.
    pub fn country(&self, address: IpAddr) -> Option<Country> {
        let found = self.find(address)?.checked_sub(COUNTRIES)?;
        // 0 is none.
        country(u8::try_from(found).ok().filter(|number| *number > 0)?)
    }

    /// The text that an address has.
    pub fn organisation(&self, address: IpAddr) -> Option<&[u8]> {
        let mut rest = self.text_of(address)?;
        take_text(&mut rest)
    }

    /// The city of an address.
    pub fn city(&self, address: IpAddr) -> Option<City<'_>> {
        let mut rest = self.text_of(address)?;
        let (&number, behind) = rest.split_first()?;
        rest = behind;
        let (region, city) = (take_text(&mut rest)?, take_text(&mut rest)?);
        let postal_code = take_text(&mut rest)?;
        let (latitude, longitude) = (take_degrees(&mut rest)?, take_degrees(&mut rest)?);
        let codes = if self.has_codes && number == UNITED_STATES { little(rest.get(..3)?) } else { 0 };
        let codes = ((codes / 1000) as u32, (codes % 1000) as u32);
        Some(City { country: country(number)?, region, city, postal_code, latitude, longitude, codes })
    }

    /// Where the texts of an address begin.
    fn text_of(&self, address: IpAddr) -> Option<&[u8]> {
        let found = self.find(address).filter(|found| *found > self.segment)?;
        self.bytes.get(found.checked_add((2 * self.record - 1).checked_mul(self.segment)?)?..)
    }

    /// The record that an address leads to; none where the tree is damaged.
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
            node = little(self.bytes.get(at..at + self.record)?);
            if node >= self.segment {
                return Some(node);
            }
        }
        None
    }
}

/// The edition, and the number of nodes where it is told.
fn structure(bytes: &[u8]) -> (u8, Option<usize>) {
    for from_end in 3..3 + MOST_INFO {
        let Some(at) = bytes.len().checked_sub(from_end) else { break };
        if let [255, 255, 255, edition, rest @ ..] = &bytes[at..] {
            return (*edition, rest.get(..3).map(little));
        }
    }
    // Without a structure it is one of countries, the first that there was.
    (1, None)
}

fn little(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

/// Takes a text up to its NUL, which must come soon.
fn take_text<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.iter().take(MOST_TEXT).position(|byte| *byte == 0)?;
    let text = &rest[..end];
    *rest = &rest[end + 1..];
    Some(text)
}

fn take_degrees(rest: &mut &[u8]) -> Option<i32> {
    let (bytes, behind) = rest.split_at_checked(3)?;
    *rest = behind;
    Some(little(bytes) as i32 - 1_800_000)
}

fn country(number: u8) -> Option<Country> {
    let line = include_str!("countries.list").lines().nth(usize::from(number))?;
    let mut words = line.splitn(4, ' ');
    let (code, code3, continent) = (words.next()?, words.next()?, words.next()?);
    Some(Country { code, code3, continent, name: words.next()? })
}
