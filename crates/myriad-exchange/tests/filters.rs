//! Tests of the combined filters of a location.

use myriad_exchange::exchange::{Filter, Filters};

struct Plain(&'static str);

impl Filter<()> for Plain {
    fn name(&self) -> &'static str {
        self.0
    }

    fn changes(&self, media_type: &[u8]) -> bool {
        media_type == b"text/html"
    }

    fn allows_shortcut(&self) -> bool {
        true
    }
}

/// Filter like gunzip, which accepts bodies with and without content coding.
struct Unpacking;

impl Filter<()> for Unpacking {
    fn name(&self) -> &'static str {
        "unpacking"
    }

    fn changes(&self, _: &[u8]) -> bool {
        true
    }

    fn reads(&self, _: &[u8]) -> bool {
        false
    }

    fn allows_shortcut(&self) -> bool {
        true
    }
}

/// Filter like `slice`, which does not change bodies.
struct SmallPieces;

impl Filter<()> for SmallPieces {
    fn name(&self) -> &'static str {
        "pieces"
    }

    fn changes(&self, _: &[u8]) -> bool {
        false
    }

    fn changes_bodies(&self) -> bool {
        false
    }

    fn allows_shortcut(&self) -> bool {
        false
    }

    fn piece_size(&self) -> u64 {
        4096
    }
}

#[test]
fn place_without_filters_changes_nothing() {
    let none = Filters::<()>::new(Vec::new());
    assert!(!none.change_bodies() && !none.change(b"text/html") && !none.read_by_name());
    assert!(none.allows_shortcut() && none.names(b"text/html").is_empty());
    assert_eq!(none.piece_size(), 0);
}

#[test]
fn filters_are_named_in_their_order_where_they_cover_the_media_type() {
    let filters = Filters::new(vec![
        Box::new(SmallPieces) as Box<dyn Filter<()>>,
        Box::new(Unpacking),
        Box::new(Plain("a")),
    ]);
    assert_eq!(filters.names(b"text/html"), ["unpacking", "a"]);
    assert_eq!(filters.names(b"image/png"), ["unpacking"]);
    assert_eq!(filters.piece_size(), 4096);
}

#[test]
fn only_what_reads_a_body_wants_it_in_identity() {
    let unpacking = Filters::new(vec![Box::new(Unpacking) as Box<dyn Filter<()>>]);
    assert!(unpacking.change_bodies() && !unpacking.change(b"text/html"));
    let plain = Filters::new(vec![Box::new(Plain("a")) as Box<dyn Filter<()>>]);
    assert!(plain.change(b"text/html") && !plain.change(b"image/png"));
}

#[test]
fn one_filter_is_enough_to_close_the_short_way() {
    let plain = Filters::new(vec![Box::new(Plain("a")) as Box<dyn Filter<()>>, Box::new(Unpacking)]);
    assert!(plain.allows_shortcut());
    assert!(
        !Filters::new(vec![Box::new(Plain("a")) as Box<dyn Filter<()>>, Box::new(SmallPieces)])
            .allows_shortcut()
    );
}

#[test]
fn filter_is_found_by_its_type() {
    let filters = Filters::new(vec![Box::new(Unpacking) as Box<dyn Filter<()>>, Box::new(Plain("b"))]);
    assert_eq!(filters.get::<Plain>().map(|plain| plain.0), Some("b"));
    assert!(filters.get::<SmallPieces>().is_none());
}
