//! Requests the parts of a page in separate tasks, so that an origin does not wait for a slow client.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::subrequest::{self, Subanswer};
use myriad_http::body::BoxBody;
use myriad_http::cache_control::CacheControl;
use myriad_http::{Known, RequestHead, Version};
use myriad_log::Level;
use myriad_script::esi::{Cut, Fragments, joint_name};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::part_store::{self, InFlight};
use super::rules::Rules;
use super::slots::{Slot, Slots};
use super::visitor::Visitor;

/// Maximum length of a part, in bytes.
const MOST_OF_PART: usize = 1 << 20;
/// Maximum length of all parts of a joint response, in bytes.
const MOST_OF_JOINT: usize = 4 << 20;
/// Media type of a joint response.
const FRAGMENTS: &[u8] = b"application/x-myriad-fragments";

/// Part to request, and the holes that it fills.
struct Want {
    src: Box<[u8]>,
    alt: Option<Box<[u8]>>,
    holes: Vec<usize>,
}

/// Part of a joint response.
struct Named {
    name: Box<[u8]>,
    want: Want,
}

/// Parts requested in one joint response.
struct Joint {
    /// Text of the target before the names.
    prefix: Box<[u8]>,
    list: Vec<Named>,
}

/// Context of the requests, shared by the tasks of a page.
struct Asker {
    /// Copy of the exchange with the lifetime of the body.
    exchange: RefCell<Box<Exchange>>,
    slots: Rc<Slots>,
    visitor: Option<Visitor>,
    keeps_cookies: bool,
    rules: Rules,
    until: Instant,
    /// Set after the first failed part has been logged.
    told: Cell<bool>,
}

/// Tasks that are aborted when the body is dropped.
pub(super) struct Tasks(Vec<JoinHandle<()>>);

impl Drop for Tasks {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

/// Client for which parts are requested.
pub(super) struct For {
    /// Known visitor whose parts are requested; `None` for parts of all clients.
    pub visitor: Option<Visitor>,
    /// Set if the origin receives the client's cookies.
    pub keeps_cookies: bool,
}

/// Fills the holes with stored parts, and starts the requests for the others.
pub(super) fn begin(
    exchange: Box<Exchange>,
    whose: For,
    rules: &Rules,
    cut: &Cut,
    slots: &Rc<Slots>,
) -> Tasks {
    let For { visitor, keeps_cookies } = whose;
    if let Some(visitor) = &visitor {
        fill_kept(&exchange, visitor, cut, slots);
    }
    let asker = Rc::new(Asker {
        until: Instant::now() + Duration::from_millis(rules.timeout_ms),
        exchange: RefCell::new(exchange),
        slots: Rc::clone(slots),
        visitor,
        keeps_cookies,
        rules: rules.clone(),
        told: Cell::new(false),
    });
    let wants = wants(cut, slots).into_iter().filter(|want| asker.may_ask(want));
    let (joints, singles) = grouped(wants, cut.joint.as_deref());
    let joints = joints.into_iter().map(|joint| {
        let asker = Rc::clone(&asker);
        tokio::task::spawn_local(Box::pin(asker.ask_joint(joint)))
    });
    let singles = singles.into_iter().map(|want| {
        let asker = Rc::clone(&asker);
        tokio::task::spawn_local(Box::pin(asker.ask_single(want)))
    });
    Tasks(joints.chain(singles).collect())
}

/// Groups the parts of joint responses by the prefix before their names, and separates them from single parts.
fn grouped(wants: impl Iterator<Item = Want>, argument: Option<&[u8]>) -> (Vec<Joint>, Vec<Want>) {
    let (mut joints, mut singles) = (Vec::<Joint>::new(), Vec::new());
    for want in wants {
        let Some((prefix, name)) = argument.and_then(|argument| joint_name(&want.src, argument)) else {
            singles.push(want);
            continue;
        };
        let (prefix, name) = (Box::from(prefix), Box::from(name));
        let named = Named { name, want };
        match joints.iter_mut().find(|joint| joint.prefix == prefix) {
            Some(joint) => joint.list.push(named),
            None => joints.push(Joint { prefix, list: vec![named] }),
        }
    }
    (joints, singles)
}

/// Fills the holes whose parts are stored for the visitor.
fn fill_kept(exchange: &Exchange, visitor: &Visitor, cut: &Cut, slots: &Slots) {
    let now = exchange.request.received.at_ms;
    let targets = cut.holes.iter().map(|hole| &*hole.include.src);
    for (index, bytes) in part_store::get(visitor, targets, now).into_iter().enumerate() {
        if let Some(bytes) = bytes {
            slots.fill(index, Slot::Got(bytes));
        }
    }
}

/// Returns the parts to request, each once.
fn wants(cut: &Cut, slots: &Slots) -> Vec<Want> {
    let mut wants: Vec<Want> = Vec::new();
    for (index, hole) in cut.holes.iter().enumerate().filter(|(index, _)| slots.is_waiting(*index)) {
        let include = &hole.include;
        match wants.iter_mut().find(|want| want.src == include.src && want.alt == include.alt) {
            Some(want) => want.holes.push(index),
            None => {
                wants.push(Want { src: include.src.clone(), alt: include.alt.clone(), holes: vec![index] });
            }
        }
    }
    wants
}

impl Asker {
    /// Returns whether a part may be requested: includes must not be nested too deep, and a page must not include
    /// itself.
    fn may_ask(&self, want: &Want) -> bool {
        let refusal = {
            let exchange = self.exchange.borrow();
            let depth = exchange.request.received.lineage.as_ref().map_or(0, |lineage| lineage.depth);
            if depth >= self.rules.depth {
                Some("includes are nested too deeply (esi_max_depth)")
            } else if exchange.request.received.head.target() == &*want.src {
                Some("the page includes itself")
            } else {
                None
            }
        };
        if let Some(why) = refusal {
            self.fail(want, why);
        }
        refusal.is_none()
    }

    /// Requests a single part, and its `alt` after a failure.
    async fn ask_single(self: Rc<Self>, want: Want) {
        let mut why = String::new();
        for target in std::iter::once(&want.src).chain(&want.alt) {
            match timeout_at(self.until, self.part(target)).await {
                Ok(Ok((bytes, keep_s, in_flight))) => {
                    self.keep(&want.src, &bytes, keep_s, in_flight.as_ref());
                    return self.got(&want, &bytes);
                }
                Ok(Err(error)) => why = error,
                Err(_) => why = String::from("the request timed out (esi_timeout)"),
            }
        }
        self.fail(&want, &why);
    }

    /// Requests parts in one joint response. A part missing from it is requested by its `alt`, if present.
    async fn ask_joint(self: Rc<Self>, joint: Joint) {
        let Joint { prefix, mut list } = joint;
        let came = timeout_at(self.until, self.joint(&prefix, &mut list)).await;
        let why = match came {
            Ok(Ok(())) => "it is missing in the combined response".to_owned(),
            Ok(Err(error)) => error,
            Err(_) => "the request timed out (esi_timeout)".to_owned(),
        };
        for Named { want, .. } in list {
            match want.alt {
                Some(alt) => {
                    let instead = Want { src: alt, alt: None, holes: want.holes };
                    Rc::clone(&self).ask_single(instead).await;
                }
                None => self.fail(&want, &why),
            }
        }
    }

    /// Reads a joint response and removes the received parts from the list.
    async fn joint(&self, prefix: &[u8], list: &mut Vec<Named>) -> Result<(), String> {
        let names: Vec<&[u8]> = list.iter().map(|named| &*named.name).collect();
        let target = [prefix, &names.join(&b","[..])].concat();
        let in_flight = self.visitor.as_ref().map(part_store::begin);
        let answer = self.answer(&target).await?;
        let is_joint = answer.fields(b"content-type").first().is_some_and(|value| {
            value
                .split(|byte| *byte == b';')
                .next()
                .is_some_and(|value| value.trim_ascii().eq_ignore_ascii_case(FRAGMENTS))
        });
        if !is_joint {
            return Err("the combined response is not application/x-myriad-fragments".to_owned());
        }
        let keep_s = keep_s(&answer);
        let mut body = answer.into_body();
        let mut reader = Fragments::new(MOST_OF_JOINT);
        while let Some(piece) = next(&mut body).await? {
            let mut rest = &piece[..];
            while !rest.is_empty() {
                let Some(part) =
                    reader.push(&mut rest).map_err(|bad| format!("combined response: {}", bad.as_str()))?
                else {
                    continue;
                };
                // Parts that were not requested are ignored.
                let Some(at) = list.iter().position(|named| named.name == part.name) else { continue };
                let Named { want, .. } = list.swap_remove(at);
                let bytes = Bytes::from(part.bytes);
                self.keep(&want.src, &bytes, part.keep_s.unwrap_or(keep_s), in_flight.as_ref());
                self.got(&want, &bytes);
            }
        }
        if reader.is_between_parts() { Ok(()) } else { Err("the combined response is incomplete".to_owned()) }
    }

    /// Requests one part. Returns its bytes, the number of seconds that it may be stored, and the request, which is in
    /// flight until dropped.
    async fn part(&self, target: &[u8]) -> Result<(Bytes, u64, Option<InFlight>), String> {
        let in_flight = self.visitor.as_ref().map(part_store::begin);
        let answer = self.answer(target).await?;
        let keep_s = keep_s(&answer);
        let mut body = answer.into_body();
        let mut whole = Vec::new();
        while let Some(piece) = next(&mut body).await? {
            if whole.len() + piece.len() > MOST_OF_PART {
                return Err("the response is too long".to_owned());
            }
            whole.extend_from_slice(&piece);
        }
        Ok((Bytes::from(whole), keep_s, in_flight))
    }

    /// Returns the response to a target. A status other than 200 and an aborted response are errors.
    async fn answer(&self, target: &[u8]) -> Result<Subanswer, String> {
        let child = self.child(target).ok_or("the request could not be started")?;
        let answer = subrequest::ask(child).await;
        match answer.answer.status {
            _ if answer.answer.dropped => Err("the response was aborted".to_owned()),
            200 => Ok(answer),
            status => Err(format!("the response has the status {status}")),
        }
    }

    /// Returns a subrequest for a target, with the client's own fields or those of [`Visitor::fields`]. Variables of
    /// the page are unset.
    fn child(&self, target: &[u8]) -> Option<Box<Exchange>> {
        let (path, args) = subrequest::target(target)?;
        let mut child = subrequest::begin(&mut self.exchange.borrow_mut(), &path, args).ok()?;
        let shared = self.visitor.as_ref().and_then(|visitor| visitor.fields.as_ref());
        let fields = shared.unwrap_or(child.request.received.head.fields()).iter_known();
        let told = fields.filter(|(known, ..)| self.keeps_cookies || *known != Some(Known::Cookie));
        let head = RequestHead::from_parts(
            b"GET",
            target,
            Version::Http11,
            told.map(|(_, name, value)| (name, value)),
        );
        *child.request.received.head = head;
        // Includes cannot reach internal locations.
        child.request.route.internal = false;
        child.request.begin_lineage().own_head = true;
        child.frame = Box::default();
        Some(child)
    }

    /// Stores a part for its visitor, for `keep_s` or the limit of `esi_private_cache`.
    fn keep(&self, src: &[u8], bytes: &Bytes, keep_s: u64, in_flight: Option<&InFlight>) {
        let (Some(visitor), Some(in_flight)) = (self.visitor.as_ref().filter(|_| keep_s > 0), in_flight)
        else {
            return;
        };
        let bounds = self.rules.private;
        let keep_ms = keep_s.saturating_mul(1000).min(bounds.valid_ms);
        let until_ms = myriad_net::clock::now_ms().saturating_add(keep_ms);
        part_store::keep(visitor, in_flight, (src, bytes.clone()), until_ms, bounds);
    }

    fn got(&self, want: &Want, bytes: &Bytes) {
        want.holes.iter().for_each(|hole| self.slots.fill(*hole, Slot::Got(bytes.clone())));
    }

    /// Marks a part as failed. Only the first failure of a page is logged.
    fn fail(&self, want: &Want, why: &str) {
        if !self.told.replace(true) {
            let (exchange, src) = (self.exchange.borrow(), want.src.escape_ascii());
            exchange
                .request
                .log(Level::Error, format_args!("the page is sent without the fragment \"{src}\": {why}"));
        }
        want.holes.iter().for_each(|hole| self.slots.fill(*hole, Slot::Failed));
    }
}

/// Returns the number of seconds that a response may be stored for its visitor; 0 if it may not be stored.
fn keep_s(answer: &Subanswer) -> u64 {
    let values = answer.fields(b"cache-control");
    let control = CacheControl::parse(values.iter().map(|value| &value[..]));
    if control.no_store || control.no_cache { 0 } else { control.max_age.unwrap_or(0) }
}

async fn next(body: &mut BoxBody) -> Result<Option<Bytes>, String> {
    match poll_fn(|cx| body.as_mut().poll_data(cx)).await {
        Some(Ok(piece)) => Ok(Some(piece)),
        Some(Err(error)) => Err(format!("the response was aborted: {error}")),
        None => Ok(None),
    }
}
