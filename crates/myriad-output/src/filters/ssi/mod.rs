//! `ssi`: pages with commands that include other responses.
//!
//! A page is sent as it is read. An include is requested as soon as its command is parsed; several are requested
//! concurrently, and their responses are sent in the order of the page. `myriad_script::ssi` parses and executes the
//! commands; this module supplies variables, subrequests and bodies.
//!
//! | file | content |
//! |---|---|
//! | `directives`, `settings`, `rules` | directives, their settings, compiled settings |
//! | `filter` | selection of the responses that are processed |
//! | `body`, `include` | body of a page; an include in it |
//! | `environment` | data of the request that commands read |
//! | `variables` | `$date_local`, `$date_gmt` |

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
