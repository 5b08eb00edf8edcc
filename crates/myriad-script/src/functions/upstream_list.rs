//! `upstream_list` and `set_hashed_upstream`: selection of a name from a list by the hash of a text.

use crate::functions::function::{Function, FunctionError, text};

/// Maximum sum of the weights of an `upstream_list`.
const MOST: u32 = 1 << 20;

/// `upstream_list`: named list of upstream names with weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamList {
    name: Vec<u8>,
    /// Names, each with the sum of the weights of the names up to and including it.
    members: Vec<(u32, Vec<u8>)>,
}

impl UpstreamList {
    /// Parses the words of `upstream_list`: the name of the list, then its members, with a weight (`2:moon`) or
    /// without.
    ///
    /// # Errors
    /// Returns the index of the invalid word, and the reason.
    pub fn read(words: &[&[u8]]) -> Result<Self, (usize, String)> {
        let mut end = 0u32;
        let mut members = Vec::new();
        for (index, word) in words.iter().enumerate().skip(1) {
            let (weight, name) = parse_weight(word).map_err(|wrong| (index, wrong))?;
            end = end
                .checked_add(weight)
                .filter(|end| *end <= MOST)
                .ok_or_else(|| (index, format!("the sum of the weights of the list exceeds {MOST}")))?;
            members.push((end, name.to_vec()));
        }
        Ok(Self { name: words.first().copied().unwrap_or_default().to_vec(), members })
    }

    /// Returns whether the list has this name, ignoring letter case.
    pub fn is_named(&self, name: &[u8]) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// Returns the member that belongs to the hash of a text; empty if the list has no members.
    fn member(&self, text: &[u8]) -> &[u8] {
        let count = self.members.last().map_or(1, |(end, _)| *end);
        let at = hash(text) % count;
        let found = self.members.iter().find(|(end, _)| at < *end);
        found.map(|(_, name)| &**name).unwrap_or_default()
    }
}

/// Creates the function of `set_hashed_upstream`. Its texts are the name of a list and the text to hash; an unknown
/// list is an error.
pub fn hashed(lists: Vec<UpstreamList>) -> Function {
    Function::of(move |texts, out| {
        let name = text(texts, 0);
        let list = lists.iter().find(|list| list.is_named(name));
        let list = list.ok_or_else(|| FunctionError::undefined("upstream list", name))?;
        out.extend_from_slice(list.member(text(texts, 1)));
        Ok(())
    })
}

/// Splits a member into its weight (1 if omitted) and its name. A member without a weight must not start with a digit.
fn parse_weight(word: &[u8]) -> Result<(u32, &[u8]), String> {
    let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let shown = word.escape_ascii();
    match &word[digits..] {
        _ if digits == 0 => Ok((1, word)),
        [b':', name @ ..] if !name.is_empty() => {
            let weight = str::from_utf8(&word[..digits]).ok().and_then(|digits| digits.parse().ok());
            let weight =
                weight.filter(|weight| *weight > 0).ok_or_else(|| format!("bad weight in \"{shown}\""))?;
            Ok((weight, name))
        }
        _ => Err(format!("upstream list has a bad member \"{shown}\"")),
    }
}

/// Returns nginx's hash of the text, converted to lower case, truncated to 32 bits.
fn hash(text: &[u8]) -> u32 {
    text.iter()
        .fold(0u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte.to_ascii_lowercase())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::function::shown;

    fn list(words: &[&str]) -> Result<UpstreamList, (usize, String)> {
        UpstreamList::read(&words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>())
    }

    #[test]
    fn text_has_the_member_that_the_module_gives_it() {
        let function = hashed(vec![list(&["universe", "moon", "sun", "earth"]).unwrap()]);
        // From the tests of the set-misc module.
        for (text, member) in
            [("", "moon"), ("hello", "sun"), ("world", "moon"), ("larry", "earth"), ("audreyt", "earth")]
        {
            assert_eq!(shown(&function, &["Universe", text]), member, "{text}");
        }
        assert_eq!(shown(&function, &["none", "x"]), "!upstream list \"none\" is not defined");
    }

    #[test]
    fn member_with_a_weight_counts_so_often() {
        let list = list(&["two", "2:moon", "sun"]).unwrap();
        assert_eq!(
            [b"\x00", b"\x01", b"\x02"].map(|text| list.member(text)),
            [&b"moon"[..], b"moon", b"sun"]
        );
    }

    #[test]
    fn words_that_are_no_member_are_refused() {
        assert_eq!(list(&["x", "a", "12"]).unwrap_err().0, 2);
        assert_eq!(list(&["x", "0:a"]).unwrap_err(), (1, "bad weight in \"0:a\"".to_owned()));
        assert!(list(&["x", "99999999999:a"]).is_err() && list(&["x", "1:"]).is_err());
        assert!(list(&["x", "1048576:a", "b"]).unwrap_err().1.contains("1048576"));
    }
}
