//! Tests of requests to origins and of their responses, with complete configurations.

mod answer;
mod cgi;
mod completing_fetch;
mod fastcgi_variables;
mod health_check;
mod http_answer;
mod http_request;
mod http_uri;
mod http_variables;
mod respond;
mod support;
mod upload;
mod upstream_variables;
