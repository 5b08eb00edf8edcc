//! Regular expressions that are only known while a request is processed (SSI): compiled, run once and dropped, with the
//! limits that apply to those of a configuration.

use std::ops::Range;

use super::{build, describe};
use crate::error::{EvalError, ScriptError};

/// Texts that the groups of a pattern matched, as ranges of the subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchGroups {
    /// Groups by number, the whole match first; an empty range for a group that did not participate.
    pub numbered: Vec<Range<usize>>,
    /// Names of the named groups, each with the number of the group.
    pub named: Vec<(String, usize)>,
}

/// Searches for `pattern` in `subject`; `None` if it does not match. Returns an error for an invalid pattern, and if
/// the match fails, for example at a limit.
///
/// The pattern may contain data sent by a client, so it is neither cached nor compiled with the JIT.
pub fn search_once(pattern: &str, subject: &[u8]) -> Result<Option<MatchGroups>, EvalError> {
    let failed = |reason: String| EvalError::Regex { pattern: pattern.to_owned(), reason };
    let regex = build(pattern, false, false).map_err(|error: ScriptError| failed(error.message))?;
    let mut locations = regex.capture_locations();
    let found = regex.captures_read(&mut locations, subject).map_err(|error| failed(describe(&error)))?;
    if found.is_none() {
        return Ok(None);
    }
    let numbered =
        (0..locations.len()).map(|group| locations.get(group).map_or(0..0, |(start, end)| start..end));
    let names = regex.capture_names().iter().enumerate();
    Ok(Some(MatchGroups {
        numbered: numbered.collect(),
        named: names.filter_map(|(group, name)| Some((name.clone()?, group))).collect(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_returned_by_number_and_name() {
        let found = search_once("(a)(x)?(?<b>b+)", b"-abb-").unwrap().unwrap();
        assert_eq!(found.numbered, [1..4, 1..2, 0..0, 2..4]);
        assert_eq!(found.named, [("b".to_owned(), 3)]);
        assert_eq!(search_once("z", b"-abb-"), Ok(None));
    }

    #[test]
    fn broken_and_hopeless_patterns_are_errors() {
        assert!(search_once("(", b"").is_err());
        let subject = [&[b'a'; 64][..], b"!"].concat();
        assert!(
            search_once("(*LIMIT_MATCH=4000000000)(a+)+$", &subject).is_err(),
            "limits may only be lowered"
        );
    }
}
