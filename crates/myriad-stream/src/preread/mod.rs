//! What a client says to open TLS, read before its connection is passed on (`ssl_preread`). Nothing is answered and no byte is taken.

mod hello;
#[cfg(test)]
mod tests;

pub use hello::{Hello, Reading, read};
