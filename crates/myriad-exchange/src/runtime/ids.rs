//! Identifiers of places and servers within a site.

/// Index of a place in [`super::Runtime::places`].
pub type PlaceId = u32;
/// Index of a server in [`super::Runtime::servers`].
pub type ServerId = u32;
