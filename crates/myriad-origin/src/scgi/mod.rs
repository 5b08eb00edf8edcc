//! SCGI origins (`scgi_*`): <https://python.ca/scgi/protocol.txt>.

mod compile;
mod netstring;
mod place;

pub(super) use compile::COMPILED;
