//! Interface of filters, which change the responses of a place before they are sent.
//!
//! `X` is the exchange. The traits are generic because an exchange refers to its place, and a place to its filters.

use std::any::Any;

use super::ContentResponse;

/// Filter with the settings of its place. The fixed order of filters is listed in `output/filters/order.rs`.
pub trait Filter<X: 'static>: Any + Send + Sync {
    /// Returns the name of the directive that enables the filter, for explanations.
    fn name(&self) -> &'static str;

    /// Returns whether the filter may change the body of a response with that media type (without parameters).
    fn changes(&self, media_type: &[u8]) -> bool;

    /// Returns whether the filter needs such a body without content coding.
    fn reads(&self, media_type: &[u8]) -> bool {
        self.changes(media_type)
    }

    /// Returns whether the filter changes bodies at all.
    fn changes_bodies(&self) -> bool {
        true
    }

    /// Returns whether the settings of the filter may read response fields (`$sent_http_*`). If so, the current fields
    /// of the head are made available before the filter runs.
    fn reads_response_head(&self) -> bool {
        false
    }

    /// Returns whether pages may refer to any variable by name, so that the names are needed at run time.
    fn reads_by_name(&self) -> bool {
        false
    }

    /// Returns whether requests may use the shortcut past this filter. The variables that its templates read were
    /// collected when they were compiled.
    fn allows_shortcut(&self) -> bool;

    /// Returns the size of the pieces in which long responses are requested, in bytes; 0 if they are requested in full.
    fn piece_size(&self) -> u64 {
        0
    }

    /// Changes the response: adjusts its head, and wraps its body in a body that changes the bytes as they are pulled
    /// and buffers only a window of fixed size.
    fn apply(&self, _: &mut X, _: &mut ContentResponse) {}
}

/// Filters of a place, in order. A place without filters pays one branch per query.
pub struct Filters<X: 'static> {
    list: Box<[Box<dyn Filter<X>>]>,
    /// True if a filter changes bodies.
    change_bodies: bool,
    /// Value of [`Filter::piece_size`].
    piece_size: u64,
}

impl<X: 'static> Filters<X> {
    /// Creates the filters of a place from a list in order of application.
    pub fn new(list: Vec<Box<dyn Filter<X>>>) -> Self {
        Self {
            change_bodies: list.iter().any(|filter| filter.changes_bodies()),
            piece_size: list.iter().map(|filter| filter.piece_size()).max().unwrap_or(0),
            list: list.into(),
        }
    }

    /// Returns the filters in order.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Filter<X>> {
        self.list.iter().map(|filter| &**filter)
    }

    /// Returns the filter of the type, if the place has it.
    pub fn get<F: Filter<X>>(&self) -> Option<&F> {
        self.iter().find_map(|filter| (filter as &dyn Any).downcast_ref())
    }

    /// Returns whether a filter changes bodies.
    pub fn change_bodies(&self) -> bool {
        self.change_bodies
    }

    /// Returns whether a response of that media type (without parameters) must arrive without content coding because a
    /// filter reads it.
    pub fn change(&self, media_type: &[u8]) -> bool {
        self.change_bodies && self.list.iter().any(|filter| filter.reads(media_type))
    }

    /// Returns the directives that may change the body of a response with that media type, in order of application.
    pub fn names(&self, media_type: &[u8]) -> Vec<&'static str> {
        self.iter().filter(|filter| filter.changes(media_type)).map(Filter::name).collect()
    }

    /// Returns whether pages may refer to any variable by name.
    pub fn read_by_name(&self) -> bool {
        self.list.iter().any(|filter| filter.reads_by_name())
    }

    /// Returns whether requests may use the shortcut past all filters; see [`Filter::allows_shortcut`].
    pub fn allows_shortcut(&self) -> bool {
        self.list.iter().all(|filter| filter.allows_shortcut())
    }

    /// Returns the size of the pieces in which long responses are requested, in bytes; 0 if they are requested in full.
    pub fn piece_size(&self) -> u64 {
        self.piece_size
    }
}
