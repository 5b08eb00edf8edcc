//! Settings of the tracing directives.

use myriad_conf::{Span, Text};

/// Settings of the `otel_exporter` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExporterConf {
    /// Position of the head of the block in the configuration.
    pub span: Span,
    /// `endpoint`: address of the collector.
    pub endpoint: Endpoint,
    /// `trusted_certificate`: PEM file; `None` for the system's certificate authorities.
    pub trusted: Option<Text>,
    /// `header`: header fields of requests to the collector, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// `interval`: time after which a batch is sent although it is not full, in milliseconds; not 0.
    pub interval_ms: u64,
    /// `batch_size`: maximum number of spans of a batch.
    pub batch_size: usize,
    /// `batch_count`: number of full batches that the queue holds, including the batch being sent.
    pub batch_count: usize,
}

/// Address of a collector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// True for TLS (`https://`).
    pub secure: bool,
    /// Host name or IP address of the collector; an IPv6 address has no brackets.
    pub host: String,
    /// Port of the collector, not 0.
    pub port: u16,
    /// Path for OTLP over HTTP; `None` for OTLP over gRPC.
    pub path: Option<String>,
}

/// `otel_trace_context`: exchange of trace context with clients and origins; both fields are false for `ignore`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Propagation {
    /// True if the client's trace context is adopted.
    pub extracts: bool,
    /// True if origins receive the trace context of this server.
    pub injects: bool,
}

/// Tracing settings of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OtelSettings {
    /// `otel_exporter`: collector of the spans; only in `http`. `None` if not set.
    pub exporter: Option<ExporterConf>,
    /// `otel_service_name`: name of this service in spans; `None` for the attribute `service.name` of `resource`, or
    /// without it `unknown_service:myriad`.
    pub service_name: Option<Text>,
    /// `otel_resource_attr`: names and values of attributes of this service; of several with the same name, the last
    /// applies.
    pub resource: Vec<(String, Text)>,
    /// `otel_trace`: condition under which requests are traced; `None` if not configured.
    pub trace: Option<Text>,
    /// `otel_trace_context`: exchange of trace context with clients and origins.
    pub context: Propagation,
    /// `otel_span_name`: name of the spans of requests; `None` for the name of the location, or the method outside of
    /// locations.
    pub span_name: Option<Text>,
    /// `otel_span_attr`: names and values of additional attributes of spans.
    pub attributes: Vec<(String, Text)>,
}

myriad_conf::feature_settings!(OtelSettings);
