//! Tests of the cache with complete configurations, and with an origin that is a thread of the test.

mod age;
mod claim;
mod device_class;
mod directives;
mod explain;
mod flight_wait;
mod hidden_fields;
mod leader_cookies;
mod look_up;
mod maintenance;
mod origin_fields;
mod origin_protection;
mod page_address;
mod page_record;
mod serve;
mod stale;
mod stale_fallback;
mod support;
mod test_origin;
mod validity;
mod variables;
