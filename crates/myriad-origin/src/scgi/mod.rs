//! SCGI origins (`scgi_*`): <https://python.ca/scgi/protocol.txt>.

mod compile;
mod language;
mod netstring;
mod place;

pub(super) use compile::PROTOCOL;
