//! Settings of `limit_req_zone` and `limit_conn_zone`, whose zones share one namespace.

use myriad_conf::model::HttpConf;
use myriad_conf::number::parse_size;
use myriad_conf::registry::{Arguments, SetterResult};
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Span, Text};

/// Quantity that a zone limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// `limit_req_zone`: limits the request rate.
    Requests {
        /// `rate=`, in thousandths of a request per second, at least 1.
        rate: u64,
    },
    /// `limit_conn_zone`: limits the number of concurrent requests.
    Connections,
}

/// One `limit_req_zone` or `limit_conn_zone`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitZoneConf {
    /// Name of the zone, from `zone=NAME:SIZE`.
    pub name: String,
    /// Key by which requests are counted, usually a variable such as `$binary_remote_addr`.
    pub key: Text,
    /// Maximum size of the zone's table in bytes, from `zone=NAME:SIZE`.
    pub size: u64,
    /// Quantity that the zone limits.
    pub kind: LimitKind,
    /// `cluster=on`: the limits of the zone apply to all nodes of the cluster together, if there is a `cluster` block.
    pub cluster: bool,
    /// Position of the directive in the configuration.
    pub span: Span,
}

/// Limit zones of a configuration, in source order; stored in the settings of `http`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct LimitZones(Vec<LimitZoneConf>);

myriad_conf::feature_settings!(LimitZones);

/// Returns the limit zones of a configuration (`limit_req_zone`, `limit_conn_zone`), in source order.
pub fn limit_zones(http: &HttpConf) -> &[LimitZoneConf] {
    &http.settings.feature::<LimitZones>().0
}

/// Adds a zone; its key is the first argument of the directive. Returns an error if `zone` (name and size) is `None`,
/// or if the name is taken.
pub(crate) fn add_zone(
    settings: &mut Settings,
    args: &Arguments<'_>,
    zone: Option<(String, u64)>,
    kind: LimitKind,
    cluster: bool,
) -> SetterResult {
    let zones = &mut settings.feature_mut::<LimitZones>().0;
    let Some((name, size)) = zone else {
        let message = format!("\"{}\" must have \"zone\" parameter", args.directive.name);
        return Err(Diagnostic::error(args.node.span, message).help("write `zone=NAME:10m`"));
    };
    if let Some(other) = zones.iter().find(|other| other.name == name) {
        let message =
            format!("{} \"{name}\" is already bound to key \"{}\"", args.directive.name, other.key.lossy());
        return Err(Diagnostic::error(args.node.span, message).related(other.span, "first defined here"));
    }
    zones.push(LimitZoneConf { name, key: args.text(0)?, size, kind, cluster, span: args.node.span });
    Ok(())
}

/// Parses `on` or `off`, the part of an argument after `cluster=`.
pub(crate) fn parse_cluster(args: &Arguments<'_>, index: usize, text: &[u8]) -> Result<bool, Diagnostic> {
    match text {
        b"on" => Ok(true),
        b"off" => Ok(false),
        _ => Err(args.invalid(index, "`cluster=on` or `cluster=off`")),
    }
}

/// Parses `NAME:SIZE`, the part of an argument after `zone=`. Returns an error if the text is not UTF-8, the name is
/// empty, or the size is invalid or less than 32k.
pub(crate) fn name_and_size(
    args: &Arguments<'_>,
    index: usize,
    text: &[u8],
) -> Result<(String, u64), Diagnostic> {
    let invalid = |why: &str| {
        let word = String::from_utf8_lossy(args.bytes(index));
        args.error(index, format!("invalid zone size \"{word}\"")).help(why.to_owned())
    };
    let text = std::str::from_utf8(text).map_err(|_| invalid("write `zone=NAME:10m`"))?;
    let (name, size) = text.split_once(':').ok_or_else(|| invalid("write `zone=NAME:10m`"))?;
    let size = parse_size(size.as_bytes()).map_err(|_| invalid("write `zone=NAME:10m`"))?;
    // Minimum of nginx: eight pages of 4 KB.
    if name.is_empty() || size < 32 * 1024 {
        return Err(invalid("the name must not be empty, and the size must be at least 32k"));
    }
    Ok((name.to_owned(), size))
}
