//! Directive `status_zone`.

use myriad_conf::Diagnostic;
use myriad_conf::model::ServerConf;
use myriad_conf::registry::{Arguments, Contexts, Directive, ONE, Set, SetterResult};
use myriad_conf::settings::Settings;

use super::settings::StatusZone;

/// Maximum length of the name of a `status_zone`, in bytes.
const LONGEST: usize = 256;

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "status_zone",
        Contexts::SERVER,
        ONE,
        Set::Server(of_server),
        "Name under which the server's requests are counted; several servers may share a name.",
    )
    .computed("the first `server_name`"),
    Directive::new(
        "status_zone",
        Contexts::STREAM_SERVER,
        ONE,
        Set::Server(of_server),
        "Name under which the server's sessions are counted; several servers may share a name.",
    ),
    Directive::new(
        "status_zone",
        Contexts::LOCATION.or(Contexts::LOCATION_IF),
        ONE,
        Set::Settings(of_location),
        "Name under which requests served by the location are counted; `off` disables counting, also in nested locations.",
    ),
];

fn of_server(server: &mut ServerConf, args: &mut Arguments<'_>) -> SetterResult {
    let name = zone(args)?;
    server.settings.feature_mut::<StatusZone>().of_server = Some(name);
    Ok(())
}

fn of_location(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let name = if args.bytes(0) == b"off" { None } else { Some(zone(args)?) };
    settings.feature_mut::<StatusZone>().of_location = name;
    Ok(())
}

fn zone(args: &Arguments<'_>) -> Result<String, Diagnostic> {
    let name = args.name(0)?;
    if name.contains('$') {
        return Err(args.invalid(0, "a name without variables"));
    }
    if name.len() > LONGEST {
        return Err(args.error(0, format!("the name of a zone has more than {LONGEST} bytes")));
    }
    Ok(name)
}
