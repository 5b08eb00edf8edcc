//! Variants of a page: the request fields that select one (RFC 9111 §4.1), and its key.
//!
//! `Accept-Encoding` is not one of these fields: encodings are stored with the page and selected when it is served.

use myriad_http::Fields;

use crate::{device, languages, other_codings};

/// Maximum total length of the field names in a `Vary`, in bytes; nginx stores 128 bytes of `Vary`.
const NAMES_MAX: usize = 256;

/// Maximum length in bytes of a variant key, which contains the values of the fields that a page varies by: the size of
/// one of nginx's large header buffers.
const VARIANT_MAX: usize = 8 << 10;

/// Names of the request fields by which a page varies: in lower case, sorted, without duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct VaryRule {
    names: Box<[Box<[u8]>]>,
}

/// Reason why the `Vary` of a response prevents storing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VaryError {
    /// `Vary: *`.
    Any,
    /// The field names in `Vary` have more than 256 bytes.
    TooLong,
}

/// Error if a request's field values are too long for a variant key, or its `Accept-Language` has more than 16
/// languages. No stored page then matches the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariantTooLong;

/// Name in a [`VaryRule`] that stands for the device class, used instead of `User-Agent`. It is not a valid field name.
pub(crate) const BY_DEVICE: &[u8] = b":device";

/// Name in a [`VaryRule`] that stands for [`other_codings`], used instead of `Accept-Encoding`. It is not a valid field
/// name.
const BY_CODINGS: &[u8] = b":codings";

impl VaryRule {
    /// Returns this rule, extended so that the page has a variant per value of [`other_codings`].
    #[must_use]
    pub fn by_codings(self) -> VaryRule {
        let mut names = self.names.into_vec();
        names.push(BY_CODINGS.into());
        names.sort_unstable();
        VaryRule { names: names.into() }
    }

    /// Returns a rule with the field names of both rules.
    #[must_use]
    pub fn and(self, other: &VaryRule) -> VaryRule {
        let mut names = self.names.into_vec();
        names.extend(other.names.iter().cloned());
        names.sort_unstable();
        names.dedup();
        VaryRule { names: names.into() }
    }

    /// Returns a rule with those field names, in lower case, for which `keep` returns true.
    #[must_use]
    pub fn only(&self, mut keep: impl FnMut(&[u8]) -> bool) -> VaryRule {
        VaryRule { names: self.names.iter().filter(|name| keep(name)).cloned().collect() }
    }

    /// Returns whether the rule contains the field `name` (in any case).
    pub fn has(&self, name: &[u8]) -> bool {
        self.names.iter().any(|own| own.eq_ignore_ascii_case(name))
    }

    /// Returns whether requests with different values of the field `name` (in any case) may select different variants:
    /// the rule contains the field, or it contains the device class and the field is one from which the class is
    /// derived.
    pub fn distinguishes(&self, name: &[u8]) -> bool {
        let defines_class = || {
            name.eq_ignore_ascii_case(b"user-agent") || name.eq_ignore_ascii_case(device::DeviceClass::HINT)
        };
        self.has(name) || self.by_device() && defines_class()
    }

    /// Returns whether the page has a variant per device class.
    pub(crate) fn by_device(&self) -> bool {
        self.has(BY_DEVICE)
    }

    /// Creates the rule from the values of all `Vary` fields of a response, without `Accept-Encoding`. Fails for `*`,
    /// and if the names are too long.
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

    /// Returns whether the rule has no field names, so that the page has only one variant.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the field names, in lower case and sorted; `:device` and `:codings` stand for a device class and other
    /// codings.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().map(|name| &**name)
    }

    /// Appends the key of the variant that `request` selects to `out`; nothing if the rule is empty. The key is equal
    /// for requests whose field values are equivalent (they differ only in white space, or in the form of
    /// `Accept-Language`), and distinct otherwise. Fails if the key would be longer than 8 KB, or `Accept-Language` has
    /// more than 16 languages; `out` is then unchanged.
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

/// Appends the value of a field to a variant key: 0 if it is missing, or else 1, the length of the normalized value,
/// and the value. The length prevents a value from imitating another field.
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
            // Longer lists are not distinguished: the padding makes the value too long for any variant key.
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
        // The limit is exceeded, and the caller returns the error.
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

/// Appends `value` without white space at its ends and around commas; other runs of white space become one space.
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
