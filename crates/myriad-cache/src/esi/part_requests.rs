//! Requests for the parts of a page, in separate tasks, so that an origin does not wait for a slow client.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use myriad_exchange::exchange::{Exchange, ResponseSource};
use myriad_exchange::subrequest::{self, SubrequestResponse};
use myriad_http::body::BoxBody;
use myriad_http::cache_control::CacheControl;
use myriad_http::{HttpVersion, Known, RequestHead};
use myriad_log::LogLevel;
use myriad_policy::Tags;
use myriad_script::esi::{EsiInclude, FragmentParser, Hole, PageHoles, joint_name};
use myriad_store::page::RecentPurges;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::holes::{HoleState, Holes};
use super::part_store::{self, InFlight, NewPart};
use super::rules::EsiRules;
use super::visitor::Visitor;
use crate::page;

/// Maximum length in bytes of an ESI part that is requested separately.
const MAX_PART: usize = 1 << 20;
/// Maximum length in bytes of a combined response with several ESI parts.
const MAX_JOINT: usize = 4 << 20;
/// Name of the visitor's class among the parts in a combined response.
const CLASS: &[u8] = b"visitor-class";
/// Media type of a combined response with several ESI parts.
const FRAGMENTS: &[u8] = b"application/x-myriad-fragments";

/// ESI part to request, and the indexes of the holes in the page that it fills.
struct WantedPart {
    src: Box<[u8]>,
    alt: Option<Box<[u8]>>,
    holes: Vec<usize>,
}

/// ESI part that is requested in a combined response, with the name by which the response identifies it.
struct JointPart {
    name: Box<[u8]>,
    want: WantedPart,
}

/// ESI parts that are requested in one combined response.
struct JointRequest {
    /// Request target of the combined response up to the names of the parts.
    prefix: Box<[u8]>,
    list: Vec<JointPart>,
}

/// Context of the requests for the ESI parts of one page, shared by their tasks.
struct PartRequester {
    /// Copy of the exchange in which the page is sent; subrequests for parts are created from it.
    exchange: RefCell<Box<Exchange>>,
    slots: Rc<Holes>,
    visitor: Option<PartOwner>,
    sends_cookies: bool,
    rules: EsiRules,
    until: Instant,
    /// True once a failed part was logged, or if failures are not logged.
    failure_logged: Cell<bool>,
}

/// Tasks that request ESI parts; dropped with the body of the page, which aborts them.
pub(super) struct Tasks(Vec<JoinHandle<()>>);

impl Drop for Tasks {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

/// Client or clients for which ESI parts are requested.
pub(super) struct PartAudience {
    /// Known visitor whose parts are requested; `None` for parts that all clients share.
    pub visitor: Option<PartOwner>,
    /// True if the origin gets the client's cookies in requests for parts.
    pub sends_cookies: bool,
}

/// Known visitor whose parts are requested, and the purges that apply to these parts.
pub(super) struct PartOwner {
    pub visitor: Visitor,
    /// Purges of the page's zone, which also apply to stored parts.
    pub purges: Arc<RecentPurges>,
}

/// Returns the target of the request for the class of a visitor; `None` if no parts of the page are requested together.
pub(super) fn class_target(cut: &PageHoles) -> Option<Box<[u8]>> {
    let argument = cut.joint.as_deref()?;
    let (prefix, _) = cut.holes.iter().find_map(|hole| joint_name(&hole.include.src, argument))?;
    Some([prefix, CLASS].concat().into())
}

/// Requests the class of a visitor together with the parts of a page that are requested in the same way and are not
/// stored for the visitor, and stores all of them. `class` is the target from [`class_target`]. The origin may omit
/// parts that it can return only once. Failures are not logged.
pub(super) async fn fetch_class(
    exchange: Box<Exchange>,
    owner: PartOwner,
    rules: &EsiRules,
    cut: &PageHoles,
    class: Box<[u8]>,
) {
    let prefix = &class[..class.len() - CLASS.len()];
    let is_joint = |hole: &&Hole| {
        let joint = cut.joint.as_deref().and_then(|argument| joint_name(&hole.include.src, argument));
        joint.is_some_and(|(other, _)| other == prefix)
    };
    let without_alt =
        |hole: &Hole| Hole { include: EsiInclude { alt: None, ..hole.include.clone() }, ..hole.clone() };
    let mut holes: Vec<Hole> = cut.holes.iter().filter(is_joint).map(without_alt).collect();
    let include = EsiInclude { src: class.clone(), alt: None, on_error_nothing: true };
    holes.push(Hole { at: 0, inline: 0, include });
    let wanted = PageHoles { joint: cut.joint.clone(), holes, ..PageHoles::default() };
    let slots = Rc::new(Holes::new(wanted.holes.len()));
    let whose = PartAudience { visitor: Some(owner), sends_cookies: true };
    let _tasks = begin_requests(exchange, whose, rules, &wanted, &slots, false);
    for hole in 0..wanted.holes.len() {
        poll_fn(|cx| slots.poll(hole, cx)).await;
    }
}

/// Fills the ESI holes of a page with stored parts and starts the requests for the others.
pub(super) fn begin(
    exchange: Box<Exchange>,
    whose: PartAudience,
    rules: &EsiRules,
    cut: &PageHoles,
    slots: &Rc<Holes>,
) -> Tasks {
    begin_requests(exchange, whose, rules, cut, slots, true)
}

fn begin_requests(
    exchange: Box<Exchange>,
    whose: PartAudience,
    rules: &EsiRules,
    cut: &PageHoles,
    slots: &Rc<Holes>,
    logs_failures: bool,
) -> Tasks {
    let PartAudience { visitor, sends_cookies } = whose;
    if let Some(owner) = &visitor {
        fill_stored(&exchange, &owner.visitor, cut, slots);
    }
    let asker = Rc::new(PartRequester {
        until: Instant::now() + Duration::from_millis(rules.timeout_ms),
        exchange: RefCell::new(exchange),
        slots: Rc::clone(slots),
        visitor,
        sends_cookies,
        rules: rules.clone(),
        failure_logged: Cell::new(!logs_failures),
    });
    let wants = wants(cut, slots).into_iter().filter(|want| asker.may_request(want));
    let (joints, singles) = grouped(wants, cut.joint.as_deref());
    let joints = joints.into_iter().map(|joint| {
        let asker = Rc::clone(&asker);
        tokio::task::spawn_local(Box::pin(asker.request_joint(joint)))
    });
    let singles = singles.into_iter().map(|want| {
        let asker = Rc::clone(&asker);
        tokio::task::spawn_local(Box::pin(asker.request_single(want)))
    });
    Tasks(joints.chain(singles).collect())
}

/// Separates single ESI parts from those that can be requested together, and groups the latter by the prefix of their
/// target.
fn grouped(
    wants: impl Iterator<Item = WantedPart>,
    argument: Option<&[u8]>,
) -> (Vec<JointRequest>, Vec<WantedPart>) {
    let (mut joints, mut singles) = (Vec::<JointRequest>::new(), Vec::new());
    for want in wants {
        let Some((prefix, name)) = argument.and_then(|argument| joint_name(&want.src, argument)) else {
            singles.push(want);
            continue;
        };
        let (prefix, name) = (Box::from(prefix), Box::from(name));
        let named = JointPart { name, want };
        match joints.iter_mut().find(|joint| joint.prefix == prefix) {
            Some(joint) => joint.list.push(named),
            None => joints.push(JointRequest { prefix, list: vec![named] }),
        }
    }
    (joints, singles)
}

/// Fills the ESI holes whose parts are stored for the visitor.
fn fill_stored(exchange: &Exchange, visitor: &Visitor, cut: &PageHoles, slots: &Holes) {
    let now = exchange.request.received.at_ms;
    let targets = cut.holes.iter().map(|hole| &*hole.include.src);
    for (index, bytes) in part_store::get(visitor, targets, now).into_iter().enumerate() {
        if let Some(bytes) = bytes {
            slots.fill(index, HoleState::Filled(bytes));
        }
    }
}

/// Returns the ESI parts to request for holes that are not filled yet: each part once, with all the holes that it
/// fills.
fn wants(cut: &PageHoles, slots: &Holes) -> Vec<WantedPart> {
    let mut wants: Vec<WantedPart> = Vec::new();
    for (index, hole) in cut.holes.iter().enumerate().filter(|(index, _)| slots.is_waiting(*index)) {
        let include = &hole.include;
        match wants.iter_mut().find(|want| want.src == include.src && want.alt == include.alt) {
            Some(want) => want.holes.push(index),
            None => {
                wants.push(WantedPart {
                    src: include.src.clone(),
                    alt: include.alt.clone(),
                    holes: vec![index],
                });
            }
        }
    }
    wants
}

impl PartRequester {
    /// Returns whether an ESI part may be requested: includes must not be nested too deeply, and a page must not
    /// include itself. A rejected part is marked as failed.
    fn may_request(&self, want: &WantedPart) -> bool {
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

    /// Requests a single ESI part; if that fails, the target in its `alt` attribute. Stores the part and fills its
    /// holes, or marks them as failed.
    async fn request_single(self: Rc<Self>, want: WantedPart) {
        let mut why = String::new();
        for target in std::iter::once(&want.src).chain(&want.alt) {
            match timeout_at(self.until, self.request_part(target)).await {
                Ok(Ok((bytes, (keep_s, labels), in_flight))) => {
                    self.store_part(&want.src, (&bytes, keep_s, &labels), in_flight.as_ref());
                    return self.fill_holes(&want, &bytes);
                }
                Ok(Err(error)) => why = error,
                Err(_) => why = String::from("the request timed out (esi_timeout)"),
            }
        }
        self.fail(&want, &why);
    }

    /// Requests ESI parts in one combined response. A part that the response lacks, or each part if the request fails,
    /// is requested by its `alt` target; without one, its holes are marked as failed.
    async fn request_joint(self: Rc<Self>, joint: JointRequest) {
        let JointRequest { prefix, mut list } = joint;
        let came = timeout_at(self.until, self.request_parts(&prefix, &mut list)).await;
        let why = match came {
            Ok(Ok(())) => "it is missing in the combined response".to_owned(),
            Ok(Err(error)) => error,
            Err(_) => "the request timed out (esi_timeout)".to_owned(),
        };
        for JointPart { want, .. } in list {
            match want.alt {
                Some(alt) => {
                    let instead = WantedPart { src: alt, alt: None, holes: want.holes };
                    Rc::clone(&self).request_single(instead).await;
                }
                None => self.fail(&want, &why),
            }
        }
    }

    /// Requests the parts in `list` with one request, fills the holes of each part that the combined response contains,
    /// and removes the part from `list`. The error is a message; parts that arrived before the error remain filled.
    async fn request_parts(&self, prefix: &[u8], list: &mut Vec<JointPart>) -> Result<(), String> {
        let names: Vec<&[u8]> = list.iter().map(|named| &*named.name).collect();
        let target = [prefix, &names.join(&b","[..])].concat();
        let in_flight = self.begin();
        let answer = self.answer(&target).await?;
        let labels = labels_of(&answer);
        let is_joint = answer.fields(b"content-type").first().is_some_and(|value| {
            value
                .split(|byte| *byte == b';')
                .next()
                .is_some_and(|value| value.trim_ascii().eq_ignore_ascii_case(FRAGMENTS))
        });
        if !is_joint {
            return Err("the combined response is not application/x-myriad-fragments".to_owned());
        }
        let keep_s = storable_s(&answer);
        let mut body = answer.into_body();
        let mut reader = FragmentParser::new(MAX_JOINT);
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
                let JointPart { want, .. } = list.swap_remove(at);
                let bytes = Bytes::from(part.bytes);
                let kept_s = part.keep_s.unwrap_or(keep_s);
                self.store_part(&want.src, (&bytes, kept_s, &labels), in_flight.as_ref());
                self.fill_holes(&want, &bytes);
            }
        }
        if reader.is_between_parts() { Ok(()) } else { Err("the combined response is incomplete".to_owned()) }
    }

    /// Requests one ESI part. Returns its bytes, the number of seconds for which it may be stored with the labels of
    /// its tags, and for a known visitor the guard of the request, which the caller must not drop before the part is
    /// stored (otherwise `None`). The error is a message.
    async fn request_part(
        &self,
        target: &[u8],
    ) -> Result<(Bytes, (u64, Arc<[u64]>), Option<InFlight>), String> {
        let in_flight = self.begin();
        let answer = self.answer(target).await?;
        let keep = (storable_s(&answer), labels_of(&answer));
        let mut body = answer.into_body();
        let mut whole = Vec::new();
        while let Some(piece) = next(&mut body).await? {
            if whole.len() + piece.len() > MAX_PART {
                return Err("the response is too long".to_owned());
            }
            whole.extend_from_slice(&piece);
        }
        Ok((Bytes::from(whole), keep, in_flight))
    }

    /// Registers a request for parts of a known visitor, and returns its guard; `None` if the parts are not for a known
    /// visitor.
    fn begin(&self) -> Option<InFlight> {
        self.visitor.as_ref().map(|owner| part_store::begin(&owner.visitor, &owner.purges))
    }

    /// Returns the response to a request for `target`. A status other than 200 and an aborted response are errors.
    async fn answer(&self, target: &[u8]) -> Result<SubrequestResponse, String> {
        let child = self.child(target).ok_or("the request could not be started")?;
        let answer = subrequest::execute(child).await;
        match answer.response.status {
            _ if answer.response.dropped => Err("the response was aborted".to_owned()),
            200 => Ok(answer),
            status => Err(format!("the response has the status {status}")),
        }
    }

    /// Creates the subrequest for an ESI part, with the client's own fields or with [`Visitor::fields`]; without
    /// `Cookie` unless `sends_cookies` is set. Variables of the page are not set in it. `None` for an invalid target,
    /// and if subrequests are too numerous or nested too deeply.
    fn child(&self, target: &[u8]) -> Option<Box<Exchange>> {
        let (path, args) = subrequest::target(target)?;
        let mut child = subrequest::begin(&mut self.exchange.borrow_mut(), &path, args).ok()?;
        let shared = self.visitor.as_ref().and_then(|owner| owner.visitor.fields.as_ref());
        let fields = shared.unwrap_or(child.request.received.head.fields()).iter_known();
        let forwarded = fields.filter(|(known, ..)| self.sends_cookies || *known != Some(Known::Cookie));
        let head = RequestHead::from_parts(
            b"GET",
            target,
            HttpVersion::Http11,
            forwarded.map(|(_, name, value)| (name, value)),
        );
        *child.request.received.head = head;
        // Includes must not reach internal locations.
        child.request.route.internal = false;
        child.request.begin_lineage().own_head = true;
        child.frame = Box::default();
        Some(child)
    }

    /// Stores an ESI part for its visitor for `keep_s` seconds, at most for the `valid=` time of `esi_private_cache`;
    /// does nothing if `keep_s` is 0, or if the part is for all clients.
    fn store_part(
        &self,
        src: &[u8],
        (bytes, keep_s, labels): (&Bytes, u64, &Arc<[u64]>),
        in_flight: Option<&InFlight>,
    ) {
        let (Some(owner), Some(in_flight)) = (self.visitor.as_ref().filter(|_| keep_s > 0), in_flight) else {
            return;
        };
        let bounds = self.rules.private;
        let keep_ms = keep_s.saturating_mul(1000).min(bounds.valid_ms);
        let until_ms = myriad_net::clock::now_ms().saturating_add(keep_ms);
        let part = NewPart { target: src, bytes: bytes.clone(), until_ms, labels: Arc::clone(labels) };
        part_store::store_part(&owner.visitor, in_flight, part, bounds);
    }

    fn fill_holes(&self, want: &WantedPart, bytes: &Bytes) {
        want.holes.iter().for_each(|hole| self.slots.fill(*hole, HoleState::Filled(bytes.clone())));
    }

    /// Marks the holes of an ESI part as failed. Only the first failure of a page is logged.
    fn fail(&self, want: &WantedPart, why: &str) {
        if !self.failure_logged.replace(true) {
            let (exchange, src) = (self.exchange.borrow(), want.src.escape_ascii());
            exchange
                .request
                .log(LogLevel::Error, format_args!("the page is sent without the fragment \"{src}\": {why}"));
        }
        want.holes.iter().for_each(|hole| self.slots.fill(*hole, HoleState::Failed));
    }
}

/// Returns the number of seconds for which a response may be stored for its visitor (`max-age` of `Cache-Control`); 0
/// without `max-age`, and with `no-store` or `no-cache`.
fn storable_s(answer: &SubrequestResponse) -> u64 {
    let values = answer.fields(b"cache-control");
    let control = CacheControl::parse(values.iter().map(|value| &value[..]));
    if control.no_store || control.no_cache { 0 } else { control.max_age.unwrap_or(0) }
}

/// Returns the labels (hashes) by which purges find a response: the labels of the stored page, or of the cache tags in
/// the origin's response. For another response from the cache, such as a page that is still being fetched, returns the
/// labels of its URL, and the label that each purge of a tag covers.
fn labels_of(answer: &SubrequestResponse) -> Arc<[u64]> {
    let request = answer.request();
    if let ResponseSource::Page(page) = &answer.response.source {
        let mut labels = Vec::new();
        page.meta().marks().labels(&mut |label| labels.push(label));
        return labels.into();
    }
    if request.cache.report.stored {
        let [path, url] = page::address_of(request);
        return [Tags::OVERFLOWN, path, url].into();
    }
    let head = request.origin.as_ref().and_then(|origin| origin.head.as_ref());
    head.map(|head| part_store::labels(&head.fields)).unwrap_or_default()
}

async fn next(body: &mut BoxBody) -> Result<Option<Bytes>, String> {
    match poll_fn(|cx| body.as_mut().poll_data(cx)).await {
        Some(Ok(piece)) => Ok(Some(piece)),
        Some(Err(error)) => Err(format!("the response was aborted: {error}")),
        None => Ok(None),
    }
}
