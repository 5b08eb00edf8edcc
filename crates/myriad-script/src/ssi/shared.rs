//! State that all SSI pages of a request share, and their interface to the request.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use bytes::Bytes;

/// Maximum total size of the SSI variables, and also of the SSI blocks, of a request, in bytes.
const MOST: usize = 1 << 20;

/// Interface of a page with SSI commands to its request.
pub trait PageEnvironment {
    /// Returns the value of a variable of the request; `None` if it does not exist. The name is in lower case. Dates
    /// are formatted by `time_format`, as for `strftime`.
    fn variable(&mut self, name: &[u8], time_format: &[u8]) -> Option<Vec<u8>>;

    /// Searches for a pattern in `subject`; `None` if it does not match. The error, for an invalid pattern or a failed
    /// match, is a text for the error log.
    fn search(&mut self, pattern: &[u8], subject: &[u8]) -> Result<Option<PatternGroups>, String>;

    /// Returns the URI of the page, to which relative URIs refer.
    fn uri(&self) -> &[u8];

    /// Writes a message to the error log.
    fn log(&mut self, message: fmt::Arguments<'_>);
}

/// Groups of a matching pattern in an SSI `if`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatternGroups {
    /// Groups by number, the whole match first; an empty range for a group that did not participate.
    pub numbered: Vec<Range<usize>>,
    /// Names of the named groups, each with the number of the group.
    pub named: Vec<(String, usize)>,
}

/// SSI variables, blocks and captures of all pages of a request.
#[derive(Debug, Default)]
pub struct SsiState {
    variables: HashMap<Vec<u8>, Vec<u8>>,
    variable_bytes: usize,
    blocks: Vec<(Vec<u8>, Vec<u8>)>,
    block_bytes: usize,
    captures: Vec<Vec<u8>>,
}

/// Error: a size limit on the SSI variables or blocks of the request would be exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SizeLimitExceeded;

impl SsiState {
    /// Sets a variable. Returns false, without setting it, if the size limit would be exceeded.
    pub fn set(&mut self, name: &[u8], value: &[u8]) -> bool {
        self.assign(name, value).is_ok()
    }

    /// Sets a variable to an empty value if it does not exist. Used if the response that was to be assigned to it
    /// failed.
    pub fn declare(&mut self, name: &[u8]) {
        if self.get(&name.to_ascii_lowercase()).is_none() {
            self.set(name, b"");
        }
    }

    pub(crate) fn assign(&mut self, name: &[u8], value: &[u8]) -> Result<(), SizeLimitExceeded> {
        let name = name.to_ascii_lowercase();
        let before = self.variables.get(&name).map_or(0, |known| name.len() + known.len());
        let after = self.variable_bytes - before + name.len() + value.len();
        if after > MOST {
            return Err(SizeLimitExceeded);
        }
        self.variable_bytes = after;
        self.variables.insert(name, value.to_vec());
        Ok(())
    }

    /// Returns the value of a capture (the name is its digit) or of a variable that a page has set; `None` if there is
    /// neither. The name is in lower case.
    pub(crate) fn get(&self, name: &[u8]) -> Option<&[u8]> {
        if let [digit @ b'0'..=b'9'] = name
            && let Some(capture) = self.captures.get(usize::from(digit - b'0'))
        {
            return Some(capture);
        }
        self.variables.get(name).map(Vec::as_slice)
    }

    pub(crate) fn begin_block(&mut self, name: &[u8]) -> Result<(), SizeLimitExceeded> {
        self.grow_blocks(name.len() + 64)?;
        self.blocks.push((name.to_vec(), Vec::new()));
        Ok(())
    }

    /// Appends text to the block that was begun last. Returns an error if the size limit of the blocks would be
    /// exceeded.
    pub(crate) fn push_block(&mut self, text: &[u8]) -> Result<(), SizeLimitExceeded> {
        self.grow_blocks(text.len())?;
        if let Some((_, block)) = self.blocks.last_mut() {
            block.extend_from_slice(text);
        }
        Ok(())
    }

    fn grow_blocks(&mut self, by: usize) -> Result<(), SizeLimitExceeded> {
        let after = self.block_bytes + by;
        if after > MOST {
            return Err(SizeLimitExceeded);
        }
        self.block_bytes = after;
        Ok(())
    }

    pub(crate) fn block(&self, name: &[u8]) -> Option<Bytes> {
        let (_, text) = self.blocks.iter().find(|(known, _)| known == name)?;
        Some(Bytes::copy_from_slice(text))
    }

    /// Stores the captures of a matching pattern, at most ten with the whole match; named groups become variables.
    pub(crate) fn capture(
        &mut self,
        groups: &PatternGroups,
        subject: &[u8],
    ) -> Result<(), SizeLimitExceeded> {
        let text = |range: &Range<usize>| subject.get(range.clone()).unwrap_or_default();
        self.captures = groups.numbered.iter().take(10).map(|range| text(range).to_vec()).collect();
        for (name, number) in &groups.named {
            let value = groups.numbered.get(*number).map(text).unwrap_or_default();
            self.assign(name.as_bytes(), value)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_have_room_for_so_much_and_no_more() {
        let mut shared = SsiState::default();
        assert!(shared.set(b"A", &vec![b'x'; MOST - 1]));
        assert_eq!(shared.get(b"a").map(<[u8]>::len), Some(MOST - 1));
        assert!(!shared.set(b"b", b""));
        assert!(
            shared.set(b"a", b"short") && shared.set(b"b", b"too"),
            "what is set anew gives its room back"
        );
        assert!(!shared.set(b"a", &vec![b'x'; MOST]));
        assert_eq!(shared.get(b"a"), Some(&b"short"[..]));
    }

    #[test]
    fn blocks_have_room_for_so_much_and_no_more() {
        let mut shared = SsiState::default();
        shared.begin_block(b"one").unwrap();
        shared.push_block(b"text").unwrap();
        shared.begin_block(b"one").unwrap();
        assert_eq!(shared.block(b"one").unwrap(), "text", "the first of a name counts");
        assert!(shared.block(b"two").is_none());
        assert_eq!(shared.push_block(&vec![b'x'; MOST]), Err(SizeLimitExceeded));
    }
}
