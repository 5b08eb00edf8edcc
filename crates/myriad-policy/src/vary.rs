//! Which request fields select a page's variant (RFC 9111 §4.1).
//!
//! `Accept-Encoding` is none of them: the encodings are stored with the page and chosen when it is served.

use myriad_http::Fields;

use crate::{device, languages, other_codings};

/// The most bytes of field names that a rule keeps; nginx keeps 128 bytes of `Vary`.
const NAMES_MAX: usize = 256;

/// The most bytes of a variant's key: as much as one of nginx's large header buffers.
const VARIANT_MAX: usize = 8 << 10;

/// The fields that a stored page varies by: in lower case, sorted, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct VaryRule {
    names: Box<[Box<[u8]>]>,
}

/// Why an answer's `Vary` keeps it from being stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VaryError {
    /// `Vary: *`.
    Any,
    /// More names than are kept.
    TooLong,
}

/// The request's fields are too long to make a variant of: let the request pass by the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariantTooLong;

/// The name that stands for `User-Agent` in a rule by device classes: no field has it.
pub(crate) const BY_DEVICE: &[u8] = b":device";

/// The name that stands for `Accept-Encoding` in the rule of pages for codings that are not made here: no field has it.
const BY_CODINGS: &[u8] = b":codings";

impl VaryRule {
    /// This rule for pages of which there is one for each choice of [`other_codings`].
    #[must_use]
    pub fn by_codings(self) -> VaryRule {
        let mut names = self.names.into_vec();
        names.push(BY_CODINGS.into());
        names.sort_unstable();
        VaryRule { names: names.into() }
    }

    /// The rule by the names of both.
    #[must_use]
    pub fn and(self, other: &VaryRule) -> VaryRule {
        let mut names = self.names.into_vec();
        names.extend(other.names.iter().cloned());
        names.sort_unstable();
        names.dedup();
        VaryRule { names: names.into() }
    }

    /// This rule's names for which `keep` is true, which are in lower case.
    #[must_use]
    pub fn only(&self, mut keep: impl FnMut(&[u8]) -> bool) -> VaryRule {
        VaryRule { names: self.names.iter().filter(|name| keep(name)).cloned().collect() }
    }

    /// Whether a field of that name is among those of the rule.
    pub fn has(&self, name: &[u8]) -> bool {
        self.names.iter().any(|own| own.eq_ignore_ascii_case(name))
    }

    /// Whether it tells classes of devices apart.
    pub(crate) fn by_device(&self) -> bool {
        self.has(BY_DEVICE)
    }

    /// Reads the values of all `Vary` fields of an answer.
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

    /// Whether there is only one variant.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The names, in lower case and sorted.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().map(|name| &**name)
    }

    /// Appends to `out` the key of the variant that `request` selects: equal for requests whose fields say the same but
    /// for white space, distinct for all others. Nothing is appended where there is only one variant.
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

/// Appends 0 for an absent field, else 1, the length of the normalised value and the value: so that no value can pose
/// as another field's.
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
            // Lists of that length are not told apart: the value is too long for any variant.
            None => out.resize(length_at + VARIANT_MAX + 1, 0),
        }
        return close_value(length_at, out);
    }
    for (number, value) in values.enumerate() {
        // Several fields are one list (RFC 9110 §5.3).
        if number > 0 {
            out.push(b',');
        }
        write_normalised(value, out);
        // One field too long is enough to know; the caller refuses it.
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

/// Appends `value` without white space at its ends and around commas, and with other runs of it as one space; what
/// stands in quotes is left as it is.
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
mod shown;
#[cfg(test)]
mod tests;

pub use shown::variant_fields;
