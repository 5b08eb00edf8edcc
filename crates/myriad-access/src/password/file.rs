//! Lookup of a user in a password file, with the lines `name:password`, `name:password:comment` and `# comment`.

/// Returns the stored password of a user, from the first line with this name; `None` if the file has no such line.
pub fn find<'a>(file: &'a [u8], user: &[u8]) -> Option<&'a [u8]> {
    for line in file.split(|byte| *byte == b'\n') {
        // As in nginx, a comment line never matches, even for a user name that begins with `#`.
        if matches!(line.first(), Some(b'#' | b'\r')) {
            continue;
        }
        if let Some(rest) = line.strip_prefix(user).and_then(|rest| rest.strip_prefix(b":")) {
            let end = rest.iter().position(|byte| matches!(byte, b':' | b'\r')).unwrap_or(rest.len());
            return Some(&rest[..end]);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &[u8] = b"# who:may\n\nann:one:a comment\nbo:two\r\nbobby:three\nbo:four\n:five\nlast:six";

    #[test]
    fn each_user_has_the_password_of_the_first_line() {
        let found = |user: &str| find(FILE, user.as_bytes()).map(|bytes| std::str::from_utf8(bytes).unwrap());
        assert_eq!(found("ann"), Some("one"));
        assert_eq!(found("bo"), Some("two"));
        assert_eq!(found("bobby"), Some("three"));
        assert_eq!(found("last"), Some("six"));
        assert_eq!(found("la"), None);
        assert_eq!(found("nobody"), None);
        assert_eq!(found("# who"), None);
    }
}
