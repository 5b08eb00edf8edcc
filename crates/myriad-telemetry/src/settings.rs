//! Settings of the directives.

use myriad_conf::{Span, Text};

/// `otel_exporter`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExporterConf {
    /// Position of the block's head.
    pub span: Span,
    /// `endpoint`.
    pub endpoint: Endpoint,
    /// `trusted_certificate`; `None` for the system's certificate authorities.
    pub trusted: Option<Text>,
    /// `header`: names in lower case, with their values.
    pub headers: Vec<(String, String)>,
    /// `interval`, in milliseconds.
    pub interval_ms: u64,
    /// `batch_size`, in spans.
    pub batch_size: usize,
    /// `batch_count`.
    pub batch_count: usize,
}

/// Destination of spans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// True for TLS.
    pub secure: bool,
    /// Name or address, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Path for OTLP over HTTP; `None` for OTLP over gRPC.
    pub path: Option<String>,
}

/// `otel_trace_context`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Propagation {
    /// True if the client's trace context is adopted.
    pub extracts: bool,
    /// True if origins receive the trace context of this server.
    pub injects: bool,
}

/// Settings of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OtelSettings {
    /// `otel_exporter`.
    pub exporter: Option<ExporterConf>,
    /// `otel_service_name`.
    pub service_name: Option<Text>,
    /// `otel_resource_attr`; of several with the same name, the last applies.
    pub resource: Vec<(String, Text)>,
    /// `otel_trace`; `None` if absent.
    pub trace: Option<Text>,
    /// `otel_trace_context`.
    pub context: Propagation,
    /// `otel_span_name`.
    pub span_name: Option<Text>,
    /// `otel_span_attr`.
    pub attributes: Vec<(String, Text)>,
}

myriad_conf::feature_settings!(OtelSettings);
