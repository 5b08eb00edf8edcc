//! Session resumption: tickets, caches, early data; they outlive a reload.

pub(crate) mod keeper;
pub(crate) mod kept;
mod session_context;
pub(crate) mod sessions;
pub(crate) mod setup;
mod ticket_key;
mod tickets;
