//! Session resumption: tickets, session caches, early data. The state is kept over reloads.

pub(crate) mod reload_state;
mod session_context;
pub(crate) mod sessions;
pub(crate) mod setup;
pub(crate) mod shared_ticket_keys;
mod ticket_key;
pub(crate) mod ticket_key_store;
mod tickets;
