//! Settings for receiving requests from clients and sending responses: limits, timeouts, keep-alive.

use crate::text::Text;

/// Number and size of buffers, such as `large_client_header_buffers 4 8k`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LargeBuffers {
    /// Number of buffers.
    pub count: u32,
    /// Size of each buffer, in bytes.
    pub size: u64,
}

/// `lingering_close`: after a response, data that the client is still sending is read for a while before the connection
/// is closed, so that the client receives the response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lingering {
    /// `off`: closes immediately.
    #[default]
    Off,
    /// `on`: reads if more data may be in transit.
    On,
    /// `always`: reads even if no more data is expected.
    Always,
}

/// `client_body_in_file_only`: storage of request bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyInFile {
    /// `off`: in memory if the body fits into the buffer, otherwise in a file.
    #[default]
    Off,
    /// `clean`: in a file unless it is empty; the file is removed after the request.
    Clean,
    /// `on`: in a file unless it is empty; the file is not removed.
    On,
}

/// `client_min_rate RATE grace=TIME`: minimum rate at which a client must send its request or receive the response,
/// measured while the server waits for the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MinRate {
    /// Minimum rate in bytes per second, at least 1.
    pub rate: u64,
    /// `grace=`: length of a measurement interval, in milliseconds spent waiting for the client; the rate is checked at
    /// the end of each interval.
    pub grace: u64,
    /// `pressure`: true if the rate is only checked while a worker uses more than three quarters of its connections or
    /// memory is short.
    pub under_pressure: bool,
}

/// Folder of temporary files and its subfolders, such as `client_body_temp_path PATH 1 2`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TempPath {
    /// Path of the folder, relative to the prefix.
    pub path: Text,
    /// Lengths of the names of nested subfolders: up to three numbers from 1 to 3.
    pub levels: Vec<u8>,
}

/// Settings for connections of clients. Times are in ms, sizes in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientSettings {
    /// `client_header_timeout`: maximum time to receive the request head, in ms; 0 for no limit.
    pub header_timeout: u64,
    /// `client_header_buffer_size`: size of the first buffer for the request head, in bytes.
    pub header_buffer_size: u64,
    /// `large_client_header_buffers`: further buffers for a request head that does not fit into the first.
    pub large_header_buffers: LargeBuffers,
    /// `max_headers`: maximum number of header fields in a request.
    pub max_headers: u32,
    /// `client_max_body_size`: maximum size of a request body, in bytes; 0 for no limit.
    pub max_body_size: u64,
    /// `client_body_timeout`: maximum time between two reads of a request body, in ms; 0 for no limit.
    pub body_timeout: u64,
    /// `client_body_buffer_size`: maximum size of a request body in memory, in bytes.
    pub body_buffer_size: u64,
    /// `client_body_in_file_only`: condition for storing request bodies in files.
    pub body_in_file_only: BodyInFile,
    /// `client_body_temp_max_size` (only in Myriad): maximum total size of request bodies in files, in bytes; 0 for no
    /// limit.
    pub body_temp_max_size: u64,
    /// `client_body_temp_path`: folder for request bodies in files.
    pub body_temp_path: TempPath,
    /// `client_body_in_single_buffer`: value as written; without effect.
    pub body_in_single_buffer: bool,
    /// `send_timeout`: maximum time between two writes to the client, in ms; 0 for no limit.
    pub send_timeout: u64,
    /// `client_min_rate`: minimum rate at which a client must send its request or receive the response; `None` for no
    /// minimum.
    pub min_rate: Option<MinRate>,
    /// `keepalive_timeout`: time in ms after which an idle connection is closed; 0 closes the connection after each
    /// response.
    pub keepalive_timeout: u64,
    /// Second argument of `keepalive_timeout`: value of the `Keep-Alive` response field, in seconds; `None` if not set.
    pub keepalive_header_s: Option<u64>,
    /// `keepalive_min_timeout`: time in ms as written; without effect.
    pub keepalive_min_timeout: u64,
    /// `keepalive_requests`: maximum number of requests per connection; 0 closes it after the first response, as 1
    /// does.
    pub keepalive_requests: u64,
    /// `keepalive_time`: a connection older than this, in ms, is closed after its current response.
    pub keepalive_time: u64,
    /// `keepalive_disable msie6`: true if old versions of MSIE get no persistent connection after a POST.
    pub keepalive_disable_msie6: bool,
    /// `keepalive_disable safari`: true if Safari on macOS or iOS (a `User-Agent` with `Mac OS X`) gets no persistent
    /// HTTP/1 connections.
    pub keepalive_disable_safari: bool,
    /// `lingering_close`: condition for reading data that the client is still sending before the connection is closed.
    pub lingering_close: Lingering,
    /// `lingering_time`: maximum total time of a lingering close, in ms.
    pub lingering_time: u64,
    /// `lingering_timeout`: maximum time between two reads of a lingering close, in ms.
    pub lingering_timeout: u64,
    /// `reset_timedout_connection`: true if a connection is reset after a timeout, and for status 444.
    pub reset_timedout_connection: bool,
    /// `tcp_nodelay`: value as written; without effect.
    pub tcp_nodelay: bool,
    /// `tcp_nopush`: value as written; without effect.
    pub tcp_nopush: bool,
    /// `chunked_transfer_encoding`: false if responses of unknown length to HTTP/1.1 clients end with the connection.
    pub chunked_transfer_encoding: bool,
    /// `ignore_invalid_headers`: true if request fields with invalid names are dropped; otherwise they are accepted.
    pub ignore_invalid_headers: bool,
    /// `underscores_in_headers`: true if underscores in names of request fields are valid.
    pub underscores_in_headers: bool,
    /// `merge_slashes`: true if adjacent slashes in the URI are merged.
    pub merge_slashes: bool,
}
