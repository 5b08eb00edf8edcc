//! uwsgi origins (`uwsgi_*`): <https://uwsgi-docs.readthedocs.io/en/latest/Protocol.html>.

mod compile;
mod language;
mod packet;
mod place;
mod settings;

pub(super) use compile::PROTOCOL;
