//! Received and assigned ID of a visitor.

use std::cell::OnceCell;
use std::net::IpAddr;
use std::rc::Rc;

use myriad_exchange::exchange::Request;
use myriad_http::uri;
use myriad_log::Level;
use myriad_script::{EvalError, Frame};

use super::id::{Id, LETTERS};
use super::rules::Userid;
use super::settings::Gives;

/// Data of a visitor, determined once per request.
pub(super) struct Visitor {
    /// Value of the received cookie.
    pub cookie: Vec<u8>,
    /// ID in the received cookie.
    pub got: Option<Id>,
    given: OnceCell<Option<Given>>,
}

/// ID that is sent to the visitor.
#[derive(Clone, Copy)]
pub(super) struct Given {
    /// ID.
    pub id: Id,
    /// Set if the ID differs from the received one.
    pub is_new: bool,
}

impl Visitor {
    /// Returns the visitor of a request; subrequests share that of their main request.
    pub(super) fn of(request: &Request, rules: &Userid) -> Rc<Self> {
        request.outcome.remembered.get_or_make(|| {
            let mut sent = request.received.head.fields().get_all(b"Cookie");
            let cookie =
                sent.find_map(|line| uri::cookie(line, rules.said.name())).unwrap_or_default().to_vec();
            let got = Id::read(&cookie);
            if !cookie.is_empty() && got.is_none() {
                let what = if cookie.len() < LETTERS { "too short" } else { "invalid" };
                request.log(
                    Level::Error,
                    format_args!("client sent {what} userid cookie \"{}\"", cookie.escape_ascii()),
                );
            }
            Self { cookie, got, given: OnceCell::new() }
        })
    }

    /// Returns the ID to send; `None` if the received cookie remains valid.
    pub(super) fn given(
        &self,
        request: &Request,
        frame: &mut Frame,
        rules: &Userid,
    ) -> Result<Option<Given>, EvalError> {
        if let Some(given) = self.given.get() {
            return Ok(*given);
        }
        let given = self.decide(request, frame, rules)?;
        Ok(*self.given.get_or_init(|| given))
    }

    fn decide(
        &self,
        request: &Request,
        frame: &mut Frame,
        rules: &Userid,
    ) -> Result<Option<Given>, EvalError> {
        let said = &rules.said;
        if matches!(said.gives, Gives::Off | Gives::Nothing) {
            return Ok(None);
        }
        if let Some(got) = self.got {
            let mut reset = Vec::new();
            rules.reset.eval(request, frame, &mut reset)?;
            if matches!(&*reset, b"" | b"0") {
                let is_marked =
                    said.mark.is_none_or(|mark| self.cookie.get(LETTERS..LETTERS + 2) == Some(&[mark, b'=']));
                return Ok((!is_marked).then_some(Given { id: got, is_new: false }));
            }
            if reset == b"log" {
                let mut shown = [said.name(), b"="].concat();
                got.write_digits(&mut shown);
                request
                    .log(Level::Notice, format_args!("userid cookie \"{}\" was reset", shown.escape_ascii()));
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
        let id = Id::new(said.gives, said.service, address, request.received.wall_s());
        Ok(Some(Given { id, is_new: true }))
    }
}
