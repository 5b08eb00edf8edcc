//! Evaluation of the parameter values of SSI commands, which may contain variables: `a/$b/${c}`.

use crate::ssi::shared::{PageEnvironment, SsiState};

/// Maximum length of an evaluated parameter value of an SSI command, in bytes.
const MOST: usize = 1 << 20;

/// Evaluates a parameter value of an SSI command: inserts variables, and removes backslashes before `\`, `'`, `"` and
/// `$`. The error is a text for the error log.
pub(crate) fn evaluate(
    text: &[u8],
    shared: &SsiState,
    around: &mut dyn PageEnvironment,
    time_format: &[u8],
) -> Result<Vec<u8>, String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'\\' => {
                let Some((&quoted, after)) = rest.split_first() else { break };
                if !matches!(quoted, b'\\' | b'\'' | b'"' | b'$') {
                    out.push(b'\\');
                }
                out.push(quoted);
                rest = after;
            }
            b'$' => {
                let name = name(&mut rest, text)?.to_ascii_lowercase();
                append(&name, shared, around, time_format, &mut out);
            }
            _ => out.push(byte),
        }
        if out.len() > MOST {
            return Err(format!("\"{}\" evaluates to more than 1 MB", String::from_utf8_lossy(text)));
        }
    }
    Ok(out)
}

fn append(
    name: &[u8],
    shared: &SsiState,
    around: &mut dyn PageEnvironment,
    time_format: &[u8],
    out: &mut Vec<u8>,
) {
    match shared.get(name) {
        Some(value) => out.extend_from_slice(value),
        None => out.extend(around.variable(name, time_format).unwrap_or_default()),
    }
}

/// Parses the name of a variable, with or without braces, and removes it from `rest`. `whole` is the text shown in an
/// error.
fn name<'t>(rest: &mut &'t [u8], whole: &[u8]) -> Result<&'t [u8], String> {
    let bare = rest.strip_prefix(b"{");
    let text = bare.unwrap_or(rest);
    let end = text.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    let (name, after) = text.split_at(end.unwrap_or(text.len()));
    if name.is_empty() {
        return Err(format!("invalid variable name in \"{}\"", String::from_utf8_lossy(whole)));
    }
    *rest = match bare {
        None => after,
        Some(_) => after.strip_prefix(b"}").ok_or_else(|| {
            let name = String::from_utf8_lossy(name);
            format!("the closing bracket in \"{name}\" variable is missing")
        })?,
    };
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssi::page::tests::FakeRequest;

    fn evaluated(text: &str) -> Result<String, String> {
        let mut shared = SsiState::default();
        shared.set(b"own", b"OWN");
        let mut request = FakeRequest::default();
        request.variables.insert("host".into(), "example".into());
        let value = evaluate(text.as_bytes(), &shared, &mut request, b"")?;
        Ok(String::from_utf8(value).unwrap())
    }

    #[test]
    fn variables_are_put_in_and_backslashes_taken_off() {
        assert_eq!(evaluated("/a/$own-${Host}b$none."), Ok("/a/OWN-exampleb.".into()));
        assert_eq!(evaluated(r#"\$own \" \' \\ \n"#), Ok(r#"$own " ' \ \n"#.into()));
        assert_eq!(evaluated("a\\"), Ok("a".into()));
        assert_eq!(evaluated(""), Ok(String::new()));
    }

    #[test]
    fn a_dollar_without_a_name_is_an_error() {
        for text in ["$", "$-", "a${", "${}", "${own", "${own-}"] {
            assert!(evaluated(text).is_err(), "{text}");
        }
    }
}
