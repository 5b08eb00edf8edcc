//! Comma-separated lists with quoted strings (RFC 9110 §5.6.1, §5.6.4).

/// Iterates over the members of a comma-separated field value, without surrounding white space and without empty
/// members.
///
/// A comma in a quoted string does not separate members. An unterminated string extends to the end of the value.
pub(crate) fn members(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = value;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let end = member_end(rest);
            let member = rest[..end].trim_ascii();
            rest = rest.get(end + 1..).unwrap_or_default();
            if !member.is_empty() {
                return Some(member);
            }
        }
        None
    })
}

fn member_end(rest: &[u8]) -> usize {
    let mut quoted = false;
    let mut escaped = false;
    for (at, &byte) in rest.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' if !quoted => return at,
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(value: &str) -> Vec<&str> {
        members(value.as_bytes()).map(|member| str::from_utf8(member).unwrap()).collect()
    }

    #[test]
    fn commas_separate_outside_quotes_only() {
        assert_eq!(split("a, b ,,\tc"), ["a", "b", "c"]);
        assert_eq!(split(r#"a="x,y", b"#), [r#"a="x,y""#, "b"]);
        assert_eq!(split(r#"a="x\",y", b"#), [r#"a="x\",y""#, "b"]);
        assert_eq!(split(r#"a="never, closed"#), [r#"a="never, closed"#]);
        assert_eq!(split(" , ,"), Vec::<&str>::new());
    }
}
