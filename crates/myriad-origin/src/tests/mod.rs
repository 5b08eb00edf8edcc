//! Tests of origin requests and responses with complete configurations.

mod answer;
mod cgi;
mod completing_fetch;
mod http_answer;
mod http_request;
mod http_uri;
mod respond;
mod upload;
