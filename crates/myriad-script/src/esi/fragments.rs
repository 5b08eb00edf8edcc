//! ESI fragments that are requested together, and the format of the combined response.
//!
//! ```text
//! Line -- "NAME LENGTH[ SECONDS]\n" --> Bytes -- LENGTH of them, "\n" --> Line
//! ```

use myriad_base::digits::decimal;

/// Maximum length of the name of an ESI fragment in a combined response, in bytes.
const LONGEST_NAME: usize = 64;
/// Maximum length of the line before a fragment in a combined response, in bytes: a name and two numbers.
const LONGEST_LINE: usize = LONGEST_NAME + 2 * 21;

/// Splits the target of an include into the part before the fragment's name and the name. Returns `None` unless the
/// last query argument is `argument=NAME`, and the name has 1 to 64 letters, digits, `-`, `_` or `.`.
pub fn joint_name<'a>(target: &'a [u8], argument: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = target.iter().rposition(|byte| matches!(byte, b'?' | b'&'))? + 1;
    let name = target[at..].strip_prefix(argument)?.strip_prefix(b"=")?;
    is_name(name).then(|| target.split_at(target.len() - name.len()))
}

fn is_name(name: &[u8]) -> bool {
    let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=LONGEST_NAME).contains(&name.len()) && name.iter().all(is_allowed)
}

/// Fragment in a response that combines several ESI fragments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Name of the fragment.
    pub name: Box<[u8]>,
    /// Content of the fragment.
    pub bytes: Vec<u8>,
    /// Lifetime of the fragment in seconds; `None` if the response does not state it.
    pub keep_s: Option<u64>,
}

/// Reason why a response that combines several ESI fragments cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidFragments {
    /// The line before a fragment is invalid, or a fragment is not followed by a line feed.
    Form,
    /// The fragments exceed the size limit.
    TooLong,
}

impl InvalidFragments {
    /// Returns a short description of the error for logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Form => "it is not in the format application/x-myriad-fragments",
            Self::TooLong => "it is too long",
        }
    }
}

/// Parser of a combined response that arrives in pieces. The total size of the fragments is bounded.
#[derive(Debug)]
pub struct FragmentParser {
    line: Vec<u8>,
    part: Option<(Fragment, usize)>,
    left: usize,
}

impl FragmentParser {
    /// Creates a parser for fragments of at most `most_bytes` bytes in total.
    pub fn new(most_bytes: usize) -> Self {
        Self { line: Vec::new(), part: None, left: most_bytes }
    }

    /// Processes bytes of `input`, and removes them from it. Returns a fragment when it is complete, otherwise `None`
    /// with an empty `input`.
    ///
    /// # Errors
    /// Returns an error if the response is invalid or too long. The parser must not be used afterwards.
    pub fn push(&mut self, input: &mut &[u8]) -> Result<Option<Fragment>, InvalidFragments> {
        while let Some(first) = input.first() {
            match &mut self.part {
                None => {
                    let byte = *first;
                    *input = &input[1..];
                    if byte == b'\n' {
                        self.part = Some(self.begin()?);
                    } else if self.line.len() == LONGEST_LINE {
                        return Err(InvalidFragments::Form);
                    } else {
                        self.line.push(byte);
                    }
                }
                Some((part, length)) if part.bytes.len() < *length => {
                    let taken = (*length - part.bytes.len()).min(input.len());
                    part.bytes.extend_from_slice(&input[..taken]);
                    *input = &input[taken..];
                }
                Some(_) if *first == b'\n' => {
                    *input = &input[1..];
                    return Ok(self.part.take().map(|(part, _)| part));
                }
                Some(_) => return Err(InvalidFragments::Form),
            }
        }
        Ok(None)
    }

    /// Returns whether the response may end at this position: no fragment is incomplete.
    pub fn is_between_parts(&self) -> bool {
        self.line.is_empty() && self.part.is_none()
    }

    fn begin(&mut self) -> Result<(Fragment, usize), InvalidFragments> {
        let line = std::mem::take(&mut self.line);
        let mut words = line.split(|byte| *byte == b' ');
        let name = words.next().filter(|name| is_name(name)).ok_or(InvalidFragments::Form)?;
        let length = words.next().and_then(decimal::<u64>).ok_or(InvalidFragments::Form)?;
        let keep_s = words.next().map(|word| decimal(word).ok_or(InvalidFragments::Form)).transpose()?;
        if words.next().is_some() {
            return Err(InvalidFragments::Form);
        }
        let length = usize::try_from(length).map_err(|_| InvalidFragments::TooLong)?;
        self.left = self.left.checked_sub(length).ok_or(InvalidFragments::TooLong)?;
        Ok((Fragment { name: name.into(), bytes: Vec::new(), keep_s }, length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(answer: &[u8], step: usize, most: usize) -> Result<Vec<Fragment>, InvalidFragments> {
        let mut reader = FragmentParser::new(most);
        let mut parts = Vec::new();
        for mut piece in answer.chunks(step) {
            while !piece.is_empty() {
                parts.extend(reader.push(&mut piece)?);
            }
        }
        if reader.is_between_parts() { Ok(parts) } else { Err(InvalidFragments::Form) }
    }

    #[test]
    fn parts_come_out_however_the_answer_is_cut_up() {
        let answer = b"greeting 5 60\nHe\nlo\nempty 0\n\nbar 3 0\n<a>\n";
        for step in 1..=answer.len() {
            let parts = read(answer, step, 100).expect("parts");
            let shown: Vec<_> =
                parts.iter().map(|part| (&*part.name, &part.bytes[..], part.keep_s)).collect();
            let expected = [
                (&b"greeting"[..], &b"He\nlo"[..], Some(60)),
                (b"empty", b"", None),
                (b"bar", b"<a>", Some(0)),
            ];
            assert_eq!(shown, expected);
        }
        assert_eq!(read(b"", 1, 100), Ok(Vec::new()));
    }

    #[test]
    fn what_is_no_such_answer_is_refused() {
        for answer in [
            "<html>\n",
            "a\n",
            "a b\n",
            "a 1 2 3\nx\n",
            "a -1\n",
            "a +1\nx\n",
            "a 1\nxy",
            "a 2\nx\n",
            "a  1\nx\n",
            "a b c d\n",
            "a 1",
            " 1\nx\n",
            "a/b 1\nx\n",
            "a 99999999999999999999999\n",
        ] {
            assert!(read(answer.as_bytes(), 3, 100).is_err(), "{answer}");
        }
        assert_eq!(read(&[b'a'; 200], 7, 100), Err(InvalidFragments::Form));
        assert_eq!(read(b"a 60\n", 1, 59), Err(InvalidFragments::TooLong));
        let twice = [&b"a 60\n"[..], &[b'x'; 60], b"\nb 60\n"].concat();
        assert_eq!(read(&twice, 9, 100), Err(InvalidFragments::TooLong));
    }

    #[test]
    fn name_stands_last_in_the_target() {
        assert_eq!(joint_name(b"/a/?esi=b", b"esi"), Some((&b"/a/?esi="[..], &b"b"[..])));
        assert_eq!(joint_name(b"/?p=1&esi=b-c.d_1", b"esi"), Some((&b"/?p=1&esi="[..], &b"b-c.d_1"[..])));
        for target in ["/a", "/?esi=", "/?esi=a,b", "/?esi=a&b=c", "/?xesi=a", "/?esi=%41", "/?esi"] {
            assert_eq!(joint_name(target.as_bytes(), b"esi"), None, "{target}");
        }
    }
}
