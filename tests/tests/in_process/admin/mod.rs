//! Tests of purges, of administration and of monitoring, with complete configurations.

mod administrator;
mod metrics;
mod purge_keys;
mod purge_requests;
mod purge_run;
mod status_zone;
mod support;
mod traffic_status;
