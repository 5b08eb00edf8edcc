//! Variables with times (`$msec`, `$request_time`, `$time_local`, …), and `$request_id`.

use std::cell::Cell;

use myriad_base::calendar::{format_time_iso8601, format_time_local};
use myriad_log::local_time;

use super::write::{RequestVariable, show, thousandths};
use crate::exchange::Request;
use crate::runtime::Reads::Moment;
use crate::runtime::RowValue::Made;

pub(super) const ROWS: &[RequestVariable] = &[
    RequestVariable::new(
        "core",
        "connection_time",
        &[Moment],
        Made(|request, out| {
            thousandths(out, now_ms(request).saturating_sub(request.received.connection.accepted_ms))
        }),
    ),
    RequestVariable::new("core", "msec", &[Moment], Made(|request, out| thousandths(out, wall_ms(request))))
        .plain(),
    RequestVariable::new("core", "request_id", &[Moment], Made(request_id)),
    RequestVariable::new(
        "core",
        "request_time",
        &[Moment],
        Made(|request, out| thousandths(out, now_ms(request).saturating_sub(request.received.at_ms))),
    )
    .plain(),
    RequestVariable::new(
        "core",
        "time_iso8601",
        &[Moment],
        Made(|request, out| ISO8601.with(|latest| stamp(request, out, latest, format_time_iso8601))),
    )
    .plain(),
    RequestVariable::new(
        "core",
        "time_local",
        &[Moment],
        Made(|request, out| LOCAL.with(|latest| stamp(request, out, latest, format_time_local))),
    )
    .plain(),
];

/// Returns the time of [`now_ms`] by the system clock, in milliseconds since the Unix epoch.
fn wall_ms(request: &Request) -> u64 {
    myriad_net::clock::to_wall_ms(now_ms(request))
}

/// Returns the time that variables show, in milliseconds of the process clock, like nginx's cached clock: for a
/// finished request the time of its end, for a request that has waited the current time, otherwise the time at which
/// the request arrived.
fn now_ms(request: &Request) -> u64 {
    match (request.outcome.finished_ms, request.outcome.waited) {
        (0, false) => request.received.at_ms,
        (0, true) => myriad_net::clock::now_ms(),
        (finished_ms, _) => finished_ms,
    }
}

/// Time that a worker formatted last: the time in seconds since the Unix epoch, and its text, which is reused for all
/// requests within that second.
type Latest<const N: usize> = Cell<(u64, [u8; N])>;

thread_local! {
    static LOCAL: Latest<26> = const { Cell::new((u64::MAX, [0; 26])) };
    static ISO8601: Latest<25> = const { Cell::new((u64::MAX, [0; 25])) };
}

fn stamp<const N: usize>(
    request: &Request,
    out: &mut Vec<u8>,
    latest: &Latest<N>,
    format: fn(u64, i32) -> [u8; N],
) -> bool {
    let mut now_s = wall_ms(request) / 1000;
    let (known_s, mut text) = latest.get();
    if known_s != now_s {
        myriad_net::clock::synchronize();
        now_s = wall_ms(request) / 1000;
        text = format(now_s, local_time::offset_minutes(now_s));
        latest.set((now_s, text));
    }
    out.extend_from_slice(&text);
    true
}

impl Request {
    /// Returns the value of `$request_id`.
    pub fn id(&self) -> String {
        let mut id = Vec::with_capacity(32);
        request_id(self, &mut id);
        String::from_utf8_lossy(&id).into_owned()
    }
}

/// Appends the value of `$request_id`: 32 hexadecimal digits that identify the client's request: a hash, seeded per
/// process, of its connection, its number on the connection and its start time.
fn request_id(request: &Request, out: &mut Vec<u8>) -> bool {
    use std::hash::{BuildHasher, RandomState};
    static SEEDS: std::sync::OnceLock<(RandomState, RandomState)> = std::sync::OnceLock::new();
    let (first, second) = SEEDS.get_or_init(|| (RandomState::new(), RandomState::new()));
    // A subrequest has the identifier of the client's request.
    let began_ms =
        request.received.lineage.as_ref().map_or(request.received.at_ms, |lineage| lineage.began_ms);
    let identity = (request.received.connection.id, request.received.number, began_ms);
    show(out, format_args!("{:016x}{:016x}", first.hash_one(identity), second.hash_one(identity)))
}
