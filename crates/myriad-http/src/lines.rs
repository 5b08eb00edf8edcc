//! Header fields in the form of text lines (`name: value` CRLF).

/// Iterates over the field lines in `lines`, each with its terminator, which the last line may lack.
pub fn each_line(mut lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let end = memchr::memchr(b'\n', lines).map_or(lines.len(), |at| at + 1);
        let (line, rest) = lines.split_at(end);
        lines = rest;
        (!line.is_empty()).then_some(line)
    })
}

/// Passes each field line to `out`, except those of the fields in `without`. If `without` is empty, all lines are
/// passed at once.
pub fn copy_lines(lines: &[u8], without: &[&[u8]], mut out: impl FnMut(&[u8])) {
    if without.is_empty() {
        out(lines);
        return;
    }
    for line in each_line(lines) {
        if !without.iter().any(|name| is_field_line(line, name)) {
            out(line);
        }
    }
}

/// Returns the value of the first line of the field `name`, ignoring case and without surrounding white space; `None`
/// if there is none.
pub fn line_named<'a>(lines: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    lines_named(lines, name).next()
}

/// Returns the values of all lines of the field `name`, ignoring case, without surrounding white space.
pub fn lines_named<'l, 'n>(lines: &'l [u8], name: &'n [u8]) -> impl Iterator<Item = &'l [u8]> + use<'l, 'n> {
    let lines = each_line(lines).filter(move |line| is_field_line(line, name));
    lines.map(move |line| line[name.len() + 1..].trim_ascii())
}

/// Returns whether `line` is a line of the field `name`, ignoring case.
pub fn is_field_line(line: &[u8], name: &[u8]) -> bool {
    line.get(name.len()) == Some(&b':') && line[..name.len()].eq_ignore_ascii_case(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_lines_are_left_out_in_any_case() {
        let mut out = Vec::new();
        copy_lines(b"A: 1\r\nExpires: x\r\nB: 2\r\n", &[b"expires"], |line| out.extend_from_slice(line));
        assert_eq!(out, b"A: 1\r\nB: 2\r\n");
        assert_eq!(line_named(b"A: 1\r\nBc:  2 \r\n", b"bC"), Some(&b"2"[..]));
    }
}
