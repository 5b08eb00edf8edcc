//! Sets of media types, configured by directives.

/// Set of media types, as in `gzip_types` and `sub_filter_types`; `None` contains every type.
#[derive(PartialEq, Eq)]
pub struct TypeSet(Option<Box<[Box<[u8]>]>>);

impl TypeSet {
    /// Creates the set from the arguments of a directive. `*` stands for every type.
    pub fn new(types: &[String]) -> Self {
        let any = types.iter().any(|known| known == "*");
        Self((!any).then(|| types.iter().map(|known| known.as_bytes().into()).collect()))
    }

    /// Returns whether the set contains `media_type` (without parameters), ignoring case. `*` also contains an empty
    /// type.
    pub fn contains(&self, media_type: &[u8]) -> bool {
        self.0.as_ref().is_none_or(|types| types.iter().any(|known| is_same(media_type, known)))
    }
}

/// Returns whether two media types are equal, ignoring case (RFC 9110 section 8.3.1). The exact comparison is first,
/// because it is faster and most types are spelled the same.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one == other || one.eq_ignore_ascii_case(other)
}

#[cfg(test)]
mod tests {
    use super::TypeSet;

    fn types(list: &[&str]) -> TypeSet {
        TypeSet::new(&list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn types_are_covered_in_any_case_and_nothing_else_is() {
        let html = types(&["text/html", "text/css"]);
        assert!(html.contains(b"text/html") && html.contains(b"Text/CSS"));
        assert!(!html.contains(b"text/plain") && !html.contains(b"text/htmlx") && !html.contains(b""));
    }

    #[test]
    fn star_covers_every_type_and_none() {
        let all = types(&["text/html", "*"]);
        assert!(all.contains(b"image/png") && all.contains(b""));
    }

    #[test]
    fn nothing_is_covered_by_no_type() {
        assert!(!types(&[]).contains(b"text/html"));
    }
}
