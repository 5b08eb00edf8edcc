//! Identifiers of locations and servers in a compiled configuration.

/// Index in [`super::Runtime::places`] of a level: a server, a location, an `if` or a `limit_except` block.
pub type PlaceId = u32;
/// Index of a server in [`super::Runtime::servers`].
pub type ServerId = u32;
