//! Request fields that select the variant of a page (RFC 9111 §4.1).
//!
//! `Accept-Encoding` is not one of these fields: encodings are stored with the page and selected when it is served.

use myriad_http::Fields;

use crate::{device, languages, other_codings};

/// Maximum length of the field names of a rule, in bytes; nginx stores 128 bytes of `Vary`.
const NAMES_MAX: usize = 256;

/// Maximum length of a variant key, in bytes: the size of one of nginx's large header buffers.
const VARIANT_MAX: usize = 8 << 10;

/// Fields that a stored page varies by: in lower case, sorted, without duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct VaryRule {
    names: Box<[Box<[u8]>]>,
}

/// Reason why the `Vary` of a response prevents storing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VaryError {
    /// `Vary: *`.
    Any,
    /// The names are too long to store.
    TooLong,
}

/// Error if the request's fields are too long for a variant key. The request should bypass the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariantTooLong;

/// Name used instead of `User-Agent` in a rule by device classes. It is not a valid field name.
pub(crate) const BY_DEVICE: &[u8] = b":device";

/// Name used instead of `Accept-Encoding` in the rule of pages in codings that Myriad does not generate. It is not a
/// valid field name.
const BY_CODINGS: &[u8] = b":codings";

impl VaryRule {
    /// Returns this rule for pages that have a variant per value of [`other_codings`].
    #[must_use]
    pub fn by_codings(self) -> VaryRule {
        let mut names = self.names.into_vec();
        names.push(BY_CODINGS.into());
        names.sort_unstable();
        VaryRule { names: names.into() }
    }

    /// Returns a rule with the names of both.
    #[must_use]
    pub fn and(self, other: &VaryRule) -> VaryRule {
        let mut names = self.names.into_vec();
        names.extend(other.names.iter().cloned());
        names.sort_unstable();
        names.dedup();
        VaryRule { names: names.into() }
    }

    /// Returns a rule with the names for which `keep` returns true. Names are in lower case.
    #[must_use]
    pub fn only(&self, mut keep: impl FnMut(&[u8]) -> bool) -> VaryRule {
        VaryRule { names: self.names.iter().filter(|name| keep(name)).cloned().collect() }
    }

    /// Returns whether the rule contains a field.
    pub fn has(&self, name: &[u8]) -> bool {
        self.names.iter().any(|own| own.eq_ignore_ascii_case(name))
    }

    /// Returns whether the rule distinguishes device classes.
    pub(crate) fn by_device(&self) -> bool {
        self.has(BY_DEVICE)
    }

    /// Parses the values of all `Vary` fields of a response.
    pub fn parse<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Result<VaryRule, VaryError> {
        let mut names: Vec<Box<[u8]>> = Vec::new();
        let mut total = 0;
        for name in values.into_iter().flat_map(|value| value.split(|byte| *byte == b',')) {
            let name = name.trim_ascii();
            if name == b"*" {
                return Err(VaryError::Any);
            }
            total += name.len();
            if total > NAMES_MAX {
                return Err(VaryError::TooLong);
            }
            if !name.is_empty() && !name.eq_ignore_ascii_case(b"accept-encoding") {
                names.push(name.to_ascii_lowercase().into());
            }
        }
        names.sort_unstable();
        names.dedup();
        Ok(VaryRule { names: names.into() })
    }

    /// Returns whether the page has only one variant.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the names, in lower case and sorted.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().map(|name| &**name)
    }

    /// Appends the key of the variant that `request` selects to `out`. The key is equal for requests whose field values
    /// differ only in white space, and distinct otherwise. Appends nothing if the page has only one variant.
    pub fn write_variant(&self, request: &Fields, out: &mut Vec<u8>) -> Result<(), VariantTooLong> {
        let begin = out.len();
        for name in &self.names {
            out.extend_from_slice(name);
            out.push(0);
            write_value(request, name, out);
            if out.len() - begin > VARIANT_MAX {
                out.truncate(begin);
                return Err(VariantTooLong);
            }
        }
        Ok(())
    }
}

/// Appends 0 for a missing field, or else 1, the length of the normalized value, and the value. The length prevents a
/// value from imitating another field.
fn write_value(request: &Fields, name: &[u8], out: &mut Vec<u8>) {
    if name == BY_DEVICE {
        return device::write_class(request, out);
    }
    if name == BY_CODINGS {
        return write_codings(request, out);
    }
    let mut values = request.get_all(name).peekable();
    if values.peek().is_none() {
        out.push(0);
        return;
    }
    out.push(1);
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    if name == b"accept-language" {
        match languages::ordered(values) {
            Some(ordered) => languages::write(ordered, out),
            // Lists of that length are not distinguished: the padding makes the value too long for any variant.
            None => out.resize(length_at + VARIANT_MAX + 1, 0),
        }
        return close_value(length_at, out);
    }
    for (number, value) in values.enumerate() {
        // Several fields form one list (RFC 9110 §5.3).
        if number > 0 {
            out.push(b',');
        }
        write_normalised(value, out);
        // The limit is exceeded; the caller returns the error.
        if out.len() - length_at > VARIANT_MAX {
            break;
        }
    }
    close_value(length_at, out);
}

fn write_codings(request: &Fields, out: &mut Vec<u8>) {
    let Some(codings) = other_codings(request) else { return out.push(0) };
    out.push(1);
    out.extend_from_slice(&(codings.len() as u32).to_le_bytes());
    out.extend_from_slice(&codings);
}

fn close_value(length_at: usize, out: &mut [u8]) {
    let length = (out.len() - length_at - 4) as u32;
    out[length_at..length_at + 4].copy_from_slice(&length.to_le_bytes());
}

/// Appends `value` without white space at both sides and around commas. Other runs of white space become one space.
/// Quoted strings are not changed.
fn write_normalised(value: &[u8], out: &mut Vec<u8>) {
    let mut quoted = false;
    let mut escaped = false;
    let mut space = false;
    let begin = out.len();
    for &byte in value.trim_ascii() {
        if !quoted && matches!(byte, b' ' | b'\t') {
            space = true;
            continue;
        }
        let after_comma = out.len() == begin || out.last() == Some(&b',');
        if space && !after_comma && byte != b',' {
            out.push(b' ');
        }
        space = false;
        if byte == b'"' && !escaped {
            quoted = !quoted;
        }
        escaped = quoted && byte == b'\\' && !escaped;
        out.push(byte);
    }
}

mod answer;
mod display;
#[cfg(test)]
mod tests;

pub use display::variant_fields;
