//! Reading from and writing to the client: limits, timeouts, keep-alive.

use crate::text::Text;

/// Number and size of buffers, such as `large_client_header_buffers 4 8k`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LargeBuffers {
    /// Number of buffers.
    pub count: u32,
    /// Size of each buffer, in bytes.
    pub size: u64,
}

/// `lingering_close`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lingering {
    /// Never wait for more data from the client.
    #[default]
    Off,
    /// Wait if more data may be in transit.
    On,
    /// Wait on every close.
    Always,
}

/// `client_body_in_file_only`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyInFile {
    /// In memory if the body fits.
    #[default]
    Off,
    /// Always in a file, which is removed afterwards.
    Clean,
    /// Always in a file, which is not removed.
    On,
}

/// `client_min_rate RATE grace=TIME`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MinRate {
    /// Bytes per second, at least 1.
    pub rate: u64,
    /// `grace=`: time spent waiting for the client before the rate is checked, in milliseconds.
    pub grace: u64,
    /// `pressure`: only applies while a worker uses more than three quarters of its connections.
    pub under_pressure: bool,
}

/// Folder of temporary files, such as `client_body_temp_path PATH 1 2`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TempPath {
    /// Path relative to the prefix.
    pub path: Text,
    /// Lengths of the subfolder names: up to three numbers, each of one to three digits.
    pub levels: Vec<u8>,
}

/// Settings for reading from and writing to a connection. Times are in ms, sizes in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientSettings {
    /// `client_header_timeout`.
    pub header_timeout: u64,
    /// `client_header_buffer_size`.
    pub header_buffer_size: u64,
    /// `large_client_header_buffers`.
    pub large_header_buffers: LargeBuffers,
    /// `max_headers`: maximum number of header fields in a request.
    pub max_headers: u32,
    /// `client_max_body_size`; 0 means no limit.
    pub max_body_size: u64,
    /// `client_body_timeout`, between two reads.
    pub body_timeout: u64,
    /// `client_body_buffer_size`.
    pub body_buffer_size: u64,
    /// `client_body_in_file_only`.
    pub body_in_file_only: BodyInFile,
    /// `client_body_temp_max_size`: maximum total size of request bodies in files, in bytes; 0 for no limit. Specific
    /// to Myriad.
    pub body_temp_max_size: u64,
    /// `client_body_temp_path`.
    pub body_temp_path: TempPath,
    /// `client_body_in_single_buffer`.
    pub body_in_single_buffer: bool,
    /// `send_timeout`, between two writes.
    pub send_timeout: u64,
    /// `client_min_rate`; `None` for no minimum.
    pub min_rate: Option<MinRate>,
    /// `keepalive_timeout`; 0 closes the connection after each response.
    pub keepalive_timeout: u64,
    /// Second argument of `keepalive_timeout`, in seconds, for the `Keep-Alive` field.
    pub keepalive_header_s: Option<u64>,
    /// `keepalive_min_timeout`.
    pub keepalive_min_timeout: u64,
    /// `keepalive_requests` on one connection.
    pub keepalive_requests: u64,
    /// `keepalive_time`: a connection older than this is closed after its current response.
    pub keepalive_time: u64,
    /// `keepalive_disable msie6`.
    pub keepalive_disable_msie6: bool,
    /// `keepalive_disable safari`.
    pub keepalive_disable_safari: bool,
    /// `lingering_close`.
    pub lingering_close: Lingering,
    /// `lingering_time`.
    pub lingering_time: u64,
    /// `lingering_timeout`.
    pub lingering_timeout: u64,
    /// `reset_timedout_connection`.
    pub reset_timedout_connection: bool,
    /// `tcp_nodelay`.
    pub tcp_nodelay: bool,
    /// `tcp_nopush`.
    pub tcp_nopush: bool,
    /// `chunked_transfer_encoding`.
    pub chunked_transfer_encoding: bool,
    /// `ignore_invalid_headers`.
    pub ignore_invalid_headers: bool,
    /// `underscores_in_headers`.
    pub underscores_in_headers: bool,
    /// `merge_slashes`.
    pub merge_slashes: bool,
}
