//! Listeners and the HTTP/1 driver that yields exchanges.
