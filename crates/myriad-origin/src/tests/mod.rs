//! Tests of origin requests and responses with complete places.

mod answer;
mod cgi;
mod http_answer;
mod http_request;
mod http_uri;
mod led;
mod to_the_end;
mod upload;
