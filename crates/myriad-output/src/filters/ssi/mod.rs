//! `ssi`: pages whose commands put other answers into them.
//!
//! The page goes out as it comes. What it includes is asked for as soon as its command is read, several at once, and
//! put out in the order of the page. Commands are read and obeyed in `myriad-ssi`; here is what they need of the
//! server: variables, subrequests, bodies.

mod body;
mod directives;
mod filter;
mod include;
mod rules;
mod settings;
mod surroundings;
mod variables;

pub use directives::ROWS;
pub(super) use filter::compiled;
pub use include::keep_most;
pub use variables::VARIABLES;

#[cfg(test)]
mod tests;
