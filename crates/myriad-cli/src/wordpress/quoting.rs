//! Quoting of paths as words of the nginx language.

use std::path::Path;

/// Returns a path as a word of the nginx language, in quotes if it contains special characters. Returns an error text
/// if it contains a `$` or control characters, or is not UTF-8.
pub(super) fn quoted(path: &Path) -> Result<String, String> {
    let refuse = |what| format!("wordpress: the path {} {what}", path.display());
    let text = path.to_str().ok_or_else(|| refuse("is not valid UTF-8"))?;
    if text.contains('$') || text.bytes().any(|byte| byte.is_ascii_control()) {
        return Err(refuse("contains a `$` or a control character, which a configuration cannot represent"));
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte >= 0x80 || b"/._-:@+,%=".contains(&byte);
    if text.bytes().all(plain) {
        return Ok(text.to_owned());
    }
    let mut word = String::from("\"");
    for character in text.chars() {
        if matches!(character, '"' | '\\') {
            word.push('\\');
        }
        word.push(character);
    }
    word.push('"');
    Ok(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_where_the_language_needs_it() {
        assert_eq!(quoted(Path::new("/var/www/html")).expect("plain"), "/var/www/html");
        assert_eq!(quoted(Path::new("/srv/my site")).expect("space"), "\"/srv/my site\"");
        assert_eq!(quoted(Path::new("/srv/a\"b;c")).expect("quote"), "\"/srv/a\\\"b;c\"");
        assert!(quoted(Path::new("/srv/$x")).is_err());
    }
}
