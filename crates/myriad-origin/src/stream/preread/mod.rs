//! TLS client hello read before a connection is relayed (`ssl_preread`). Nothing is sent, and no byte is consumed.

mod hello;
#[cfg(test)]
mod tests;

pub use hello::{HelloProgress, PrereadHello, parse_hello};
