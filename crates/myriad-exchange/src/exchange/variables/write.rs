//! Functions by which variables append their values to a buffer.

use std::fmt::Display;
use std::io::Write;
use std::net::IpAddr;

use myriad_http::{IPV6_PREFIX, client_network};

use crate::exchange::Request;
pub use crate::exchange::digits::{address, number};
use crate::runtime::{Borrowed, NameSuffix, VariableRow};

/// Definition of a variable whose value a request determines.
pub type RequestVariable = VariableRow<Request>;

/// Appends the `Display` form of a value. Always returns true, as variables require.
pub fn show(out: &mut Vec<u8>, value: impl Display) -> bool {
    // Writing to a vector cannot fail.
    let _ = write!(out, "{value}");
    true
}

/// Appends the network by which limits count a client: an IPv4 address, the /64 network of an IPv6 address, or `unix:`
/// for a client without an address. Always returns true, as variables require.
pub fn network(out: &mut Vec<u8>, client: Option<IpAddr>) -> bool {
    match client.map(client_network) {
        Some(IpAddr::V6(network)) => show(out, format_args!("{network}/{IPV6_PREFIX}")),
        v4_or_unix => address(out, v4_or_unix),
    }
}

/// Appends milliseconds as seconds with three decimals. Always returns true, as variables require.
pub fn thousandths(out: &mut Vec<u8>, ms: u64) -> bool {
    show(out, format_args!("{}.{:03}", ms / 1000, ms % 1000))
}

/// Appends `value` and returns true. Returns false if it is `None` or empty: the variable then has no value.
pub fn text(out: &mut Vec<u8>, value: Option<String>) -> bool {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return false };
    out.extend_from_slice(value.as_bytes());
    true
}

/// Appends all `values` to `out`, with `separator` between them.
pub fn join<'a>(values: impl Iterator<Item = &'a [u8]>, separator: &[u8], out: &mut Vec<u8>) {
    for (index, value) in values.enumerate() {
        if index > 0 {
            out.extend_from_slice(separator);
        }
        out.extend_from_slice(value);
    }
}

/// Appends the values of all lines of the field `name`, whose letter case is ignored, to `out`, separated by `, `.
/// Returns false if `lines` has no such line.
pub fn joined(lines: &[u8], name: &str, out: &mut Vec<u8>) -> bool {
    let before = out.len();
    let mut found = false;
    for line in lines.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii_end();
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        if line[..colon].eq_ignore_ascii_case(name.as_bytes()) {
            if out.len() > before {
                out.extend_from_slice(b", ");
            }
            out.extend_from_slice(line[colon + 1..].trim_ascii());
            found = true;
        }
    }
    found
}

/// Returns the only value, borrowed: `Some(Some(value))`, or `Some(None)` without a value. Returns `None` if there are
/// several values, which must be joined into a buffer instead.
pub fn single<'a>(mut values: impl Iterator<Item = &'a [u8]>) -> Borrowed<'a> {
    let first = values.next();
    if values.next().is_some() { None } else { Some(first) }
}

/// [`NamedValue::ready`] of variables whose values can never be borrowed.
pub fn never_ready<'a>(_: &'a Request, _: &'a NameSuffix) -> Borrowed<'a> {
    None
}

/// [`NamedValue::made`] of variables whose values can always be borrowed.
pub fn never_made(_: &Request, _: &NameSuffix, _: &mut Vec<u8>) -> bool {
    false
}
