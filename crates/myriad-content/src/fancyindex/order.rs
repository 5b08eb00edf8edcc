//! Sort order of a listing: the configured one, or one requested by the client (`?C=S&O=D`).

use std::cmp::Ordering;

use crate::folder::{DirectoryItem, ItemKind};

/// Property of files by which a listing is sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SortKey {
    #[default]
    Name,
    Size,
    Date,
}

/// Sort order of a listing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SortOrder {
    pub by: SortKey,
    pub descending: bool,
}

impl SortOrder {
    pub(super) const fn new(by: SortKey, descending: bool) -> Self {
        Self { by, descending }
    }

    /// Parses the query arguments `C=KEY` or `C=KEY&O=DIRECTION`; `None` if they have another form. An unknown key
    /// means the name, and any direction except `D` is ascending.
    pub(super) fn parse_arguments(args: &[u8]) -> Option<Self> {
        let (by, descending) = match args {
            [b'C', b'=', by] => (by, false),
            [b'C', b'=', by, b'&', b'O', b'=', direction] => (by, *direction == b'D'),
            _ => return None,
        };
        let by = match by {
            b'S' => SortKey::Size,
            b'M' => SortKey::Date,
            _ => SortKey::Name,
        };
        Some(Self { by, descending })
    }

    /// Returns the query of a link that requests this order, escaped for an HTML attribute.
    pub(super) fn arguments(self) -> &'static str {
        match (self.by, self.descending) {
            (SortKey::Name, false) => "?C=N&amp;O=A",
            (SortKey::Name, true) => "?C=N&amp;O=D",
            (SortKey::Size, false) => "?C=S&amp;O=A",
            (SortKey::Size, true) => "?C=S&amp;O=D",
            (SortKey::Date, false) => "?C=M&amp;O=A",
            (SortKey::Date, true) => "?C=M&amp;O=D",
        }
    }

    /// Sorts the entries of a listing. Entries with equal keys are ordered by name. If `directories_first` is set,
    /// directories precede files also in descending order.
    pub(super) fn sort(self, items: &mut [DirectoryItem], case_sensitive: bool, directories_first: bool) {
        let by_name = |one: &DirectoryItem, two: &DirectoryItem| {
            let folded = |item: &DirectoryItem| item.name.to_ascii_lowercase();
            let loosely = if case_sensitive { Ordering::Equal } else { folded(one).cmp(&folded(two)) };
            loosely.then_with(|| one.name.cmp(&two.name))
        };
        items.sort_unstable_by(|one, two| {
            let ordered = match self.by {
                SortKey::Name => by_name(one, two),
                SortKey::Size => one.size.cmp(&two.size),
                SortKey::Date => one.modified_s.cmp(&two.modified_s),
            };
            let ordered = if self.descending { ordered.reverse() } else { ordered };
            let is_file = |item: &DirectoryItem| item.kind != ItemKind::Directory;
            let kind_ordering =
                if directories_first { is_file(one).cmp(&is_file(two)) } else { Ordering::Equal };
            kind_ordering.then(ordered).then_with(|| by_name(one, two))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(order: SortOrder, case_sensitive: bool, directories_first: bool) -> String {
        let item =
            |kind, name: &str, size, modified_s| DirectoryItem { kind, name: name.into(), modified_s, size };
        let mut items = [
            item(ItemKind::File, "b", 3, 1),
            item(ItemKind::Directory, "d", 9, 9),
            item(ItemKind::File, "C", 1, 3),
            item(ItemKind::File, "a", 1, 2),
            item(ItemKind::Directory, "A", 5, 5),
        ];
        order.sort(&mut items, case_sensitive, directories_first);
        items.iter().map(|item| String::from_utf8_lossy(&item.name)).collect()
    }

    #[test]
    fn lists_are_sorted_by_what_is_asked_for() {
        let order = |text: &str| SortOrder::parse_arguments(text.as_bytes()).expect("an order");
        assert_eq!(sorted(order("C=N&O=A"), true, true), "AdCab");
        assert_eq!(sorted(order("C=N&O=A"), false, true), "AdabC");
        assert_eq!(sorted(order("C=N&O=D"), true, true), "dAbaC");
        assert_eq!(sorted(order("C=N"), false, false), "AabCd");
        assert_eq!(sorted(order("C=S"), true, true), "AdCab");
        assert_eq!(sorted(order("C=S&O=D"), true, false), "dAbCa");
        assert_eq!(sorted(order("C=M&O=D"), true, true), "dACab");
    }

    #[test]
    fn other_arguments_ask_for_no_order() {
        for args in ["", "C=", "C=NN", "C=N&O=", "x&C=N", "C=N&O=A&x", "c=n"] {
            assert_eq!(SortOrder::parse_arguments(args.as_bytes()), None, "{args}");
        }
        let asked = |args: &[u8]| SortOrder::parse_arguments(args).map(SortOrder::arguments);
        assert_eq!(asked(b"C=\"&O=>"), Some("?C=N&amp;O=A"), "the sent text is not copied");
        assert_eq!(asked(b"C=M&O=D"), Some("?C=M&amp;O=D"));
    }
}
