//! What the core knows of filters, which change the answers of a place on their way to the client.
//!
//! `X` is the exchange. An exchange knows its place, and a place its filters; so what filters are is said below both.

use std::any::Any;

use super::Answer;

/// A filter with the settings of its place. Filters are asked in one order, which stands in `output/filters/order.rs`.
pub trait Filter<X: 'static>: Any + Send + Sync {
    /// The directive that does it, for explanations.
    fn name(&self) -> &'static str;

    /// Whether it may change the body of an answer with that media type, which has no parameters.
    fn changes(&self, media_type: &[u8]) -> bool;

    /// Whether it must be given such a body in identity: it cannot read what is packed.
    fn reads(&self, media_type: &[u8]) -> bool {
        self.changes(media_type)
    }

    /// Whether there are bodies that it changes at all.
    fn changes_bodies(&self) -> bool {
        true
    }

    /// Whether its settings may ask for fields of the answer (`$sent_http_*`): then what the head says so far is made
    /// known ahead of it.
    fn asks_of_head(&self) -> bool {
        false
    }

    /// Whether pages may name any variable, so that the names are needed while the site runs.
    fn reads_by_name(&self) -> bool {
        false
    }

    /// Whether requests may take the short way past it. What its templates read has been collected as they were compiled.
    fn may_shorten(&self) -> bool;

    /// Bytes of the pieces in which long answers are asked for; 0 where they are asked for whole.
    fn piece_size(&self) -> u64 {
        0
    }

    /// Changes the answer: mends its head, and wraps its body in one that changes bytes as they are pulled and holds no
    /// more than a fixed window of them.
    fn apply(&self, _: &mut X, _: &mut Answer) {}
}

/// The filters of a place, in their order. A place that has none pays one branch for each question.
pub struct Filters<X: 'static> {
    list: Box<[Box<dyn Filter<X>>]>,
    /// Whether one of them changes bodies.
    change_bodies: bool,
    /// See [`Filter::piece_size`].
    piece_size: u64,
}

impl<X: 'static> Filters<X> {
    /// The filters of a place, the first to be asked first.
    pub fn new(list: Vec<Box<dyn Filter<X>>>) -> Self {
        Self {
            change_bodies: list.iter().any(|filter| filter.changes_bodies()),
            piece_size: list.iter().map(|filter| filter.piece_size()).max().unwrap_or(0),
            list: list.into(),
        }
    }

    /// The filters, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Filter<X>> {
        self.list.iter().map(|filter| &**filter)
    }

    /// The filter of that type, if the place has it.
    pub fn get<F: Filter<X>>(&self) -> Option<&F> {
        self.iter().find_map(|filter| (filter as &dyn Any).downcast_ref())
    }

    /// Whether there are bodies that a filter changes.
    pub fn change_bodies(&self) -> bool {
        self.change_bodies
    }

    /// Whether an answer of that media type (without parameters) would be changed, so that it must come in identity.
    pub fn change(&self, media_type: &[u8]) -> bool {
        self.change_bodies && self.list.iter().any(|filter| filter.reads(media_type))
    }

    /// Which directives may change the body of an answer with that media type, in the order in which they do.
    pub fn names(&self, media_type: &[u8]) -> Vec<&'static str> {
        self.iter().filter(|filter| filter.changes(media_type)).map(Filter::name).collect()
    }

    /// Whether pages may name any variable.
    pub fn read_by_name(&self) -> bool {
        self.list.iter().any(|filter| filter.reads_by_name())
    }

    /// Whether requests may take the short way past all of them; see [`Filter::may_shorten`].
    pub fn may_shorten(&self) -> bool {
        self.list.iter().all(|filter| filter.may_shorten())
    }

    /// Bytes of the pieces in which long answers are asked for; 0 where they are asked for whole.
    pub fn piece_size(&self) -> u64 {
        self.piece_size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Plain(&'static str);

    impl Filter<()> for Plain {
        fn name(&self) -> &'static str {
            self.0
        }

        fn changes(&self, media_type: &[u8]) -> bool {
            media_type == b"text/html"
        }

        fn may_shorten(&self) -> bool {
            true
        }
    }

    /// As gunzip: whatever comes, packed or not.
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

        fn may_shorten(&self) -> bool {
            true
        }
    }

    /// As slice: it changes no body.
    struct Pieces;

    impl Filter<()> for Pieces {
        fn name(&self) -> &'static str {
            "pieces"
        }

        fn changes(&self, _: &[u8]) -> bool {
            false
        }

        fn changes_bodies(&self) -> bool {
            false
        }

        fn may_shorten(&self) -> bool {
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
        assert!(none.may_shorten() && none.names(b"text/html").is_empty());
        assert_eq!(none.piece_size(), 0);
    }

    #[test]
    fn filters_are_named_in_their_order_where_they_cover_the_media_type() {
        let filters = Filters::new(vec![
            Box::new(Pieces) as Box<dyn Filter<()>>,
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
        assert!(plain.may_shorten());
        assert!(
            !Filters::new(vec![Box::new(Plain("a")) as Box<dyn Filter<()>>, Box::new(Pieces)]).may_shorten()
        );
    }

    #[test]
    fn filter_is_found_by_its_type() {
        let filters = Filters::new(vec![Box::new(Unpacking) as Box<dyn Filter<()>>, Box::new(Plain("b"))]);
        assert_eq!(filters.get::<Plain>().map(|plain| plain.0), Some("b"));
        assert!(filters.get::<Pieces>().is_none());
    }
}
