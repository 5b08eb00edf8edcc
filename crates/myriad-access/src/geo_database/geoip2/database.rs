//! Lookup of a value in a MaxMind database, and its text.

use std::fmt::{self, Formatter};
use std::net::IpAddr;

use maxminddb::{LookupResult, PathElement, Reader};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

/// Database in MaxMind's current format (`.mmdb`).
pub struct Geoip2Database(Reader<Vec<u8>>);

/// Path of keys that leads from the record of an address to a value.
#[derive(Debug)]
pub struct ValuePath {
    keys: Box<[PathKey]>,
    has_numbers: bool,
}

/// Key of a map; if it is a number, it may also be an index of a list.
#[derive(Debug)]
struct PathKey {
    name: Box<str>,
    /// Index, counted from 0, or from the end if negative (-1 is the last item); `None` if the key is not a number.
    number: Option<isize>,
}

impl ValuePath {
    /// Creates a path from its keys, such as `country`, `names` and `en`, as written in the configuration.
    pub fn new(words: &[String]) -> Self {
        let number = |word: &str| word.parse().ok().filter(|_| !word.starts_with('+'));
        let keys: Box<[PathKey]> =
            words.iter().map(|word| PathKey { name: word.as_str().into(), number: number(word) }).collect();
        Self { has_numbers: keys.iter().any(|key| key.number.is_some()), keys }
    }

    /// Converts the path for the reader. With `numbers`, words that are numbers become indexes of lists; otherwise all
    /// words are keys.
    fn elements(&self, numbers: bool) -> Vec<PathElement<'_>> {
        let element = |key| match key {
            &PathKey { number: Some(number), .. } if numbers => PathElement::from(number),
            PathKey { name, .. } => PathElement::Key(name),
        };
        self.keys.iter().map(element).collect()
    }
}

impl Geoip2Database {
    /// Reads a database from its bytes; the error is a text for a message.
    pub fn read(bytes: Vec<u8>) -> Result<Self, String> {
        Reader::from_source(bytes).map(Self).map_err(|error| error.to_string())
    }

    /// Returns the build time, in seconds since the Unix epoch.
    pub fn built_s(&self) -> u64 {
        self.0.metadata().build_epoch
    }

    /// Appends the text of the value of an address at `path`, and returns true. Returns false if there is no such
    /// value, if it is a list or map, or if the data is damaged.
    pub fn find(&self, address: IpAddr, path: &ValuePath, out: &mut Vec<u8>) -> bool {
        let Ok(found) = self.0.lookup(address) else { return false };
        // A number is first tried as an index of a list, then as a key.
        let value = value(&found, path, true)
            .or_else(|| path.has_numbers.then(|| value(&found, path, false)).flatten());
        match value {
            Some(FormattedValue(text)) => out.extend_from_slice(&text),
            None => return false,
        }
        true
    }
}

fn value(found: &LookupResult<'_, Vec<u8>>, path: &ValuePath, numbers: bool) -> Option<FormattedValue> {
    found.decode_path(&path.elements(numbers)).ok().flatten()
}

/// Value formatted as the text of a variable.
struct FormattedValue(Vec<u8>);

impl<'de> Deserialize<'de> for FormattedValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueFormatter)
    }
}

/// Formats values like nginx's geoip2 module; rejects lists and maps.
struct ValueFormatter;

/// Appends a formatted text.
pub(super) fn append(out: &mut Vec<u8>, text: fmt::Arguments<'_>) {
    use std::io::Write as _;
    let written = out.write_fmt(text);
    debug_assert!(written.is_ok(), "writing to memory cannot fail");
}

fn formatted(text: fmt::Arguments<'_>) -> FormattedValue {
    let mut out = Vec::new();
    append(&mut out, text);
    FormattedValue(out)
}

impl Visitor<'_> for ValueFormatter {
    type Value = FormattedValue;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a number")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<FormattedValue, E> {
        Ok(formatted(format_args!("{}", u8::from(value))))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<FormattedValue, E> {
        Ok(formatted(format_args!("{value}")))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<FormattedValue, E> {
        Ok(formatted(format_args!("{value}")))
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<FormattedValue, E> {
        Ok(formatted(format_args!("{value:#034x}")))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<FormattedValue, E> {
        Ok(formatted(format_args!("{value:.5}")))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<FormattedValue, E> {
        Ok(FormattedValue(value.into()))
    }

    fn visit_bytes<E: Error>(self, value: &[u8]) -> Result<FormattedValue, E> {
        Ok(FormattedValue(value.into()))
    }
}
