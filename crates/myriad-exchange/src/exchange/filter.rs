//! Interface of filters, which change the responses of a location before they are sent.
//!
//! The type parameter `X` is always `Exchange`. The traits are generic because of a cycle: an exchange refers to its
//! location, and the location to its filters.

use std::any::Any;

use super::ContentResponse;

/// Filter that changes the responses of a location, with its settings there. The order of filters is listed in
/// `myriad-output/src/filters/order.rs`.
pub trait Filter<X: 'static>: Any + Send + Sync {
    /// Returns the name of the directive that enables the filter, for explanations of requests.
    fn name(&self) -> &'static str;

    /// Returns true if the filter may change the body of a response with this media type (without parameters).
    fn changes(&self, media_type: &[u8]) -> bool;

    /// Returns true if the filter needs the body of a response with this media type to be without content coding.
    fn reads(&self, media_type: &[u8]) -> bool {
        self.changes(media_type)
    }

    /// Returns true if the filter may change the body of some response; false if it only changes header fields.
    fn changes_bodies(&self) -> bool {
        true
    }

    /// Returns true if the settings of the filter may read response fields (`$sent_http_*`), which must then be made
    /// available before the filter runs.
    fn reads_response_head(&self) -> bool {
        false
    }

    /// Returns true if the filter may read any variable by its name at run time, as SSI pages do.
    fn reads_by_name(&self) -> bool {
        false
    }

    /// Returns true if this filter permits that requests use the shortcut (reuse of an earlier request's routing). The
    /// variables in the filter's templates are checked elsewhere.
    fn allows_shortcut(&self) -> bool;

    /// Returns the size of the slices in which long responses are requested, in bytes; 0 if they are requested in full.
    fn piece_size(&self) -> u64 {
        0
    }

    /// Changes the response: adjusts its head, and wraps its body in a body that changes the bytes as they are polled,
    /// with a buffer of fixed size.
    fn apply(&self, _: &mut X, _: &mut ContentResponse) {}
}

/// Response filters of a location, in the order in which they are applied.
pub struct Filters<X: 'static> {
    list: Box<[Box<dyn Filter<X>>]>,
    /// True if one of the filters may change bodies.
    change_bodies: bool,
    /// Largest [`Filter::piece_size`] of the filters: the size of slices in bytes; 0 without `slice`.
    piece_size: u64,
}

impl<X: 'static> Filters<X> {
    /// Creates the filters of a location from a list in the order of application.
    pub fn new(list: Vec<Box<dyn Filter<X>>>) -> Self {
        Self {
            change_bodies: list.iter().any(|filter| filter.changes_bodies()),
            piece_size: list.iter().map(|filter| filter.piece_size()).max().unwrap_or(0),
            list: list.into(),
        }
    }

    /// Returns the filters in the order of application.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Filter<X>> {
        self.list.iter().map(|filter| &**filter)
    }

    /// Returns the filter of type `F`, if the location has it.
    pub fn get<F: Filter<X>>(&self) -> Option<&F> {
        self.iter().find_map(|filter| (filter as &dyn Any).downcast_ref())
    }

    /// Returns true if one of the location's filters may change bodies.
    pub fn change_bodies(&self) -> bool {
        self.change_bodies
    }

    /// Returns true if a response with this media type (without parameters) must arrive without content coding, because
    /// a filter that may change bodies is active and a filter reads the body.
    pub fn change(&self, media_type: &[u8]) -> bool {
        self.change_bodies && self.list.iter().any(|filter| filter.reads(media_type))
    }

    /// Returns the names of the directives of all filters that may change a body with this media type, in order of
    /// application.
    pub fn names(&self, media_type: &[u8]) -> Vec<&'static str> {
        self.iter().filter(|filter| filter.changes(media_type)).map(Filter::name).collect()
    }

    /// Returns true if one of the filters may read any variable by its name at run time.
    pub fn read_by_name(&self) -> bool {
        self.list.iter().any(|filter| filter.reads_by_name())
    }

    /// Returns true if all filters permit that requests reuse an earlier request's routing; see
    /// [`Filter::allows_shortcut`].
    pub fn allows_shortcut(&self) -> bool {
        self.list.iter().all(|filter| filter.allows_shortcut())
    }

    /// Returns the size of the slices in which long responses are requested, in bytes; 0 if they are requested in full.
    pub fn piece_size(&self) -> u64 {
        self.piece_size
    }
}
