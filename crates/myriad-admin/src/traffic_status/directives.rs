//! Directives of nginx-module-vts.

use myriad_base::digits::decimal_fraction;
use myriad_conf::number::{parse_millis, parse_size};
use myriad_conf::registry::{
    Arguments, Contexts, Directive, FLAG, ONE, Set, SetterResult, at_least, between,
};
use myriad_conf::set;
use myriad_conf::settings::Settings;

use super::handler::DisplayHandler;
use super::settings::{DisplayFormat, MaxNodes, TrafficFilterConf, TrafficStatusSettings, TrafficZoneConf};
use myriad_exchange::feature::plan_handler;
use myriad_exchange::traffic::MAX_BUCKETS;

const HTTP: Contexts = Contexts::HTTP;
const HSL: Contexts = Contexts::HSL;
const SL: Contexts = Contexts::SERVER.or(Contexts::LOCATION);
const NO_LIMITS: &str = "traffic limits of the module are not supported, so the directive has no effect; use `limit_req`, `limit_conn` \
     and `limit_rate` to limit clients";

type VtsSettings = TrafficStatusSettings;

/// Directives of nginx-module-vts, including those without effect.
pub(super) static ROWS: &[Directive] = &[
    Directive::new("vhost_traffic_status", HSL, FLAG, set!(Feature<VtsSettings>.flag => on), "Enables counting of requests.")
        .default("on"),
    Directive::new("vhost_traffic_status_zone", HTTP, between(0, 1), Set::Settings(zone), "Enables traffic statistics.")
        .differs(
            "the counts are stored in the memory of the workers; keys chosen by clients (hosts, filters) use at most the \
                 size of the zone in each worker, and the least recently used are evicted; the default size is 1m",
        ),
    Directive::new(
        "vhost_traffic_status_display",
        SL,
        between(0, 1),
        Set::Settings(|settings, _| {
            settings.handler = Some(plan_handler(DisplayHandler));
            Ok(())
        }),
        "Serves the counts. `…/control?cmd=reset` and `cmd=delete` change them: restrict access with `allow` and `deny`.",
    ),
    Directive::new(
        "vhost_traffic_status_display_format",
        SL,
        ONE,
        Set::Settings(|settings, args| {
            let formats = [
                ("json", DisplayFormat::Json),
                ("jsonp", DisplayFormat::Jsonp),
                ("html", DisplayFormat::Html),
                ("prometheus", DisplayFormat::Prometheus),
            ];
            settings.feature_mut::<VtsSettings>().format = args.choice(0, &formats)?;
            Ok(())
        }),
        "Default format of the counts, if the path names no other (`…/format/json`).",
    )
    .default("json"),
    Directive::new(
        "vhost_traffic_status_display_jsonp",
        SL,
        ONE,
        Set::Settings(callback),
        "Name of the function that the format `jsonp` calls.",
    )
    .default("ngx_http_vhost_traffic_status_jsonp_callback"),
    Directive::new(
        "vhost_traffic_status_display_sum_key",
        SL,
        ONE,
        set!(Feature<VtsSettings>.name => sum_key),
        "Name of the total of all servers.",
    )
    .default("*"),
    Directive::new("vhost_traffic_status_filter", HSL, FLAG, set!(Feature<VtsSettings>.flag => filter), "Enables the filters.")
        .default("on"),
    Directive::new(
        "vhost_traffic_status_filter_by_host",
        HSL,
        FLAG,
        set!(Feature<VtsSettings>.flag => by_host),
        "Counts by the requested host instead of the server name.",
    )
    .default("off"),
    Directive::new(
        "vhost_traffic_status_filter_by_set_key",
        HSL,
        between(1, 2),
        Set::Settings(filter),
        "Counts by a text with variables, in a group.",
    )
    .repeats(),
    Directive::new(
        "vhost_traffic_status_filter_check_duplicate",
        HSL,
        FLAG,
        set!(Feature<VtsSettings>.flag => drops_duplicates),
        "Counts a filter that is defined twice only once.",
    )
    .default("on"),
    Directive::new(
        "vhost_traffic_status_filter_max_node",
        HTTP,
        at_least(1),
        Set::Settings(most_nodes),
        "Maximum number of filter keys; the least recently used are evicted.",
    )
    .default("0")
    .differs("with 0, the size of the zone limits them; each worker has its own maximum"),
    Directive::new(
        "vhost_traffic_status_average_method",
        HSL,
        between(1, 2),
        Set::Settings(average),
        "Method of averaging times: `AMM`, the arithmetic mean, or `WMA`, which gives more weight to recent values.",
    )
    .default("AMM 60s"),
    Directive::new(
        "vhost_traffic_status_histogram_buckets",
        HSL,
        at_least(1),
        Set::Settings(buckets),
        "Upper bounds of the buckets of time histograms, in seconds.",
    )
    .differs("the values of `http` apply to all servers and locations"),
    Directive::new(
        "vhost_traffic_status_bypass_stats",
        HSL,
        FLAG,
        set!(Feature<VtsSettings>.flag => passes_by),
        "Excludes requests from the counts.",
    )
    .default("off"),
    Directive::new(
        "vhost_traffic_status_stats_by_upstream",
        HTTP,
        FLAG,
        set!(Feature<VtsSettings>.flag => by_upstream),
        "Enables counting of upstream requests.",
    )
    .default("on"),
    Directive::new(
        "vhost_traffic_status_ignore_status",
        HSL,
        at_least(1),
        Set::Settings(ignored),
        "Excludes responses from the counts, by status class.",
    )
    .default("off"),
    Directive::new(
        "vhost_traffic_status_dump",
        HTTP,
        between(1, 2),
        Set::Nothing,
        "File in which counts are stored over a restart.",
    )
    .no_effect("counts survive reloads and start at zero after a restart, which Prometheus handles"),
    Directive::new("vhost_traffic_status_limit", HSL, FLAG, Set::Nothing, "Enables traffic limits.")
        .no_effect(NO_LIMITS),
    Directive::new(
        "vhost_traffic_status_limit_check_duplicate",
        HSL,
        FLAG,
        Set::Nothing,
        "Counts a traffic limit that is defined twice only once.",
    )
    .no_effect(NO_LIMITS),
    Directive::new(
        "vhost_traffic_status_bypass_limit",
        HSL,
        FLAG,
        Set::Nothing,
        "Exempts requests from traffic limits.",
    )
    .no_effect(NO_LIMITS),
];

fn zone(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let mut zone = TrafficZoneConf { name: "vhost_traffic_status".to_owned(), size: 1 << 20 };
    if !args.is_empty() {
        let invalid =
            || args.invalid(0, "of the form shared:vhost_traffic_status:1m, with a size of at least 32k");
        let text = std::str::from_utf8(args.bytes(0)).map_err(|_| invalid())?;
        let (name, size) =
            text.strip_prefix("shared:").and_then(|rest| rest.split_once(':')).ok_or_else(invalid)?;
        zone.size = parse_size(size.as_bytes()).ok().filter(|size| *size >= 32 * 1024).ok_or_else(invalid)?;
        if name.is_empty() {
            return Err(invalid());
        }
        name.clone_into(&mut zone.name);
    }
    settings.feature_mut::<VtsSettings>().zone = Some(zone);
    Ok(())
}

/// Parses the name of the JavaScript function for JSONP output. Only letters, digits, `_`, `$` and `.` are permitted,
/// because the name becomes part of a script.
fn callback(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let name = args.name(0)?;
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.')) {
        return Err(args.invalid(0, "the name of a function"));
    }
    settings.feature_mut::<VtsSettings>().callback = name;
    Ok(())
}

fn filter(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let group = if args.len() > 1 { Some(args.text(1)?) } else { None };
    let filter = TrafficFilterConf { key: args.text(0)?, group };
    let filters = &mut settings.feature_mut::<VtsSettings>().filters;
    args.start(filters);
    filters.push(filter);
    Ok(())
}

fn most_nodes(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let beginnings = args.words()[1..].iter().map(|word| word.text.clone()).collect();
    settings.feature_mut::<VtsSettings>().most_nodes = MaxNodes { number: args.number(0)?, beginnings };
    Ok(())
}

fn average(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let weighted = args.choice(0, &[("AMM", false), ("WMA", true)])?;
    let average_ms = match args.words().get(1) {
        Some(word) => parse_millis(&word.text).map_err(|_| args.invalid(1, "a time such as 60s"))?,
        None => 60_000,
    };
    let settings = settings.feature_mut::<VtsSettings>();
    (settings.weighted, settings.average_ms) = (weighted, average_ms);
    Ok(())
}

fn buckets(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let mut buckets = Vec::with_capacity(args.len());
    for index in 0..args.len() {
        if index == MAX_BUCKETS {
            return Err(args.error(index, format!("more than {MAX_BUCKETS} bounds")));
        }
        let bound = decimal_fraction(args.bytes(index)).map(|seconds| (seconds * 1000.0).round() as u64);
        let rises = |bound: &u64| *bound > buckets.last().copied().unwrap_or(0);
        let Some(bound) = bound.filter(rises) else {
            return Err(args.invalid(index, "seconds, at least 0.001 and greater than the previous bound"));
        };
        buckets.push(bound);
    }
    settings.feature_mut::<VtsSettings>().buckets = buckets;
    Ok(())
}

fn ignored(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let mut ignored = [false; 5];
    for index in 0..args.len() {
        let classes = [
            ("off", None),
            ("1xx", Some(0)),
            ("2xx", Some(1)),
            ("3xx", Some(2)),
            ("4xx", Some(3)),
            ("5xx", Some(4)),
        ];
        if let Some(class) = args.choice::<Option<usize>>(index, &classes)? {
            ignored[class] = true;
        }
    }
    settings.feature_mut::<VtsSettings>().ignored = ignored;
    Ok(())
}
