//! Received and assigned ID of a visitor.

use std::cell::OnceCell;
use std::net::IpAddr;
use std::rc::Rc;

use myriad_exchange::exchange::Request;
use myriad_http::uri;
use myriad_log::LogLevel;
use myriad_script::{EvalError, Frame};

use super::id::{LETTERS, VisitorId};
use super::rules::Userid;
use super::settings::UseridMode;

/// Received cookie of a visitor and the ID to send, determined once per request.
pub(super) struct Visitor {
    /// Value of the received cookie; empty if there is none.
    pub cookie: Vec<u8>,
    /// ID in the received cookie; `None` if it is missing or invalid.
    pub received_id: Option<VisitorId>,
    assigned_id: OnceCell<Option<AssignedId>>,
}

/// ID that is sent in the response.
#[derive(Clone, Copy)]
pub(super) struct AssignedId {
    /// Visitor ID to send.
    pub id: VisitorId,
    /// True if the ID was created for this request; false if the received ID is sent again.
    pub is_new: bool,
}

impl Visitor {
    /// Returns the visitor of a request, which subrequests share. Logs an invalid cookie.
    pub(super) fn of(request: &Request, rules: &Userid) -> Rc<Self> {
        request.outcome.feature_state.get_or_make(|| {
            let mut sent = request.received.head.fields().get_all(b"Cookie");
            let cookie =
                sent.find_map(|line| uri::cookie(line, rules.settings.name())).unwrap_or_default().to_vec();
            let got = VisitorId::read(&cookie);
            if !cookie.is_empty() && got.is_none() {
                let what = if cookie.len() < LETTERS { "too short" } else { "invalid" };
                request.log(
                    LogLevel::Error,
                    format_args!("client sent {what} userid cookie \"{}\"", cookie.escape_ascii()),
                );
            }
            Self { cookie, received_id: got, assigned_id: OnceCell::new() }
        })
    }

    /// Returns the ID to send; `None` if no ID is sent (`off`, `log`), or if the received cookie remains valid.
    pub(super) fn id_to_send(
        &self,
        request: &Request,
        frame: &mut Frame,
        rules: &Userid,
    ) -> Result<Option<AssignedId>, EvalError> {
        if let Some(given) = self.assigned_id.get() {
            return Ok(*given);
        }
        let given = self.choose_id(request, frame, rules)?;
        Ok(*self.assigned_id.get_or_init(|| given))
    }

    fn choose_id(
        &self,
        request: &Request,
        frame: &mut Frame,
        rules: &Userid,
    ) -> Result<Option<AssignedId>, EvalError> {
        let settings = &rules.settings;
        if matches!(settings.mode, UseridMode::Off | UseridMode::Nothing) {
            return Ok(None);
        }
        if let Some(got) = self.received_id {
            let mut reset = Vec::new();
            rules.reset.eval(request, frame, &mut reset)?;
            if matches!(&*reset, b"" | b"0") {
                let is_marked = settings
                    .mark
                    .is_none_or(|mark| self.cookie.get(LETTERS..LETTERS + 2) == Some(&[mark, b'=']));
                return Ok((!is_marked).then_some(AssignedId { id: got, is_new: false }));
            }
            if reset == b"log" {
                let mut shown = [settings.name(), b"="].concat();
                got.write_digits(&mut shown);
                request.log(
                    LogLevel::Notice,
                    format_args!("userid cookie \"{}\" was reset", shown.escape_ascii()),
                );
            }
        }
        let local = request.received.connection.local().map(|local| local.ip());
        let address = match local {
            Some(IpAddr::V4(address)) => address.octets(),
            Some(IpAddr::V6(address)) => {
                let [.., one, two, three, four] = address.octets();
                [one, two, three, four]
            }
            None => [0; 4],
        };
        let id = VisitorId::new(settings.mode, settings.service, address, request.received.wall_s());
        Ok(Some(AssignedId { id, is_new: true }))
    }
}
