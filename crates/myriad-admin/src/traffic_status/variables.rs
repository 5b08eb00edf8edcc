//! `$vts_*`: counts of the server that handles the request.

use super::count::server_name;
use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::exchange::variables::write::show;
use myriad_exchange::runtime::Reads::Moment;
use myriad_exchange::runtime::RowValue::Made;
use myriad_exchange::traffic::{self, Average, TrafficKind, TrafficSums};
use myriad_policy::CacheStatus;

const MODULE: &str = "vhost_traffic_status";

/// Defines a variable whose value is a single count.
macro_rules! figure {
    ($name:literal, $figure:expr) => {
        RequestVariable::new(
            MODULE,
            $name,
            &[Moment],
            Made(|request, out| append_figure(request, out, $figure)),
        )
        .yielding()
    };
}

/// Defines a variable for the number of requests of a server with a cache status.
macro_rules! cache {
    ($name:literal, $status:ident) => {
        figure!($name, |sums| sums.cache[CacheStatus::$status as usize])
    };
}

/// Variables of nginx-module-vts.
pub(super) const VARIABLES: &[RequestVariable] = &[
    figure!("vts_request_counter", |sums| sums.requests),
    figure!("vts_in_bytes", |sums| sums.in_bytes),
    figure!("vts_out_bytes", |sums| sums.out_bytes),
    figure!("vts_1xx_counter", |sums| sums.classes[0]),
    figure!("vts_2xx_counter", |sums| sums.classes[1]),
    figure!("vts_3xx_counter", |sums| sums.classes[2]),
    figure!("vts_4xx_counter", |sums| sums.classes[3]),
    figure!("vts_5xx_counter", |sums| sums.classes[4]),
    cache!("vts_cache_miss_counter", Miss),
    cache!("vts_cache_bypass_counter", Bypass),
    cache!("vts_cache_expired_counter", Expired),
    cache!("vts_cache_stale_counter", Stale),
    cache!("vts_cache_updating_counter", Updating),
    cache!("vts_cache_revalidated_counter", Revalidated),
    cache!("vts_cache_hit_counter", Hit),
    figure!("vts_cache_scarce_counter", |_| 0),
    figure!("vts_request_time_counter", |sums| sums.request.sum_ms),
    figure!("vts_request_time", |sums| {
        Average { weighted: false, period_ms: 60_000 }.of(&sums.request.times, myriad_net::clock::now_ms())
    }),
];

/// Appends a traffic count of the request's server. Returns false if the server has no counts yet.
fn append_figure(request: &Request, out: &mut Vec<u8>, figure: fn(&TrafficSums) -> u64) -> bool {
    let sums = traffic::all(&request.site.worker.all_counters);
    let mut found = sums
        .iter()
        .filter(|(key, _)| key.kind() == TrafficKind::Server && key.name() == server_name(request));
    found.next().is_some_and(|(_, sums)| show(out, figure(sums)))
}
