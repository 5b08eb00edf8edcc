//! Directives for inspecting and controlling a running server.

use super::{Arguments, Contexts, Directive, ONE, Set, SetterResult};
use crate::model::{ControlSocket, HistoryFile, MainConf};

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
    "control_socket",
    Contexts::MAIN,
    ONE,
    Set::Main(control_socket),
    "Socket for `myriad purge` and `myriad cache`, or `off`; by default next to the pid file.",
)
.computed("next to the pid file")
.own(),
    Directive::new(
    "history",
    Contexts::MAIN,
    ONE,
    Set::Main(history),
    "File with the statistics of the last two weeks, about 820 KB, which persist over restarts, or `off`; by default \
         in memory only if no cache zone exists.",
)
.computed("the path of the first cache zone with `.history` appended")
.own(),
];

fn history(main: &mut MainConf, args: &mut Arguments<'_>) -> SetterResult {
    main.history = if args.bytes(0) == b"off" { HistoryFile::Off } else { HistoryFile::At(args.text(0)?) };
    Ok(())
}

fn control_socket(main: &mut MainConf, args: &mut Arguments<'_>) -> SetterResult {
    main.control_socket =
        if args.bytes(0) == b"off" { ControlSocket::Off } else { ControlSocket::At(args.text(0)?) };
    Ok(())
}
