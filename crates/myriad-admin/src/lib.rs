//! Control and monitoring of a running site: purges, control socket, HTTP API, metrics, traces.
//!
//! | module | content |
//! |---|---|
//! | `purge` | purges by requests, by responses of origins, and by administrators |
//! | `protocol` | messages of the control socket and the HTTP API, and their output on a terminal |
//! | `admin` | inspection and administration, for all interfaces |
//! | `api` | administration over HTTP |
//! | `cluster` | node of a cluster: exchange of purges through Valkey or Redis |
//! | `metrics` | all counts, in the format of Prometheus |
//! | `status_zone` | names under which requests are counted |
//! | `monitoring` | live events, ranked pages, history, purges, tags |
//! | `dashboard` | dashboard page, and the API below it |
//! | `telemetry` | traces of requests (OpenTelemetry) |
//! | `traffic_status` | counts of traffic, in the format of nginx-module-vts |

pub mod admin;
pub mod api;
#[cfg(feature = "cluster")]
pub mod cluster;
pub mod dashboard;
pub mod metrics;
pub mod monitoring;
pub mod protocol;
pub mod purge;
pub mod status_zone;
#[cfg(feature = "otel")]
pub mod telemetry;
#[cfg(feature = "nginx-extras")]
pub mod traffic_status;
