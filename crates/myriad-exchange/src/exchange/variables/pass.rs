//! Variables of how a request is put to an origin: `fastcgi_split_path_info`, the URL of `proxy_pass`.

use myriad_conf::registry::Status;
use myriad_script::EvalError;

use super::write::Row;
use crate::exchange::Request;
use crate::runtime::PassVariable::{self, Host, PathInfo, Port, Scheme, ScriptName};
use crate::runtime::Reads::{RequestLine, Uri, UriPart};
use crate::runtime::Value::Run;

pub(super) const ROWS: &[Row] = &[
    Row::new("fastcgi", "fastcgi_script_name", &[Uri], Run(|request, _, out| script_name(request, out))),
    Row::new(
        "fastcgi",
        "fastcgi_path_info",
        &[UriPart],
        Run(|request, _, out| value(request, PathInfo, out).map(|_| true)),
    ),
    Row::new("proxy", "proxy_host", &[RequestLine], Run(|request, _, out| value(request, Host, out))),
    Row::new("proxy", "proxy_port", &[RequestLine], Run(|request, _, out| value(request, Port, out))),
    // The URI that the origin is asked for, of the default key.
    Row::new(
        "proxy",
        "proxy_internal_uri",
        &[Uri, RequestLine],
        Run(|request, _, out| value(request, PassVariable::Uri, out)),
    )
    .fares(Status::Own),
    // The scheme that the origin is asked by, of the default key too.
    Row::new(
        "proxy",
        "proxy_internal_scheme",
        &[RequestLine],
        Run(|request, _, out| value(request, Scheme, out)),
    )
    .fares(Status::Own),
];

/// Appends what the protocol of the place says; false where it says nothing, or no origin is asked.
fn value(request: &Request, name: PassVariable, out: &mut Vec<u8>) -> Result<bool, EvalError> {
    request.place().handler.origin().map_or(Ok(false), |origin| origin.protocol.variable(request, name, out))
}

/// The URI where no protocol says another.
fn script_name(request: &Request, out: &mut Vec<u8>) -> Result<bool, EvalError> {
    if !value(request, ScriptName, out)? {
        out.extend_from_slice(&request.route.uri);
    }
    Ok(true)
}
