//! Variables of the server itself: `$hostname`, `$nginx_version`, `$pid`.

use super::write::{RequestVariable, show};
use crate::runtime::Reads::{Moment, Site};
use crate::runtime::RowValue::{Made, Ready};

pub(super) const ROWS: &[RequestVariable] = &[
    RequestVariable::new("core", "hostname", &[Site], Ready(|request| Some(&request.runtime().hostname))),
    RequestVariable::new("core", "nginx_version", &[Site], Ready(|_| Some(b"1.31.4"))),
    RequestVariable::new("core", "pid", &[Moment], Made(|_, out| show(out, std::process::id()))),
];
