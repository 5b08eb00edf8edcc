//! Variables of the server itself.

use super::write::{Row, show};
use crate::runtime::Reads::{Moment, Site};
use crate::runtime::Value::{Made, Ready};

pub(super) const ROWS: &[Row] = &[
    Row::new("core", "hostname", &[Site], Ready(|request| Some(&request.runtime().hostname))),
    Row::new("core", "nginx_version", &[Site], Ready(|_| Some(b"1.31.4"))),
    Row::new("core", "pid", &[Moment], Made(|_, out| show(out, std::process::id()))),
];
