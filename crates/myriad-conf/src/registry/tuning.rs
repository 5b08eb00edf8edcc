//! Directives that tune nginx's implementation, accepted without effect.

use super::{Arity, Contexts, Directive, FLAG, FamilyRow, ONE, Set, TWO, at_least, between};

const HSL: Contexts = Contexts::HSL;
const HS: Contexts = Contexts::HTTP_SERVER;
const HTTP: Contexts = Contexts::HTTP;
const MAIN: Contexts = Contexts::MAIN;
const EVENTS: Contexts = Contexts::EVENTS;

const HASH: &str = "tables are sized automatically";
const POOL: &str = "Myriad has no memory pools";
const IO: &str = "files are read by a thread pool and sent with sendfile(2)";
const LOOP: &str = "the server selects and balances the event loop";
const BUFFERS: &str = "buffers are sized automatically";
const TEMP: &str = "temporary files have no names and need no folders";

const fn row(name: &'static str, contexts: Contexts, arity: Arity, note: &'static str) -> Directive {
    Directive::new(name, contexts, arity, Set::Nothing, "Tunes internals of nginx.").no_effect(note)
}

pub(super) static ROWS: &[Directive] = &[
    row("use", EVENTS, ONE, LOOP),
    row("multi_accept", EVENTS, FLAG, LOOP),
    row("accept_mutex", EVENTS, FLAG, LOOP),
    row("accept_mutex_delay", EVENTS, ONE, LOOP),
    row("epoll_events", EVENTS, ONE, LOOP),
    row("worker_aio_requests", EVENTS, ONE, IO),
    row("worker_cpu_affinity", MAIN, at_least(1), "the kernel schedules the threads"),
    row("worker_priority", MAIN, ONE, "set the priority in the service manager"),
    row("timer_resolution", MAIN, ONE, "reading the clock is cheap"),
    row("lock_file", MAIN, ONE, "Myriad needs no lock file"),
    row("debug_points", MAIN, ONE, "Myriad has no debug points"),
    row("thread_pool", MAIN, between(2, 3), IO).repeats(),
    row("server_names_hash_max_size", HTTP, ONE, HASH),
    row("server_names_hash_bucket_size", HTTP, ONE, HASH),
    row("variables_hash_max_size", HTTP, ONE, HASH),
    row("variables_hash_bucket_size", HTTP, ONE, HASH),
    row("map_hash_max_size", HTTP, ONE, HASH),
    row("map_hash_bucket_size", HTTP, ONE, HASH),
    row("types_hash_max_size", HSL, ONE, HASH),
    row("types_hash_bucket_size", HSL, ONE, HASH),
    row("connection_pool_size", HS, ONE, POOL),
    row("request_pool_size", HS, ONE, POOL),
    row("aio", HSL, ONE, IO),
    row("aio_write", HSL, FLAG, IO),
    row("directio", HSL, ONE, IO),
    row("directio_alignment", HSL, ONE, IO),
    row("read_ahead", HSL, ONE, IO),
    row("send_lowat", HSL, ONE, "effective on other operating systems only"),
    row("postpone_output", HSL, ONE, BUFFERS),
    row("open_file_cache_events", HSL, FLAG, "effective on other operating systems only"),
    row("gzip_buffers", HSL, TWO, BUFFERS),
    row("gzip_window", HSL, ONE, BUFFERS),
    row("gzip_hash", HSL, ONE, BUFFERS),
    row("postpone_gzipping", HSL, ONE, BUFFERS),
    row("gzip_no_buffer", HSL, FLAG, BUFFERS),
    row("gunzip_buffers", HSL, TWO, BUFFERS),
    row("brotli_buffers", HSL, TWO, BUFFERS),
    row("zstd_buffers", HSL, TWO, BUFFERS),
];

/// Directives for origins that are accepted without effect, for each protocol.
pub(super) static ORIGIN: &[FamilyRow] = &[
    FamilyRow::new(row("temp_path", HSL, between(1, 4), TEMP)),
    FamilyRow::new(row("send_lowat", HSL, ONE, "effective on other operating systems only")),
    FamilyRow::new(row("socket_rcvbuf", HSL, ONE, BUFFERS)),
    FamilyRow::new(row("socket_sndbuf", HSL, ONE, BUFFERS)),
];
