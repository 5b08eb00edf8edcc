//! Query arguments of an API request.

use myriad_base::digits::decimal;
use myriad_http::uri;

/// Decoded query arguments. Each name occurs at most once.
pub(crate) struct Arguments(Vec<(String, String)>);

impl Arguments {
    /// Parses query arguments. Returns an error text for the client if a name is not in `names` or is repeated, or if
    /// a name or value is not UTF-8.
    pub(crate) fn parse(text: &[u8], names: &[&str]) -> Result<Self, String> {
        let mut arguments: Vec<(String, String)> = Vec::new();
        for pair in text.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
            let at = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
            let (name, value) = (decoded(&pair[..at]), decoded(pair.get(at + 1..).unwrap_or_default()));
            let (Some(name), Some(value)) = (name, value) else {
                return Err("an argument is not valid UTF-8".to_owned());
            };
            if !names.contains(&name.as_str()) {
                return Err(format!("unknown argument \"{name}\"; valid arguments: {}", names.join(", ")));
            }
            if arguments.iter().any(|(known, _)| *known == name) {
                return Err(format!("\"{name}\" is given twice"));
            }
            arguments.push((name, value));
        }
        Ok(Self(arguments))
    }

    /// Removes the argument `name` and parses it as a number; `None` if it is missing. Returns an error text for the
    /// client if it is not a number.
    pub(crate) fn number(&mut self, name: &str) -> Result<Option<u64>, String> {
        let Some(text) = self.take(name) else { return Ok(None) };
        decimal(text).map(Some).ok_or_else(|| format!("\"{name}\" must be a number"))
    }

    /// Removes and returns the value of the argument `name`; `None` if it is missing.
    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.swap_remove(at).1)
    }
}

/// Percent-decodes a value; `+` is a space, as in HTML forms. Returns `None` if the result is not UTF-8.
fn decoded(text: &[u8]) -> Option<String> {
    let text: Vec<u8> = text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    let mut out = Vec::with_capacity(text.len());
    uri::unescape(&text, &mut out);
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded_and_names_are_checked() {
        let mut arguments =
            Arguments::parse(b"match=%2Ashop%2a&zone=a+b&", &["match", "zone"]).expect("sound");
        assert_eq!(arguments.take("match").as_deref(), Some("*shop*"));
        assert_eq!(arguments.take("zone").as_deref(), Some("a b"));
        assert_eq!(arguments.take("zone"), None);
        for text in ["other=1", "zone=1&zone=2", "zone=%ff"] {
            assert!(Arguments::parse(text.as_bytes(), &["match", "zone"]).is_err(), "{text}");
        }
    }
}
