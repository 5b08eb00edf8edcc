//! What origins are told and what of their answers goes on, asked of whole places.

mod answer;
mod cgi;
mod http_answer;
mod http_request;
mod http_uri;
mod led;
mod to_the_end;
mod upload;
