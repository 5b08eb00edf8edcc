//! Requests of sampled verifications.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bytes::Bytes;
use myriad_http::{Fields, Known, ResponseHead};
use myriad_net::clock::now_ms;
use myriad_policy::{
    ApplicationState, Rendering, RequestInput, StableRendering, VaryRule, without_browser, without_visitor,
};
use myriad_upstream::{Attempts, OriginRequest, OriginResponse, RequestPayload};
use tokio::time::timeout;

use super::origin_time::ORIGIN_TIME;
use super::verifiable_page::{MAX_BODY, bare_type};
use crate::esi::Cutting;
use crate::journey_step::{CacheContext, OwnedCacheContext};
use crate::page;
use crate::server_client::SERVER_CLIENT;
use crate::shared_fetch_headers;
use myriad_exchange::exchange::{Exchange, FetchPurpose};
use myriad_exchange::keys::page_key;
use myriad_origin::build_request;
use myriad_origin::fetch::fetch;
use myriad_origin::group;

/// Maximum time in which the body of a response must be complete.
const MAX_TIME: Duration = Duration::from_mins(1);
/// Time after which a page that contains the current time, in seconds, has another text.
const CLOCK_STEP: Duration = Duration::from_millis(1050);
/// Value of the request field `X-Myriad-Probe`, which marks requests of verifications.
const MARK: &[u8] = b"leak-guard";

/// Reason why sampled requests cannot verify a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unverifiable {
    /// The responses to equal requests differ by more than noise.
    Unstable,
    /// A request got no usable response.
    NoResponse,
}

/// Sender of requests that verify a page: copies of a request for the page, with some inputs removed or changed.
pub(super) struct Prober {
    exchange: Box<Exchange>,
    held: OwnedCacheContext,
    /// True if requests have the address of the client only with [`RequestInput::Address`]; otherwise only without it.
    hides_address: bool,
}

impl Prober {
    /// Creates the sender; `exchange` is a copy of the request for the page.
    pub(super) fn new(exchange: Box<Exchange>, held: OwnedCacheContext) -> Self {
        Self { exchange, held, hides_address: false }
    }

    /// Creates the sender of requests that do not have the address of the client, except with
    /// [`RequestInput::Address`].
    pub(super) fn without_address(exchange: Box<Exchange>, held: OwnedCacheContext) -> Self {
        Self { exchange, held, hides_address: true }
    }

    /// Returns the request for the page.
    pub(super) fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// Returns the origin and the cache of the page.
    pub(super) fn cached(&self) -> CacheContext<'_> {
        self.held.get()
    }

    /// Returns the fields of the request without its visitor's inputs ([`without_visitor`]), and the removed inputs;
    /// inputs that identify the visitor come first. If the address is hidden, `User-Agent`, language and the address
    /// are inputs, too. Inputs that are in the cache key, or by which the page varies, remain in the fields.
    pub(super) fn without_visitor(
        &self,
        reference: Option<&Fields>,
        varies: &VaryRule,
    ) -> (Fields, Vec<RequestInput>) {
        let (mut base, mut inputs) = without_visitor(self.exchange.request.received.head.fields(), reference);
        inputs.sort_by_key(|input| !input.identifies_visitor());
        if self.hides_address {
            inputs.extend(without_browser(&mut base));
            inputs.push(RequestInput::Address);
        }
        let is_unkeyed = |input: &RequestInput| {
            let name = if let RequestInput::Cookie(_) = input { b"cookie" } else { input.name() };
            !varies.distinguishes(name) && self.is_unkeyed(&base, input)
        };
        let (inputs, keyed): (Vec<_>, Vec<_>) = inputs.into_iter().partition(is_unkeyed);
        for input in keyed {
            input.add_to(&mut base);
        }
        (base, inputs)
    }

    /// Returns whether a request with these fields has the same cache key with and without an input.
    pub(super) fn is_unkeyed(&self, base: &Fields, input: &RequestInput) -> bool {
        let key = |inputs: &[RequestInput]| {
            let mut copy = self.copy(base, inputs);
            page_key::of(&mut copy, self.cached().cache).ok()
        };
        key(&[]) == key(std::slice::from_ref(input))
    }

    /// Sends two equal requests, and returns the response with its noise (what differs between both). Returns an error
    /// if a request has no usable response, or if the responses differ by more than noise.
    pub(super) async fn request_twice(&self, base: &Fields) -> Result<StableRendering, Unverifiable> {
        let first = self.request(base, &[]).await.ok_or(Unverifiable::NoResponse)?;
        let second = self.request(base, &[]).await.ok_or(Unverifiable::NoResponse)?;
        StableRendering::of(&first, second).ok_or(Unverifiable::Unstable)
    }

    /// Checks a difference between `other` and `stable`, the response to requests with `base`: sends one more such
    /// request at least a second later, because a page with the time has equal text within a second. Returns the
    /// response with the additional noise, and whether `other` still differs; fails as [`Self::request_twice`] does.
    /// Sends no request if `other` does not differ from `stable`.
    pub(super) async fn check_difference(
        &self,
        stable: StableRendering,
        base: &Fields,
        other: &Rendering,
    ) -> Result<(StableRendering, bool), Unverifiable> {
        if !stable.differs_from(other) {
            return Ok((stable, false));
        }
        tokio::time::sleep(CLOCK_STEP).await;
        let third = self.request(base, &[]).await.ok_or(Unverifiable::NoResponse)?;
        let stable = StableRendering::of(stable.rendering(), third).ok_or(Unverifiable::Unstable)?;
        let differs = stable.differs_from(other);
        Ok((stable, differs))
    }

    /// Sends a request with these fields and inputs. Returns `None` if too many fetches of the zone are in progress,
    /// if the request fails or its body is not usable ([`receive`]) or takes longer than [`MAX_TIME`], and for a
    /// response that gives no information about the page: status 429, or 500 and above.
    pub(super) async fn request(&self, base: &Fields, inputs: &[RequestInput]) -> Option<Rendering> {
        let CacheContext { origin, cache } = self.cached();
        let _permit = cache.zone.fetches.try_begin()?;
        let mut exchange = self.copy(base, inputs);
        exchange.request.received.head.fields_mut().set_known(Known::XMyriadProbe, MARK);
        exchange.go_to_background();
        let mut shared = shared_fetch_headers::of(&exchange.request, cache, None);
        if let Some(shared) = &mut shared {
            shared.fields.set_known(Known::XMyriadProbe, MARK);
        }
        let began_at = now_ms();
        let target = group::target_of_place(&mut exchange, origin).ok()?;
        let group = group::resolve_target(&mut exchange, target).await.ok()?;
        let purpose =
            FetchPurpose::Sample { replacement_fields: shared.as_ref().map(|shared| &shared.fields) };
        let (payload, attempts) = (RequestPayload::Empty, Attempts::default());
        let made = build_request::make(&mut exchange, origin, purpose, payload, attempts).ok()?;
        let mut request = OriginRequest { queues: false, ..made };
        let response = fetch(&mut exchange, origin, &group, &mut request, false).await.ok();
        let rendering = match response {
            Some(response) => timeout(MAX_TIME, receive(&exchange, *response)).await.ok().flatten(),
            None => None,
        };
        let took_ms = now_ms().saturating_sub(began_at);
        let counts = &cache.zone.leak_samples.counts;
        counts.requests.fetch_add(1, Relaxed);
        counts.origin_ms.fetch_add(took_ms, Relaxed);
        if let Some(rules) = cache.rules.leak_sampling {
            ORIGIN_TIME.charge(rules.budget_ppm, took_ms);
        }
        rendering.filter(|rendering| rendering.status < 500 && rendering.status != 429)
    }

    /// Returns a copy of the request with the fields `base`, to which `inputs` are added. The copy has the address of
    /// the client or [`SERVER_CLIENT`], depending on [`Self::hides_address`] and on [`RequestInput::Address`].
    fn copy(&self, base: &Fields, inputs: &[RequestInput]) -> Box<Exchange> {
        let mut copy = self.exchange.snapshot();
        copy.frame.forget_computed();
        let head = &mut copy.request.received.head;
        head.set_fields(base);
        for input in inputs {
            input.add_to(head.fields_mut());
        }
        if self.hides_address != inputs.contains(&RequestInput::Address) {
            copy.request.received.real = Some(SocketAddr::new(SERVER_CLIENT, 0));
        }
        copy
    }
}

/// Receives a response as it would be stored. Returns `None` if it is too long, in an unknown coding, or incomplete.
async fn receive(exchange: &Exchange, response: OriginResponse) -> Option<Rendering> {
    let OriginResponse { head, mut body, .. } = response;
    let coding = page::origin_coding(&head);
    if coding.is_none() && page::is_opaque(&head.fields) {
        return None;
    }
    let mut decoder = coding.and_then(page::decoder);
    let mut cutting = Cutting::begin(&exchange.request, &head);
    let mut rendering = rendering_of_head(&head);
    let out = &mut rendering.body;
    while let Some(piece) = poll_fn(|cx| Pin::as_mut(&mut body).poll_data(cx)).await {
        let mut piece: Bytes = piece.ok()?;
        loop {
            let (window, is_drained) = page::decoded(decoder.as_mut(), &mut piece).ok()?;
            match &mut cutting {
                Some(cutting) => out.extend_from_slice(&cutting.push(&window)),
                None => out.extend_from_slice(&window),
            }
            if out.len() as u64 > MAX_BODY {
                return None;
            }
            if is_drained {
                break;
            }
        }
    }
    if let Some(cutting) = cutting {
        out.extend_from_slice(&cutting.finish(&exchange.request).0);
    }
    Some(rendering)
}

/// Returns the rendering of a response with this head and an empty body.
pub(super) fn rendering_of_head(head: &ResponseHead) -> Rendering {
    Rendering {
        status: head.status,
        media_type: bare_type(head.known(Known::ContentType).unwrap_or_default()),
        location: head.known(Known::Location).unwrap_or_default().into(),
        fields: head.fields.iter().collect(),
        body: Vec::new(),
        shows_counters: ApplicationState::of(&head.fields).counters,
    }
}
