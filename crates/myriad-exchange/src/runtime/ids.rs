//! How places and servers are named within a site.

/// Index of a place in [`super::Runtime::places`].
pub type PlaceId = u32;
/// Index of a server in [`super::Runtime::servers`].
pub type ServerId = u32;
