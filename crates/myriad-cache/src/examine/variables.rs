//! Names of the variables in a text of the configuration that is not compiled yet.

/// Returns the names of the variables in a configuration text, in order; `None` if a `$` is not followed by a name, or
/// a `${` has no closing brace.
pub(super) fn variables(text: &str) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        rest = &rest[at + 1..];
        let (name, after) = if let Some(braced) = rest.strip_prefix('{') {
            braced.split_once('}')?
        } else {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            rest.split_at(end)
        };
        if name.is_empty() {
            return None;
        }
        names.push(name);
        rest = after;
    }
    Some(names)
}
