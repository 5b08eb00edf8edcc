//! File name patterns of `include`: `*`, `?` and `[…]`, with the semantics of glob(3).

use std::{
    ffi::OsStr,
    io,
    os::unix::ffi::OsStrExt,
    path::{Component, Path, PathBuf},
};

use crate::source::Loader;

/// Returns whether the path of an `include` contains a pattern character (`*`, `?` or `[`), the same test as in nginx.
pub(crate) fn is_pattern(path: &[u8]) -> bool {
    path.iter().any(|byte| matches!(byte, b'*' | b'?' | b'['))
}

/// Returns the existing paths that match a pattern, sorted per folder; empty if none matches. As in glob(3), a name
/// that starts with `.` is matched only by a pattern that starts with `.`. Folders that do not exist are skipped. Fails
/// if a folder in which a part of the pattern is searched exists but cannot be listed.
pub(crate) fn expand(loader: &dyn Loader, pattern: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = vec![PathBuf::new()];
    for component in pattern.components() {
        let name = component.as_os_str().as_bytes();
        if !matches!(component, Component::Normal(_)) || !is_pattern(name) {
            for path in &mut found {
                path.push(component);
            }
            continue;
        }
        let mut next = Vec::new();
        for folder in &found {
            next.extend(matching(loader, folder, name)?);
        }
        found = next;
    }
    if !pattern.components().next_back().is_some_and(|last| is_pattern(last.as_os_str().as_bytes())) {
        // The last component is a plain name: only matched folders that contain this name remain.
        found.retain(|path| {
            let names = path.parent().and_then(|folder| loader.list(folder).ok()).unwrap_or_default();
            path.file_name().is_some_and(|name| names.iter().any(|listed| listed == name))
        });
    }
    Ok(found)
}

fn matching(loader: &dyn Loader, folder: &Path, pattern: &[u8]) -> io::Result<Vec<PathBuf>> {
    let mut names = match loader.list(folder) {
        Ok(names) => names,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Vec::new()
        }
        Err(error) => return Err(error),
    };
    names.retain(|name| {
        let hidden = name.as_bytes().starts_with(b".") && !pattern.starts_with(b".");
        !hidden && matches(pattern, name.as_bytes())
    });
    names.sort();
    Ok(names.iter().map(|name| folder.join(OsStr::new(name))).collect())
}

/// Returns whether a file name matches a pattern. Backtracks only to the last `*`, so no pattern takes exponential
/// time.
pub(crate) fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&b'*') {
            retry = Some((p, n));
            p += 1;
        } else if let Some(width) = one(&pattern[p..], name[n]) {
            p += width;
            n += 1;
        } else if let Some((star, from)) = retry {
            retry = Some((star, from + 1));
            p = star + 1;
            n = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

/// Returns the length in bytes of the first pattern element if it matches `byte`; `None` if it does not.
fn one(pattern: &[u8], byte: u8) -> Option<usize> {
    match *pattern.first()? {
        b'?' => Some(1),
        b'[' => match class(pattern) {
            Some((set, negated, width)) => (contains(set, byte) != negated).then_some(width),
            None => (byte == b'[').then_some(1),
        },
        b'\\' if pattern.len() > 1 => (pattern[1] == byte).then_some(2),
        literal => (literal == byte).then_some(1),
    }
}

/// Parses `[…]` at the start of the pattern. Returns its members, true if it is negated, and its length in bytes;
/// `None` if it is not closed.
fn class(pattern: &[u8]) -> Option<(&[u8], bool, usize)> {
    let negated = matches!(pattern.get(1), Some(b'!' | b'^'));
    let start = if negated { 2 } else { 1 };
    // A leading `]` is a member of the class.
    let end = start + 1 + pattern.get(start + 1..)?.iter().position(|&byte| byte == b']')?;
    Some((&pattern[start..end], negated, end + 1))
}

fn contains(set: &[u8], byte: u8) -> bool {
    let mut at = 0;
    while at < set.len() {
        if at + 2 < set.len() && set[at + 1] == b'-' {
            if (set[at]..=set[at + 2]).contains(&byte) {
                return true;
            }
            at += 3;
        } else {
            if set[at] == byte {
                return true;
            }
            at += 1;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_as_the_shell_has_them() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*.conf", "a.conf", true),
            ("*.conf", "a.conf.bak", false),
            ("a*b*c", "aXbYbc", true),
            ("a*b*c", "aXbYb", false),
            ("?", "", false),
            ("?x", "ax", true),
            ("[ab]x", "bx", true),
            ("[!ab]x", "bx", false),
            ("[^ab]x", "cx", true),
            ("[a-c-]", "-", true),
            ("[]]", "]", true),
            ("[a", "[a", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn many_stars_do_not_hang() {
        assert!(!matches("*a".repeat(100).as_bytes(), "b".repeat(10_000).as_bytes()));
        assert!(!matches(("a*".repeat(50) + "b").as_bytes(), "a".repeat(10_000).as_bytes()));
    }
}
