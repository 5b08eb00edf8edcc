//! Analysis of a pattern: literals of which every match contains at least one.
//!
//! It is a small, conservative parser of PCRE2's syntax. It stops at any unsupported construct; the pattern then runs
//! without a filter. Letter case is ignored, so `(?i)` needs no special handling.

/// Set of literals (byte strings): every match of the pattern contains at least one of them.
pub(super) type LiteralSet = Vec<Vec<u8>>;

/// Maximum nesting of groups; a pattern that exceeds it runs without a filter.
const MAX_NESTING: usize = 20;

/// Returns a set of literals such that every match of the pattern contains at least one of them; `None` if they cannot
/// be determined.
pub(super) fn required(pattern: &str) -> Option<LiteralSet> {
    // Verbs and `\Q…\E` are not supported here; other unsupported escapes are found by the parser.
    if pattern.starts_with("(*") || pattern.contains("\\Q") {
        return None;
    }
    let mut reader = PatternReader { bytes: pattern.as_bytes(), at: 0 };
    let set = reader.alternatives(0).ok()?;
    if reader.at != reader.bytes.len() {
        return None;
    }
    set
}

/// The pattern contains a construct that the parser does not support.
struct UnsupportedSyntax;

struct PatternReader<'p> {
    bytes: &'p [u8],
    at: usize,
}

/// Element of a pattern, such as a byte or a group, without its quantifier.
enum SequenceElement {
    /// One byte, in either letter case.
    Byte(u8),
    /// Group; every match of it contains at least one literal of the set.
    Group(LiteralSet),
    /// Element that may match any text, also an empty one.
    Any,
    /// Zero-width assertion, such as `^`; a literal may continue after it.
    Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Repetition {
    Once,
    /// The element occurs one or more times.
    Many,
    /// The element occurs zero or more times, so it requires no literals.
    Optional,
}

impl PatternReader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn next(&mut self) -> Result<u8, UnsupportedSyntax> {
        let byte = self.peek().ok_or(UnsupportedSyntax)?;
        self.at += 1;
        Ok(byte)
    }

    /// Parses alternatives up to a `)` or the end of the pattern. Returns the literals of all alternatives; `None` if
    /// one of them requires none.
    fn alternatives(&mut self, nesting: usize) -> Result<Option<LiteralSet>, UnsupportedSyntax> {
        let mut all: Option<LiteralSet> = Some(Vec::new());
        loop {
            let one = self.sequence(nesting)?;
            all = match (all, one) {
                (Some(mut all), Some(one)) => {
                    all.extend(one);
                    Some(all)
                }
                _ => None,
            };
            if self.peek() != Some(b'|') {
                return Ok(all);
            }
            self.at += 1;
        }
    }

    /// Parses one alternative. Returns the best literals that it requires; `None` if there are none.
    fn sequence(&mut self, nesting: usize) -> Result<Option<LiteralSet>, UnsupportedSyntax> {
        let mut best: Option<LiteralSet> = None;
        let mut run: Vec<u8> = Vec::new();
        while let Some(byte) = self.peek() {
            if matches!(byte, b'|' | b')') {
                break;
            }
            let atom = self.atom(nesting)?;
            let repeat = self.repeat()?;
            match (atom, repeat) {
                (SequenceElement::Place, _) => {}
                (SequenceElement::Byte(byte), Repetition::Once) => run.push(byte),
                (SequenceElement::Byte(byte), Repetition::Many) => {
                    run.push(byte);
                    replace_if_better(&mut best, vec![std::mem::take(&mut run)]);
                    run.push(byte);
                }
                (SequenceElement::Group(set), Repetition::Once | Repetition::Many) => {
                    replace_if_better(&mut best, vec![std::mem::take(&mut run)]);
                    replace_if_better(&mut best, set);
                }
                (_, Repetition::Optional) | (SequenceElement::Any, _) => {
                    replace_if_better(&mut best, vec![std::mem::take(&mut run)]);
                }
            }
        }
        replace_if_better(&mut best, vec![run]);
        Ok(best)
    }

    fn atom(&mut self, nesting: usize) -> Result<SequenceElement, UnsupportedSyntax> {
        Ok(match self.next()? {
            b'\\' => self.escape()?,
            b'[' => self.class()?,
            b'(' => self.group(nesting + 1)?,
            b'.' => SequenceElement::Any,
            b'^' | b'$' => SequenceElement::Place,
            b'*' | b'+' | b'?' | b'{' => return Err(UnsupportedSyntax),
            byte if byte.is_ascii() => SequenceElement::Byte(byte),
            _ => SequenceElement::Any,
        })
    }

    fn escape(&mut self) -> Result<SequenceElement, UnsupportedSyntax> {
        Ok(match self.next()? {
            b'b' | b'B' | b'A' | b'z' | b'Z' => SequenceElement::Place,
            b'd' | b'D' | b'w' | b'W' | b's' | b'S' | b'h' | b'H' | b'N' | b'R' => SequenceElement::Any,
            byte if byte.is_ascii_punctuation() || byte == b' ' => SequenceElement::Byte(byte),
            _ => return Err(UnsupportedSyntax),
        })
    }

    /// Skips a character class, after its `[`.
    fn class(&mut self) -> Result<SequenceElement, UnsupportedSyntax> {
        if self.peek() == Some(b'^') {
            self.at += 1;
        }
        // A bracket at the start of a class is literal.
        if self.peek() == Some(b']') {
            self.at += 1;
        }
        loop {
            match self.next()? {
                b']' => return Ok(SequenceElement::Any),
                b'\\' => {
                    if matches!(self.next()?, b'E' | b'c') {
                        return Err(UnsupportedSyntax);
                    }
                }
                b'[' if self.peek() == Some(b':') => self.posix_class()?,
                b'[' if matches!(self.peek(), Some(b'.' | b'=')) => return Err(UnsupportedSyntax),
                _ => {}
            }
        }
    }

    /// Skips `:alpha:]` inside a class. Without the closing `:]`, the bracket would be literal.
    fn posix_class(&mut self) -> Result<(), UnsupportedSyntax> {
        self.at += 1;
        if self.peek() == Some(b'^') {
            self.at += 1;
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_lowercase()) {
            self.at += 1;
        }
        if self.next()? == b':' && self.next()? == b']' { Ok(()) } else { Err(UnsupportedSyntax) }
    }

    /// Parses a group after its opening parenthesis.
    fn group(&mut self, nesting: usize) -> Result<SequenceElement, UnsupportedSyntax> {
        if nesting > MAX_NESTING || self.peek() == Some(b'*') {
            return Err(UnsupportedSyntax);
        }
        let looks_around = if self.peek() == Some(b'?') { self.group_kind()? } else { false };
        let set = self.alternatives(nesting)?;
        if self.next()? != b')' {
            return Err(UnsupportedSyntax);
        }
        Ok(match set {
            _ if looks_around => SequenceElement::Place,
            Some(set) => SequenceElement::Group(set),
            None => SequenceElement::Any,
        })
    }

    /// Parses the characters after `(?`. Returns whether the group is a zero-width assertion, which requires no
    /// literals.
    fn group_kind(&mut self) -> Result<bool, UnsupportedSyntax> {
        self.at += 1;
        match self.next()? {
            b':' | b'>' => Ok(false),
            b'=' | b'!' => Ok(true),
            b'P' if self.peek() == Some(b'<') => {
                self.at += 1;
                self.group_name(b'>')
            }
            b'\'' => self.group_name(b'\''),
            b'<' if matches!(self.peek(), Some(b'=' | b'!')) => {
                self.at += 1;
                Ok(true)
            }
            b'<' => self.group_name(b'>'),
            b'i' if self.peek() == Some(b':') => {
                self.at += 1;
                Ok(false)
            }
            // `(?i)`: an empty group, whose `)` is parsed by `group`.
            b'i' if self.peek() == Some(b')') => Ok(true),
            _ => Err(UnsupportedSyntax),
        }
    }

    fn group_name(&mut self, end: u8) -> Result<bool, UnsupportedSyntax> {
        while self.next()? != end {}
        Ok(false)
    }

    /// Parses the quantifier after an element, if any.
    fn repeat(&mut self) -> Result<Repetition, UnsupportedSyntax> {
        let repeat = match self.peek() {
            Some(b'*' | b'?') => Repetition::Optional,
            Some(b'+') => Repetition::Many,
            Some(b'{') => return self.counted(),
            _ => return Ok(Repetition::Once),
        };
        self.at += 1;
        self.greediness();
        Ok(repeat)
    }

    fn counted(&mut self) -> Result<Repetition, UnsupportedSyntax> {
        let rest = &self.bytes[self.at + 1..];
        let end = rest.iter().position(|&byte| byte == b'}').ok_or(UnsupportedSyntax)?;
        let count = &rest[..end];
        let digits = count.iter().take_while(|byte| byte.is_ascii_digit()).count();
        // Depending on the version of PCRE2, forms other than {n}, {n,} and {n,m} are literal text or a quantifier.
        let commas = memchr::memchr_iter(b',', count).count();
        let known = count.iter().all(|byte| byte.is_ascii_digit() || *byte == b',');
        if digits == 0 || commas > 1 || !known {
            return Err(UnsupportedSyntax);
        }
        self.at += end + 2;
        self.greediness();
        let never = count[..digits].iter().all(|&digit| digit == b'0');
        Ok(if never { Repetition::Optional } else { Repetition::Many })
    }

    fn greediness(&mut self) {
        if matches!(self.peek(), Some(b'?' | b'+')) {
            self.at += 1;
        }
    }
}

/// Replaces `best` by `set` if that is better for the filter: its shortest literal is longer (up to the length that the
/// filter uses), or else it has fewer literals, or else a longer shortest literal.
fn replace_if_better(best: &mut Option<LiteralSet>, set: LiteralSet) {
    let worth = |set: &LiteralSet| {
        let shortest = set.iter().map(Vec::len).min().unwrap_or(0);
        (shortest.min(6), usize::MAX - set.len(), shortest)
    };
    if worth(&set).0 == 0 {
        return;
    }
    if best.as_ref().is_none_or(|best| worth(&set) > worth(best)) {
        *best = Some(set);
    }
}
