//! Search for the known name that is most similar to an unknown name.

/// Returns the candidate most similar to a misspelled `name`; `None` if no candidate is similar. A candidate may differ
/// in at most a third of the letters of `name`, but always in one, and never in more than three.
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let limit = (name.chars().count() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(name.len()) <= limit)
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Returns the number of insertions, deletions, replacements and swaps of adjacent letters that turn `a` into `b`. Only
/// the first 64 letters are compared.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};
    use crate::testing;

    #[test]
    fn distance_counts_insertions_deletions_replacements_and_swaps() {
        for (a, b, expected) in [
            ("", "", 0),
            ("abc", "abc", 0),
            ("abc", "acb", 1),
            ("abc", "ab", 1),
            ("ab", "abc", 1),
            ("abc", "axc", 1),
            ("", "abc", 3),
        ] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }

    #[test]
    fn only_near_names_are_suggested() {
        assert_eq!(nearest("WORDPRES", ["static", "WORDPRESS"]), Some("WORDPRESS"));
        assert_eq!(nearest("completely", ["different"]), None);
        let registry = testing::registry();
        let nearest_directive = |name| registry.nearest_directive(name);
        assert_eq!(nearest_directive("fastcgi_pas"), Some("fastcgi_pass"));
        assert_eq!(nearest_directive("proxy_read_timeuot"), Some("proxy_read_timeout"));
        assert_eq!(nearest_directive("ssl_certificat"), Some("ssl_certificate"));
        assert_eq!(nearest_directive("qqqqqqqq"), None);
    }
}
