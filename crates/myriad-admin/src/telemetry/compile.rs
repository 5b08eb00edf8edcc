//! Validation and compilation of the tracing settings of a level (`http`, server or location).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use myriad_conf::Diagnostic;
use myriad_conf::model::HttpConf;
use myriad_conf::settings::Settings;
use myriad_exchange::exchange::Tracing;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};

use crate::telemetry::exporter::Exporter;
use crate::telemetry::location_tracing::LocationTracing;
use crate::telemetry::settings::OtelSettings;
use crate::telemetry::tracing_rules::{TraceCondition, TracingRules};

/// Reports values of `otel_resource_attr` and `otel_service_name` that are not UTF-8.
pub(crate) fn check(http: &HttpConf, errors: &mut Vec<Diagnostic>) {
    let own = http.settings.feature::<OtelSettings>();
    for value in own.resource.iter().map(|(_, value)| value).chain(&own.service_name) {
        if value.as_str().is_none() {
            errors.push(Diagnostic::error(value.span, "the attribute is not valid UTF-8"));
        }
    }
}

/// Stores the compiled tracing settings of a level in `features`. Stores nothing if the configuration has no
/// `otel_exporter` and the level neither extracts nor injects trace context. Reports an error for the first level with
/// an `otel_trace` other than `off` or `0` if there is no `otel_exporter`. Also reports errors of the files of the
/// exporter, in the first call.
pub(crate) fn compile(
    compiler: &mut dyn SettingsCompiler,
    settings: &Settings,
    features: &mut PlaceFeatures,
) {
    let own = settings.feature::<OtelSettings>();
    let exports = compiler.model().settings.feature::<OtelSettings>().exporter.is_some();
    let trace_setting =
        own.trace.as_ref().filter(|setting| !exports && !matches!(setting.bytes(), b"off" | b"0"));
    if let Some(trace_setting) = trace_setting {
        // Nested levels inherit the setting, so only the first occurrence is reported.
        let first = compiler.share(|_| MissingExporterReported::default());
        if !first.0.swap(true, Ordering::Relaxed) {
            compiler.report(
                Diagnostic::error(trace_setting.span, "\"otel_exporter\" block is missing")
                    .help("add the block to http: `otel_exporter { endpoint localhost:4317; }`"),
            );
        }
    }
    let propagates = own.context.extracts || own.context.injects;
    if !exports && !propagates {
        return;
    }
    let rule = match &own.trace {
        None => TraceCondition::NotConfigured,
        Some(text) if text.has_variables() => TraceCondition::Computed(compiler.answer_template(text)),
        Some(text) => TraceCondition::Constant(matches!(text.bytes(), b"on" | b"1")),
    };
    let folder = compiler.folder().to_owned();
    let exporter = compiler.share(|http| Exporter::of(http, &folder));
    if let Some(exporter) = &*exporter {
        let errors = std::mem::take(&mut *exporter.errors.lock().unwrap_or_else(PoisonError::into_inner));
        for error in errors {
            compiler.report(error);
        }
    }
    let place = TracingRules {
        exporter,
        rule,
        context: own.context,
        name: own.span_name.as_ref().map(|name| compiler.answer_template(name)),
        route: compiler.location_name().into(),
        attributes: own
            .attributes
            .iter()
            .map(|(name, value)| (name.as_str().into(), compiler.answer_template(value)))
            .collect(),
    };
    let place = Arc::new(place);
    features.insert::<Box<dyn Tracing>>(Box::new(LocationTracing(Arc::clone(&place))));
    features.insert::<Arc<TracingRules>>(place);
}

/// Flag that is set when `otel_trace` without `otel_exporter` was reported, so that it is reported only once.
#[derive(Default)]
struct MissingExporterReported(AtomicBool);
