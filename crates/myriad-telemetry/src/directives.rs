//! Directives of the feature.

use myriad_conf::registry::{Arguments, Contexts, Directive, Done, ONE, Set, block, exactly};
use myriad_conf::set;
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Text};

use crate::block::exporter;
use crate::settings::{OtelSettings, Propagation};

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
        "Where spans are sent: `endpoint`, `trusted_certificate`, `header`, `interval`, `batch_size`, `batch_count`.",
    )
    .differs(
        "`batch_size` and `batch_count` are those of the worker process, whose workers share one connection; an `endpoint` \
         with a path (`http://localhost:4318/v1/traces`) is sent OTLP over HTTP; while a collector is away, a batch waits for it",
    ),
    Directive::new(
        "otel_service_name",
        HTTP,
        ONE,
        set!(Feature<OtelSettings>.text => Some service_name),
        "`service.name` of the resource.",
    )
    .computed("`unknown_service:myriad`")
    .differs("without it the name is `unknown_service:myriad`"),
    Directive::new(
        "otel_resource_attr",
        HTTP,
        exactly(2),
        Set::Settings(resource),
        "An attribute of the resource.",
    )
    .repeats(),
    Directive::new(
        "otel_trace",
        HSL,
        ONE,
        Set::Settings(trace),
        "Whether requests are traced: `on`, `off`, or a variable that comes to `on` or `1`.",
    )
    .computed("`off`, unless a location to which an internal redirect leads says otherwise")
    .differs(
        "the first location of a request's way that says it has the say, be it reached by an internal redirect; it is asked before \
         the rules of the location run",
    ),
    Directive::new(
        "otel_trace_context",
        HSL,
        ONE,
        Set::Settings(context),
        "`extract`: the client's `traceparent` is taken over; `inject`: origins are told this server's; `propagate`: both; \
         `ignore`: neither.",
    )
    .default("ignore")
    .differs(
        "a `traceparent` of a later version than 00 is read as W3C Trace Context says, one in capitals is not; a `tracestate` that \
         is not valid, or has more than 512 bytes, is left out, and the fetch of a page for all visitors is never told it",
    ),
    Directive::new(
        "otel_span_name",
        HSL,
        ONE,
        set!(Feature<OtelSettings>.text => Some span_name),
        "The name of the span.",
    )
    .computed("the name of the location; outside of one the method"),
    Directive::new(
        "otel_span_attr",
        HSL,
        exactly(2),
        Set::Settings(attribute),
        "An attribute of the span; a level that has one inherits none.",
    )
    .repeats(),
];

fn trace(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let text = args.text(0)?;
    if !text.has_variables() && !matches!(text.bytes(), b"on" | b"off" | b"1" | b"0") {
        return Err(args.invalid(0, "\"on\", \"off\" or a variable that comes to one of them"));
    }
    settings.feature_mut::<OtelSettings>().trace = Some(text);
    Ok(())
}

fn context(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
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

fn resource(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let attribute = named(args)?;
    settings.feature_mut::<OtelSettings>().resource.push(attribute);
    Ok(())
}

fn attribute(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let attribute = named(args)?;
    let attributes = &mut settings.feature_mut::<OtelSettings>().attributes;
    args.start(attributes);
    attributes.push(attribute);
    Ok(())
}

/// Parses the name and the value of an attribute.
fn named(args: &mut Arguments<'_>) -> Result<(String, Text), Diagnostic> {
    let name = args.name(0)?;
    if name.is_empty() {
        return Err(args.invalid(0, "the name of an attribute, such as http.request.id"));
    }
    Ok((name, args.text(1)?))
}
