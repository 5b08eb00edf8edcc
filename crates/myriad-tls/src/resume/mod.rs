//! Session resumption: tickets, caches, early data; they outlive a reload.

pub(crate) mod reload_state;
mod session_context;
pub(crate) mod sessions;
pub(crate) mod setup;
mod ticket_key;
pub(crate) mod ticket_key_store;
mod tickets;
