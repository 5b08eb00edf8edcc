//! Variables of who may come in: limits, referers.

use std::cell::RefCell;

use myriad_http::Known;
use myriad_script::{EvalError, Frame};

use super::write::Row;
use crate::exchange::{LimitStatus, Request};
use crate::runtime::Reads::{Access, FromField};
use crate::runtime::Referers;
use crate::runtime::Value::{Ready, Run};

pub(super) const ROWS: &[Row] = &[
    Row::new(
        "limit_conn",
        "limit_conn_status",
        &[Access],
        Ready(|request| status(request.outcome.visit.as_ref()?.connections.get())),
    ),
    Row::new(
        "limit_req",
        "limit_req_status",
        &[Access],
        Ready(|request| status(request.outcome.visit.as_ref()?.requests.get())),
    ),
    Row::new(
        "referer",
        "invalid_referer",
        &[FromField(Known::Referer)],
        Run(|request, _, out| {
            if !referer_is_valid(request)? {
                out.push(b'1');
            }
            Ok(true)
        }),
    ),
];

fn status(status: Option<LimitStatus>) -> Option<&'static [u8]> {
    status.map(|status| status.as_str().as_bytes())
}

thread_local! {
    /// A frame for what is matched beside the rules: nginx's regexes of referers set no captures.
    static BESIDE: RefCell<Frame> = RefCell::new(Frame::new());
}

fn referer_is_valid(request: &Request) -> Result<bool, EvalError> {
    let Some(referers) = request.place().features.get::<Referers>() else { return Ok(true) };
    let sent = request.received.head.known(Known::Referer);
    BESIDE.with_borrow_mut(|frame| referers.is_valid(sent, frame))
}
