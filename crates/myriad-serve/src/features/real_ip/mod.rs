//! `set_real_ip_from` and what goes with it: the address that a trusted proxy tells (nginx's realip module).

mod compile;
mod variables;

pub(super) use compile::compile;
pub(super) use variables::VARIABLES;
