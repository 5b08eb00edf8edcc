//! Header fields: an ordered multi-map with case-insensitive names (RFC 9110 §5) in one buffer.

use crate::ParseError;
use crate::known_fields::Known;

/// Number of fields for which memory is reserved when response fields or trailers are parsed into a map without
/// allocated entries.
const MOST_OF_A_HEAD: usize = 16;

/// Entry of a header field: ranges of its name and value in the buffer of [`Fields`], and its [`Known`] constant if
/// any.
#[derive(Clone, Copy, Debug)]
struct FieldEntry {
    name_start: u32,
    value_start: u32,
    value_end: u32,
    name_len: u16,
    known: Option<Known>,
}

/// Ordered multi-map of header fields in one buffer, which can be cleared and refilled without allocation.
///
/// Removing a field only deletes its entry; its bytes remain in the buffer until [`Fields::clear`]. A name has at most
/// [`Fields::MAX_NAME`] bytes, and the buffer at most 4 GiB. Parsers reject a message that exceeds these limits, and
/// [`Fields::push`] ignores such a field.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    bytes: Vec<u8>,
    entries: Vec<FieldEntry>,
    /// Set of the [`Known`] fields that occur at least once, as their bits.
    present: u128,
    /// Set of the [`Known`] fields that occur more than once, as their bits.
    repeated: u128,
}

impl Fields {
    /// Maximum length in bytes of the name of a header field.
    pub const MAX_NAME: usize = u16::MAX as usize;

    /// Creates an empty map without allocating.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty map with capacity for `bytes` bytes of names and values and for `fields` entries.
    pub fn with_capacity(bytes: usize, fields: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), entries: Vec::with_capacity(fields), ..Self::default() }
    }

    /// Removes all fields and retains the allocated memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
        self.present = 0;
        self.repeated = 0;
    }

    /// Returns the number of fields; each repetition counts.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the length of the buffer in bytes. It includes the bytes of removed fields, and of a parsed head.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Returns whether the map has no fields.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Appends a field; fields with the same name remain. Does nothing if the field is too large for
    /// [`Fields::try_push`].
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        let _ = self.try_push(name, value);
    }

    /// Appends a received field; fields with the same name remain.
    ///
    /// # Errors
    /// Returns [`ParseError::HeaderTooLarge`] if the name exceeds [`Fields::MAX_NAME`], or the buffer would exceed
    /// 4 GiB. The map does not change then.
    pub fn try_push(&mut self, name: &[u8], value: &[u8]) -> Result<(), ParseError> {
        let name_start = self.bytes.len();
        let value_start = name_start + name.len();
        let value_end = value_start + value.len();
        self.add_entry(Known::from_bytes(name), name_start, name.len(), value_start, value_end)?;
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        Ok(())
    }

    /// Appends a known field under its usual spelling.
    pub fn push_known(&mut self, name: Known, value: &[u8]) {
        self.push(name.as_str().as_bytes(), value);
    }

    /// Adds a field whose name and value are in the buffer, or are copied there before the entry is read. The parser
    /// adds entries line by line, and copies the head at once.
    ///
    /// # Errors
    /// Returns [`ParseError::HeaderTooLarge`], and adds nothing, if the name exceeds [`Fields::MAX_NAME`] or the value
    /// ends beyond 4 GiB. A truncated length would turn the name into a different one: `Content-Length` followed by
    /// 65,536 bytes would be stored as `Content-Length`.
    #[inline]
    pub(crate) fn add_entry(
        &mut self,
        known: Option<Known>,
        name_start: usize,
        name_len: usize,
        value_start: usize,
        value_end: usize,
    ) -> Result<(), ParseError> {
        if name_len > Self::MAX_NAME || value_end > u32::MAX as usize {
            return Err(ParseError::HeaderTooLarge);
        }
        if let Some(known) = known {
            self.repeated |= self.present & known.bit();
            self.present |= known.bit();
        }
        self.entries.push(FieldEntry {
            name_start: name_start as u32,
            value_start: value_start as u32,
            value_end: value_end as u32,
            name_len: name_len as u16,
            known,
        });
        Ok(())
    }

    /// Returns the value of the first field called `name`, ignoring case; `None` if there is none.
    pub fn get(&self, name: &[u8]) -> Option<&[u8]> {
        match Known::from_bytes(name) {
            Some(known) => self.known(known),
            None => self
                .entries
                .iter()
                .find(|entry| self.is_called(entry, None, name))
                .map(|entry| self.value_of(entry)),
        }
    }

    /// Returns the value of the first field `name`; `None` if there is none, which costs only one bit test.
    #[inline]
    pub fn known(&self, name: Known) -> Option<&[u8]> {
        if self.present & name.bit() == 0 {
            return None;
        }
        let entry = self.entries.iter().find(|entry| entry.known == Some(name))?;
        Some(self.value_of(entry))
    }

    /// Returns whether a field `name` exists.
    #[inline]
    pub fn has(&self, name: Known) -> bool {
        self.present & name.bit() != 0
    }

    /// Returns whether the field `name` occurs more than once.
    #[inline]
    pub fn is_repeated(&self, name: Known) -> bool {
        self.repeated & name.bit() != 0
    }

    /// Returns the fields in `set`, a set of [`Known::bit`]s, that occur more than once.
    #[inline]
    pub(crate) fn repeated_of(&self, set: u128) -> u128 {
        self.repeated & set
    }

    /// Returns the values of all fields called `name`, ignoring case, in order.
    pub fn get_all<'a>(&'a self, name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + 'a {
        let wanted = Known::from_bytes(name);
        self.entries
            .iter()
            .filter(move |entry| self.is_called(entry, wanted, name))
            .map(|entry| self.value_of(entry))
    }

    /// Returns the values of the fields that nginx's variable `$http_NAME` reads, in order. `name` is `NAME` with its
    /// underscores replaced by hyphens. A hyphen in `name` matches a hyphen or an underscore in a field name; letter
    /// case is ignored.
    pub fn variable_all<'a>(&'a self, name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + 'a {
        let same = |a: u8, b: u8| a.eq_ignore_ascii_case(&b) || (a == b'_' && b == b'-');
        self.entries
            .iter()
            .filter(move |entry| {
                let found = self.name_of(entry);
                found.len() == name.len() && found.iter().zip(name).all(|(a, b)| same(*a, *b))
            })
            .map(|entry| self.value_of(entry))
    }

    /// Returns the values of all fields `name`, in order.
    pub fn known_all(&self, name: Known) -> impl Iterator<Item = &[u8]> + '_ {
        let there = if self.has(name) { self.entries.as_slice() } else { &[] };
        there.iter().filter(move |entry| entry.known == Some(name)).map(|entry| self.value_of(entry))
    }

    /// Returns the cookies of all `Cookie` fields in order: the non-empty texts between semicolons, usually
    /// `name=value`, without white space around them (RFC 6265 section 4.2).
    pub fn cookie_pairs(&self) -> impl Iterator<Item = &[u8]> + '_ {
        let pairs = self.known_all(Known::Cookie).flat_map(|value| value.split(|byte| *byte == b';'));
        pairs.map(<[u8]>::trim_ascii).filter(|pair| !pair.is_empty())
    }

    /// Returns the name and value of every field, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> + '_ {
        self.entries.iter().map(|entry| (self.name_of(entry), self.value_of(entry)))
    }

    /// Returns every field in order: its [`Known`] constant if it has one, its name and its value.
    pub fn iter_known(&self) -> impl Iterator<Item = (Option<Known>, &[u8], &[u8])> + '_ {
        self.entries.iter().map(|entry| (entry.known, self.name_of(entry), self.value_of(entry)))
    }

    /// Removes all fields called `name`, ignoring case, and returns the number of removed fields.
    pub fn remove(&mut self, name: &[u8]) -> usize {
        match Known::from_bytes(name) {
            Some(known) => self.remove_known(known),
            None => self.retain(|other, _| !other.eq_ignore_ascii_case(name)),
        }
    }

    /// Removes all fields `name` and returns the number of removed fields.
    pub fn remove_known(&mut self, name: Known) -> usize {
        if !self.has(name) {
            return 0;
        }
        let before = self.entries.len();
        self.entries.retain(|entry| entry.known != Some(name));
        self.present &= !name.bit();
        self.repeated &= !name.bit();
        before - self.entries.len()
    }

    /// Removes the fields for which `keep(name, value)` returns false. Returns the number of removed fields.
    pub fn retain(&mut self, mut keep: impl FnMut(&[u8], &[u8]) -> bool) -> usize {
        let before = self.entries.len();
        let bytes = &self.bytes;
        self.entries.retain(|entry| keep(name_in(bytes, entry), value_in(bytes, entry)));
        if self.entries.len() != before {
            self.index();
        }
        before - self.entries.len()
    }

    /// Sets `value` as the only value of `name`, at the position of the first such field, or at the end if there is
    /// none. Does nothing if the field is too large for [`Fields::try_push`].
    pub fn set(&mut self, name: &[u8], value: &[u8]) {
        let known = Known::from_bytes(name);
        let first = self.entries.iter().position(|entry| self.is_called(entry, known, name));
        let Some(first) = first else {
            self.push(name, value);
            return;
        };
        if self.try_push(name, value).is_err() {
            return;
        }
        if let Some(entry) = self.entries.pop() {
            self.entries[first] = entry;
        }
        let bytes = &self.bytes;
        let mut at = 0;
        self.entries.retain(|entry| {
            at += 1;
            at <= first + 1 || !called_in(bytes, entry, known, name)
        });
        self.index();
    }

    /// Sets `value` as the only value of the known field `name`, like [`Fields::set`].
    pub fn set_known(&mut self, name: Known, value: &[u8]) {
        self.set(name.as_str().as_bytes(), value);
    }

    /// Appends the fields to `out` as HTTP/1 field lines: `name: value` CRLF.
    pub fn write_h1(&self, out: &mut Vec<u8>) {
        for (name, value) in self.iter() {
            out.extend_from_slice(name);
            out.extend_from_slice(b": ");
            out.extend_from_slice(value);
            out.extend_from_slice(b"\r\n");
        }
    }

    /// Returns the buffer with all names and values. In a [`RequestHead`](crate::RequestHead), it starts with the
    /// request line, or after HTTP/1 parsing with the head as received.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the current numbers of entries and of buffer bytes. [`Fields::rewind`] with these numbers removes
    /// everything that was added afterwards.
    pub(crate) fn mark(&self) -> (usize, usize) {
        (self.entries.len(), self.bytes.len())
    }

    /// Removes all fields and buffer bytes that were added after [`Fields::mark`] returned these numbers.
    pub(crate) fn rewind(&mut self, (entries, bytes): (usize, usize)) {
        if self.entries.len() > entries {
            self.entries.truncate(entries);
            self.index();
        }
        self.bytes.truncate(bytes);
    }

    /// Reserves capacity for the number of fields in a typical head, if nothing is reserved.
    pub(crate) fn reserve_head(&mut self) {
        if self.entries.capacity() == 0 {
            self.entries.reserve_exact(MOST_OF_A_HEAD);
        }
    }

    /// Appends bytes, such as a received head, to the buffer without adding an entry; [`Fields::add_entry`] refers to
    /// them.
    pub(crate) fn extend_bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn is_called(&self, entry: &FieldEntry, known: Option<Known>, name: &[u8]) -> bool {
        called_in(&self.bytes, entry, known, name)
    }

    fn name_of(&self, entry: &FieldEntry) -> &[u8] {
        name_in(&self.bytes, entry)
    }

    fn value_of(&self, entry: &FieldEntry) -> &[u8] {
        value_in(&self.bytes, entry)
    }

    fn index(&mut self) {
        self.present = 0;
        self.repeated = 0;
        for known in self.entries.iter().filter_map(|entry| entry.known) {
            self.repeated |= self.present & known.bit();
            self.present |= known.bit();
        }
    }
}

fn called_in(bytes: &[u8], entry: &FieldEntry, known: Option<Known>, name: &[u8]) -> bool {
    entry.known == known && (known.is_some() || name_in(bytes, entry).eq_ignore_ascii_case(name))
}

fn name_in<'a>(bytes: &'a [u8], entry: &FieldEntry) -> &'a [u8] {
    let start = entry.name_start as usize;
    bytes.get(start..start + usize::from(entry.name_len)).unwrap_or_default()
}

fn value_in<'a>(bytes: &'a [u8], entry: &FieldEntry) -> &'a [u8] {
    bytes.get(entry.value_start as usize..entry.value_end as usize).unwrap_or_default()
}

impl<N: AsRef<[u8]>, V: AsRef<[u8]>> FromIterator<(N, V)> for Fields {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(fields: I) -> Self {
        let mut all = Self::new();
        for (name, value) in fields {
            all.push(name.as_ref(), value.as_ref());
        }
        all
    }
}

#[cfg(test)]
mod tests;
