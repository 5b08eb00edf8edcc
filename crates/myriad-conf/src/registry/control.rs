//! Directives for inspecting and controlling a running server.

use super::{Arguments, Contexts, Directive, Done, ONE, Set};
use crate::model::{ControlSocket, HistoryFile, MainConf};

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
    "control_socket",
    Contexts::MAIN,
    ONE,
    Set::Main(control_socket),
    "Socket that `myriad purge` and `myriad cache` speak to, or `off`; beside the pid file where nothing is written.",
)
.computed("beside the pid file")
.own(),
    Directive::new(
    "history",
    Contexts::MAIN,
    ONE,
    Set::Main(history),
    "File that keeps figures of the last two weeks over restarts, about 820 KB, or `off`; without a cache zone they are kept in memory alone where nothing is written.",
)
.computed("the folder of the first cache zone with `.history` behind its name")
.own(),
];

fn history(main: &mut MainConf, args: &mut Arguments<'_>) -> Done {
    main.history = if args.bytes(0) == b"off" { HistoryFile::Off } else { HistoryFile::At(args.text(0)?) };
    Ok(())
}

fn control_socket(main: &mut MainConf, args: &mut Arguments<'_>) -> Done {
    main.control_socket =
        if args.bytes(0) == b"off" { ControlSocket::Off } else { ControlSocket::At(args.text(0)?) };
    Ok(())
}
