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
