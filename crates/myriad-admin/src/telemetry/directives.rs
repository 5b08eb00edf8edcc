//! Directives of request tracing, and parsers of their arguments.

use myriad_conf::registry::{Arguments, Contexts, Directive, ONE, Set, SetterResult, block, exactly};
use myriad_conf::set;
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Text};

use crate::telemetry::block::exporter;
use crate::telemetry::settings::{OtelSettings, Propagation};

const HTTP: Contexts = Contexts::HTTP;
const HSL: Contexts = Contexts::HSL;

/// Directives of nginx's module otel.
pub(crate) static ROWS: &[Directive] = &[
    Directive::new(
        "otel_exporter",
        HTTP,
        block(0, 0),
        Set::Settings(|settings, args| {
            let conf = exporter(args.node)?;
            settings.feature_mut::<OtelSettings>().exporter = Some(conf);
            Ok(())
        }),
        "Destination of spans: `endpoint`, `trusted_certificate`, `header`, `interval`, `batch_size`, `batch_count`.",
    )
    .differs(
        "`batch_size` and `batch_count` apply to the worker process, whose workers share one connection; an `endpoint` \
             with a path (`http://localhost:4318/v1/traces`) receives OTLP over HTTP; if the collector is unavailable, one \
             batch is retried",
    ),
    Directive::new(
        "otel_service_name",
        HTTP,
        ONE,
        set!(Feature<OtelSettings>.text => Some service_name),
        "Sets `service.name` of the resource.",
    )
    .computed("`unknown_service:myriad`")
    .differs("the default is `unknown_service:myriad`"),
    Directive::new(
        "otel_resource_attr",
        HTTP,
        exactly(2),
        Set::Settings(resource),
        "Sets an attribute of the resource.",
    )
    .repeats(),
    Directive::new(
        "otel_trace",
        HSL,
        ONE,
        Set::Settings(trace),
        "Enables tracing: `on`, `off`, or a variable with the value `on` or `1`.",
    )
    .computed("`off`, unless a location reached by an internal redirect sets another value")
    .differs(
        "the first location of a request that sets a value decides, even if an internal redirect reached it; the value \
             is evaluated before the rules of the location",
    ),
    Directive::new(
        "otel_trace_context",
        HSL,
        ONE,
        Set::Settings(context),
        "`extract`: uses the client's `traceparent`; `inject`: sends this server's to origins; `propagate`: both; \
             `ignore`: neither.",
    )
    .default("ignore")
    .differs(
        "a `traceparent` of a version after 00 is parsed according to W3C Trace Context, one in uppercase is rejected; a \
             `tracestate` that is invalid or longer than 512 bytes is dropped, and is never sent on the fetch of a shared \
             page",
    ),
    Directive::new(
        "otel_span_name",
        HSL,
        ONE,
        set!(Feature<OtelSettings>.text => Some span_name),
        "Name of the span.",
    )
    .computed("the name of the location; outside a location the method"),
    Directive::new(
        "otel_span_attr",
        HSL,
        exactly(2),
        Set::Settings(attribute),
        "Sets an attribute of the span; a level with attributes inherits none.",
    )
    .repeats(),
];

fn trace(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let text = args.text(0)?;
    if !text.has_variables() && !matches!(text.bytes(), b"on" | b"off" | b"1" | b"0") {
        return Err(args.invalid(0, "\"on\", \"off\" or a variable with one of these values"));
    }
    settings.feature_mut::<OtelSettings>().trace = Some(text);
    Ok(())
}

fn context(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let both = |extracts, injects| Propagation { extracts, injects };
    let choices = [
        ("ignore", both(false, false)),
        ("extract", both(true, false)),
        ("inject", both(false, true)),
        ("propagate", both(true, true)),
    ];
    settings.feature_mut::<OtelSettings>().context = args.choice(0, &choices)?;
    Ok(())
}

fn resource(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let attribute = named(args)?;
    settings.feature_mut::<OtelSettings>().resource.push(attribute);
    Ok(())
}

fn attribute(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let attribute = named(args)?;
    let attributes = &mut settings.feature_mut::<OtelSettings>().attributes;
    args.start(attributes);
    attributes.push(attribute);
    Ok(())
}

/// Parses the name and the value of an attribute. Returns an error if the name is empty or not UTF-8.
fn named(args: &mut Arguments<'_>) -> Result<(String, Text), Diagnostic> {
    let name = args.name(0)?;
    if name.is_empty() {
        return Err(args.invalid(0, "an attribute name such as http.request.id"));
    }
    Ok((name, args.text(1)?))
}
