//! What the directives say.

use myriad_conf::{Span, Text};

/// `otel_exporter`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExporterConf {
    /// The head of the block.
    pub span: Span,
    /// `endpoint`.
    pub endpoint: Endpoint,
    /// `trusted_certificate`; none for the authorities that the machine trusts.
    pub trusted: Option<Text>,
    /// `header`: names in lower case, with their values.
    pub headers: Vec<(String, String)>,
    /// `interval`, milliseconds.
    pub interval_ms: u64,
    /// `batch_size`, spans.
    pub batch_size: usize,
    /// `batch_count`.
    pub batch_count: usize,
}

/// Where spans are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// Whether by TLS.
    pub secure: bool,
    /// A name or an address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The path of OTLP over HTTP; none for OTLP over gRPC.
    pub path: Option<String>,
}

/// `otel_trace_context`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Propagation {
    /// Whether the client's context is taken over.
    pub extracts: bool,
    /// Whether origins are told ours.
    pub injects: bool,
}

/// What a level says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OtelSettings {
    /// `otel_exporter`.
    pub exporter: Option<ExporterConf>,
    /// `otel_service_name`.
    pub service_name: Option<Text>,
    /// `otel_resource_attr`; a later one of a name counts.
    pub resource: Vec<(String, Text)>,
    /// `otel_trace`; none where nothing is written.
    pub trace: Option<Text>,
    /// `otel_trace_context`.
    pub context: Propagation,
    /// `otel_span_name`.
    pub span_name: Option<Text>,
    /// `otel_span_attr`.
    pub attributes: Vec<(String, Text)>,
}

myriad_conf::feature_settings!(OtelSettings);
