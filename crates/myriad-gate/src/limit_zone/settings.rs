//! What the directives that define zones say. `limit_req_zone` and `limit_conn_zone` share one space of names.

use myriad_conf::model::HttpConf;
use myriad_conf::number::parse_size;
use myriad_conf::registry::{Arguments, Done};
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Span, Text};

/// What a zone counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// `limit_req_zone`: requests in time, at most this many thousandths a second.
    Requests {
        /// `rate=`, thousandths of a request a second, at least 1.
        rate: u64,
    },
    /// `limit_conn_zone`: requests at once.
    Connections,
}

/// A zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitZoneConf {
    /// `zone=NAME:…`.
    pub name: String,
    /// What visitors are told apart by; holds variables.
    pub key: Text,
    /// `zone=…:SIZE`, bytes.
    pub size: u64,
    /// What is counted.
    pub kind: LimitKind,
    /// The directive.
    pub span: Span,
}

/// The zones of a configuration, in source order: settings of `http`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct LimitZones(Vec<LimitZoneConf>);

myriad_conf::feature_settings!(LimitZones);

/// The zones of a configuration, in source order.
pub fn limit_zones(http: &HttpConf) -> &[LimitZoneConf] {
    &http.settings.feature::<LimitZones>().0
}

/// Defines a zone; `zone` is the name and size that its directive says.
pub(crate) fn add_zone(
    settings: &mut Settings,
    args: &Arguments<'_>,
    zone: Option<(String, u64)>,
    kind: LimitKind,
) -> Done {
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
    zones.push(LimitZoneConf { name, key: args.text(0)?, size, kind, span: args.node.span });
    Ok(())
}

/// Reads `NAME:SIZE`, what stands behind `zone=` in an argument.
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
    // nginx's least: eight pages of memory.
    if name.is_empty() || size < 32 * 1024 {
        return Err(invalid("the name is not empty and the size at least 32k"));
    }
    Ok((name.to_owned(), size))
}
