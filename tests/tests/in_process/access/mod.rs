//! Tests of access checks and of the protection of origins, with complete configurations.

mod addresses;
mod auth_basic;
mod auth_request;
mod bots;
mod gate;
mod gate_run;
mod geoip;
mod geoip2;
mod geoip2_builder;
mod limit_conn;
mod limit_req;
mod more_input_headers;
mod origin_challenge;
mod origin_queue;
mod secure_link;
mod support;
