//! How a running server is inspected and told what to do.

use super::{Arguments, Contexts, Directive, Done, ONE, Set};
use crate::model::{ControlSocket, MainConf};

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
];

fn control_socket(main: &mut MainConf, args: &mut Arguments<'_>) -> Done {
    main.control_socket =
        if args.bytes(0) == b"off" { ControlSocket::Off } else { ControlSocket::At(args.text(0)?) };
    Ok(())
}
