//! `ssi`: pages with commands that include other responses.
//!
//! A page is sent as it is read. An include is requested as soon as its command is parsed, several concurrently, and
//! output in the order of the page. `myriad_script::ssi` parses and executes commands; this module supplies the required server
//! functions: variables, subrequests, bodies.

mod body;
mod directives;
mod environment;
mod filter;
mod include;
mod rules;
mod settings;
mod variables;

pub use directives::ROWS;
pub(super) use filter::compiled;
pub use include::store_output_buffer_size;
pub use variables::VARIABLES;

#[cfg(test)]
mod tests;
