//! Search for the known name most similar to an unknown variable name, for error messages.

/// Returns the name most similar to `unknown`, within two edits (one if it has fewer than five bytes); `None` if there
/// is none.
pub(crate) fn nearest<'n>(unknown: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let allowed = if unknown.len() < 5 { 1 } else { 2 };
    names
        .filter(|name| name.len().abs_diff(unknown.len()) <= allowed)
        .map(|name| (distance(unknown.as_bytes(), name.as_bytes()), name))
        .filter(|(edits, _)| *edits <= allowed)
        .min()
        .map(|(_, name)| name)
}

/// Returns the edit distance between two names; a swap of adjacent bytes counts as one edit.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_recognised() {
        let names = ["request_uri", "request_method", "host", "args"];
        assert_eq!(nearest("reqeust_uri", names.into_iter()), Some("request_uri"));
        assert_eq!(nearest("hst", names.into_iter()), Some("host"));
        assert_eq!(nearest("upstream", names.into_iter()), None);
    }
}
