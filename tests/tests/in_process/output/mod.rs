//! Tests of responses, step by step, with complete configurations.

mod added_fields;
mod charset;
mod coding;
mod conditions;
mod connection;
mod encoding_variables;
mod explanation;
mod filters;
mod gunzip;
mod head;
mod more_headers;
mod names_utf8;
mod ranges;
mod slice;
mod ssi;
mod sub_filter;
mod support;
mod userid;
